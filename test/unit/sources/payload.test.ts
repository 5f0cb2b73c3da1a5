import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RefusedEvent } from '../../../src/pipeline/sources/live/translated.ts'
import { readMatomoRequests } from '../../../src/pipeline/sources/matomo.ts'
import { readPayload } from '../../../src/pipeline/sources/tools/payload.ts'
import { SeveralPayloads } from '../../../src/pipeline/sources/tools/payload-json.ts'
import type { ToolEvent } from '../../../src/pipeline/sources/tools/tool-event.ts'
import { atOnce } from '../../../src/run/slices.ts'

const read = (text: string, lists?: readonly string[], charset?: string) => atOnce(readPayload(text, lists, charset))

/** Events, and the reasons of those that are refused. */
function shown(events: unknown): unknown[] {
  return (events as unknown[]).map((event) => (event instanceof RefusedEvent ? event.errors[0]!.message : event))
}

/** The same payload, short and long: a long one is read in slices. */
const PADS = ['', ' '.repeat(20_000)]

test('an event with NaN or Infinity is refused by itself, with its reason', () => {
  for (const pad of PADS) {
    const batch = read(`{"sentAt":"now","batch":[{"a":1},${pad}{"price":NaN},{"b":[-Infinity]},{"c":2}],"z":1}`, [
      'batch',
    ])
    const { batch: events, ...rest } = batch as { batch: unknown[] }
    assert.deepEqual(rest, { sentAt: 'now', z: 1 })
    assert.deepEqual(shown(events), [
      { a: 1 },
      'is not JSON, which has no NaN',
      'is not JSON, which has no Infinity',
      { c: 2 },
    ])
    assert.deepEqual(shown(read(`${pad}[{"price":Infinity}]`)), ['is not JSON, which has no Infinity'])
    assert.deepEqual(shown(read(`[{"price":NaN},${pad}{"n":12345678901234567890}]`)).length, 2)
  }
})

test('a payload whose own members, or whose end, is broken is refused', () => {
  for (const pad of PADS) {
    for (const body of [
      '{"price":NaN}',
      '{"batch":[{"a":1}],"sentAt":NaN}',
      '{"batch":[nonsense]}',
      '{"batch":[{"a":1},{"d" 3}]}',
      '{"batch":[{"a":NaN},{"d":01}]}',
      '{"batch":[{"a":1}',
      '{"batch":[{"a":1}]',
      '{"batch":[{"a":1},,{"b":1}]}',
      '[{"a":1}] nonsense',
      '{"a":1}\n{"b":',
      '{"a":1},{"b":2}',
      '{"a":1} NaN',
    ]) {
      assert.throws(() => read(pad + body, ['batch']), /not JSON/, body)
    }
  }
})

test('payloads may follow each other as lines, or with nothing between them', () => {
  for (const pad of PADS) {
    const lines = read(`{"event":"a"}\n${pad}{"event":"b","n":NaN}\r\n\n{"event":"c"}\n`)
    assert.ok(lines instanceof SeveralPayloads)
    assert.deepEqual(shown(lines.all), [{ event: 'a' }, 'is not JSON, which has no NaN', { event: 'c' }])
    const stream = read(`${pad}{"event":"a"}{"batch":[1]}[{"event":"c"}]`, ['batch'])
    assert.deepEqual((stream as SeveralPayloads).all, [{ event: 'a' }, { batch: [1] }, [{ event: 'c' }]])
  }
  const form = read(`data=${encodeURIComponent('{"event":"a"}\n{"event":"b"}')}&verbose=1`)
  assert.deepEqual((form as SeveralPayloads).all, [{ event: 'a' }, { event: 'b' }])
})

test('many payloads are read in slices, and together have the limits of one', () => {
  const line = `{"event":"a","properties":{"text":"${'x'.repeat(500)}"}}\n`
  const work = readPayload(line.repeat(2_000))
  let slices = 0
  let step = work.next()
  for (; step.done !== true; step = work.next()) slices++
  assert.equal((step.value as SeveralPayloads).all.length, 2_000)
  assert.ok(slices > 50, `${slices} slices`)
  assert.throws(() => read('{"a":[1,2,3,4,5,6,7,8]}\n'.repeat(50_000)), /more than 400000 values/)
})

/** The properties of a request of Matomo. */
function matomo(query: string): unknown {
  const [alone] = readMatomoRequests(read(query, ['requests'], 'cs'), 0) as ToolEvent[]
  const [inBulk] = readMatomoRequests({ requests: [`?${query}`] }, 0) as ToolEvent[]
  assert.deepEqual(alone, inBulk)
  return alone!.properties?.action_name
}

test('Matomo: a title is in the character set that the request names, unless it is UTF-8', () => {
  const cyrillic = '%CF%F0%E8%E2%E5%F2'
  assert.equal(matomo(`idsite=1&rec=1&cs=windows-1251&action_name=${cyrillic}`), 'Привет')
  assert.equal(matomo(`action_name=${cyrillic}+2&cs=Windows-1251&idsite=1`), 'Привет 2')
  assert.equal(matomo('cs=shift_jis&action_name=%83e%83X%83g&idsite=1'), 'テスト')
  assert.equal(matomo('cs=iso-8859-1&action_name=caf%E9&idsite=1'), 'café')
  assert.equal(matomo(`cs=windows-1251&action_name=${encodeURIComponent('Привет')}&idsite=1`), 'Привет')
  for (const unknown of ['cs=no-such-set&', 'cs=&', 'xcs=windows-1251&', '']) {
    assert.equal(matomo(`${unknown}idsite=1&action_name=%CF%F0`), '\ufffd\ufffd', unknown)
  }
})
