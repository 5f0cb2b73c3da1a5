import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLine, readUnit } from '../../../src/operations/replay/lines.ts'
import { meets, readCondition } from '../../../src/operations/replay/where.ts'
import { payloadOf } from '../../../src/pipeline/sources/live/payload.ts'

const RECEIPT = { tenantId: 't', receivedAtMs: Date.parse('2026-11-22T01:02:03.004Z') }

function archived(text: string, eventId = 'e"1\\'): string {
  const { row } = payloadOf({ text, eventId, identity: '', status: 'ok', isIdGenerated: false }, RECEIPT)
  return row.split('\t').slice(2).join('\t')
}

test('a line returns the event as it was sent', () => {
  for (const text of [
    '{"ip":"192.0.2.1"}',
    '{"ip":"192.0.2.1","n":1.0,"big":12345678901234567890,"properties":{"a":[1,{"_status":2}]}}',
    '{"_status":"mine","ip":"192.0.2.1","_sent":{"x":1},"\\u005fevent_id":3}',
  ]) {
    const event = readLine({ text: archived(text), requestId: 'r' })!
    assert.deepEqual(JSON.parse(event.text), JSON.parse(text))
    assert.deepEqual(
      [event.eventId, event.receivedAtMs, event.status, event.requestId],
      ['e"1\\', RECEIPT.receivedAtMs, 'ok', 'r'],
    )
  }
})

test('a line names the source that brought its event, and a key of the same name is not taken for it', () => {
  const archivedFrom = (text: string, sourceId?: string) => {
    const event = { text, eventId: 'e', identity: '', status: 'ok', isIdGenerated: false } as const
    const { row } = payloadOf(event, { ...RECEIPT, sourceId })
    return readLine({ text: row.split('\t').slice(2).join('\t'), requestId: '' })!
  }
  const text = '{"ip":"192.0.2.1","_source_id":"src_fffffff"}'
  assert.equal(archivedFrom('{"ip":"192.0.2.1"}', 'src_0123abc').sourceId, 'src_0123abc')
  for (const sourceId of ['src_0123abc', undefined]) {
    const event = archivedFrom(text, sourceId)
    assert.deepEqual([event.sourceId, JSON.parse(event.text)], [sourceId, JSON.parse(text)])
  }
})

test('a line says that a browser key brought its event, and a key of the same name is not taken for it', () => {
  const archivedWith = (isBrowser: boolean) => {
    const text = '{"_browser_key":true,"ip":"192.0.2.1"}'
    const event = { text, eventId: 'e', identity: '', status: 'ok', isIdGenerated: false } as const
    const { row } = payloadOf(event, { ...RECEIPT, sourceId: 'src_0123abc', isBrowser })
    return readLine({ text: row.split('\t').slice(2).join('\t'), requestId: '' })!
  }
  for (const isBrowser of [true, false]) {
    const event = archivedWith(isBrowser)
    assert.deepEqual([event.isBrowser, event.sourceId], [isBrowser, 'src_0123abc'])
    assert.deepEqual(JSON.parse(event.text), { _browser_key: true, ip: '192.0.2.1' })
  }
})

test('lines that are not from the archive are counted', () => {
  let unreadable = 0
  const lines = ['', '{}', '{"ip":"192.0.2.1"}', archived('{"ip":"192.0.2.1"}').replace('T01', 'T99')]
  const unit = readUnit(
    {
      ...{ partition: 0, entry: '1-0', commit: 'p:1', day: '2026-11-22', job: undefined, rejected: [] },
      lines: lines.map((text) => ({ text, requestId: '' })),
    },
    () => unreadable++,
  )
  assert.equal(unreadable, lines.length)
  assert.deepEqual(unit.events, [])
})

test('a condition names a member by its path', () => {
  const event = { event_type: 'signup', n: 1, properties: { plan: 'a=b', deep: { x: null } } }
  for (const text of ['event_type=signup', 'n=1', 'properties.plan=a=b', 'properties.deep.x=null', ' n = 1 ']) {
    assert.ok(meets(event, readCondition(text)), text)
  }
  for (const text of ['event_type=sign', 'constructor=x', 'n.x=1', 'missing=undefined', 'properties.deep.x=']) {
    assert.ok(!meets(event, readCondition(text)), text)
  }
  assert.throws(() => readCondition('=x'), /must be NAME=VALUE/)
})
