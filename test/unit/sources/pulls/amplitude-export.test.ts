import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Cursor, PullDeniedError } from '../../../../src/pipeline/declaration/pull.ts'
import { amplitudeExport } from '../../../../src/pipeline/sources/amplitude-export.ts'
import { eventLines } from '../../../../src/pipeline/sources/pulls/event-lines.ts'
import { InputError } from '../../../../src/run/errors.ts'
import { hourOf, startAmplitude, type TestAmplitude } from '../../../support/amplitude.ts'

const pull = amplitudeExport.pull!
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAY_START_MS = Date.UTC(2026, 10, 20)

class Source {
  readonly amplitude: TestAmplitude
  readonly tempDir: string
  cursor: Cursor = pull.begin(DAY_START_MS + 5 * HOUR_MS)
  /** Ids of the events that were fetched, in order. */
  readonly ids: string[] = []
  nowMs = DAY_START_MS + 10 * HOUR_MS
  secretKey: string

  constructor(amplitude: TestAmplitude, tempDir: string) {
    this.amplitude = amplitude
    this.tempDir = tempDir
    this.secretKey = amplitude.secretKey
  }

  put(hourMs: number, ...uuids: readonly string[]): void {
    const events = uuids.map((uuid) => ({
      ...{ uuid, app: 1, event_type: 'page', user_id: 'u', device_id: 'd', ip_address: '17.1.2.3' },
      ...{
        event_time: '2026-11-20 01:02:03.000000',
        server_upload_time: '2026-11-20 01:02:03.000000',
        amplitude_id: 5,
      },
      ...{ event_properties: {}, user_properties: {}, groups: {} },
    }))
    this.amplitude.hours.set(hourOf(hourMs), events)
  }

  /** @param crashAfter number of items after which the run ends, as after a kill */
  async run({ crashAfter = Number.POSITIVE_INFINITY, isRetry = false } = {}): Promise<void> {
    const { endpoint, apiKey } = this.amplitude
    const secrets = { apiKey, secretKey: this.secretKey }
    const settings = { region: 'us', endpoint }
    const place = pull.open({ settings, secrets, tempDir: this.tempDir, nowMs: () => this.nowMs })
    const { signal } = new AbortController()
    const marks = { haveMarks: async () => [], countMarks: async () => 0, dropMarks: async () => {} }
    const run = { cursor: this.cursor, signal, isAsked: false, isRetry, oldestFailureMs: () => 0, ...marks }
    const items = place.items(run)
    try {
      for (let taken = 0; ; taken++) {
        const { done, value } = await items.next()
        if (done) {
          this.cursor = value
          return
        }
        if (taken === crashAfter) return
        const files = await value.open(signal)
        const { id, atMs } = value
        for await (const { bytes } of eventLines(files!, { id, format: 'auto', atMs, skip: 0 })) {
          const lines = bytes.toString().trimEnd().split('\n')
          this.ids.push(...lines.map((line) => (JSON.parse(line) as { event_id: string; ip: string }).event_id))
          assert.equal((JSON.parse(lines[0]!) as { ip: string }).ip, '17.1.2.3')
        }
        this.cursor = JSON.parse(JSON.stringify(value.cursor)) as Cursor
      }
    } finally {
      await items.return(this.cursor)
      assert.deepEqual(readdirSync(this.tempDir), [])
    }
  }
}

async function startSource(t: TestContext): Promise<Source> {
  const tempDir = mkdtempSync(join(tmpdir(), 'ipid-amplitude-'))
  t.after(() => rmSync(tempDir, { recursive: true }))
  return new Source(await startAmplitude(t), tempDir)
}

test('each hour is fetched once, two hours after its end', async (t) => {
  const source = await startSource(t)
  for (const hour of [-1, 0, 3, 7, 8]) source.put(DAY_START_MS + hour * HOUR_MS, `u${hour}`)
  await source.run()
  assert.deepEqual(source.amplitude.asked, ['20261120T00 20261120T07'])
  assert.deepEqual(source.ids, ['u0', 'u3', 'u7'])
  await source.run()
  source.nowMs += HOUR_MS
  await source.run()
  assert.deepEqual(source.amplitude.asked.slice(1), ['20261120T08 20261120T08'])
  assert.deepEqual(source.ids, ['u0', 'u3', 'u7', 'u8'])
})

test('a range that is too large is halved, down to an hour', async (t) => {
  const source = await startSource(t)
  for (let hour = 0; hour < 8; hour++) source.put(DAY_START_MS + hour * HOUR_MS, `u${hour}`)
  source.amplitude.hoursMax = 1
  await source.run()
  assert.deepEqual(source.ids, ['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7'])
  assert.deepEqual(
    source.amplitude.asked.slice(0, 4).map((range) => range.replaceAll('20261120', '')),
    ['T00 T07', 'T00 T03', 'T00 T01', 'T00 T00'],
  )
})

test('an hour that is too large by itself is refused in words, and the next ones are fetched', async (t) => {
  const source = await startSource(t)
  source.amplitude.hoursMax = 0
  await assert.rejects(source.run({ isRetry: true }), /^PullRefusedError: the hour is larger than Amplitude exports/)
})

test('faults of an answer fail the run, and the next one continues where it was', async (t) => {
  const source = await startSource(t)
  for (let hour = 0; hour < 8; hour++) source.put(DAY_START_MS + hour * HOUR_MS, `u${hour}`)
  source.amplitude.hoursMax = 4
  await source.run({ crashAfter: 1 })
  const cases = [
    [429, /takes no more requests for now/],
    [500, /Amplitude answered 500/],
    ['ends early', /Amplitude's answer failed|ended after/],
    ['damaged', /ZIP file is damaged/],
  ] as const
  for (const [fault, message] of cases) {
    source.amplitude.faults.push(fault)
    await assert.rejects(source.run({ isRetry: true }), message)
  }
  await source.run({ isRetry: true })
  assert.deepEqual(source.ids, ['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7'])
})

test('a wrong secret is denied', async (t) => {
  const source = await startSource(t)
  source.secretKey = 'wrong'
  await assert.rejects(source.run(), (error: Error) => {
    assert.ok(error instanceof PullDeniedError)
    assert.match(error.message, /^Amplitude refuses the API key or the secret key \(401\)/)
    return true
  })
})

test('the past is fetched day by day, once, however often it is asked for', async (t) => {
  const source = await startSource(t)
  for (let day = 0; day < 6; day++) source.put(DAY_START_MS - day * DAY_MS, `u-${day}`)
  await source.run()
  const ask = (day: number) => {
    const cursor = pull.withPast(source.cursor, DAY_START_MS - day * DAY_MS)
    if (cursor !== undefined) source.cursor = cursor
    return cursor !== undefined
  }
  assert.equal(ask(2), true)
  await source.run({ crashAfter: 1 })
  assert.equal(ask(2), false)
  assert.equal(ask(4), true)
  assert.equal(pull.pastOf(source.cursor), 'hours from 2026-11-19T00 to 2026-11-20T00, then since 2026-11-16')
  await source.run()
  assert.deepEqual(source.ids, ['u-0', 'u-2', 'u-1', 'u-4', 'u-3'])
  assert.equal(pull.pastOf(source.cursor), undefined)
  assert.equal(ask(4), false)
})

test('settings that are wrong are named', () => {
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{}, /^--region is needed: us or eu/],
    [{ region: 'mars' }, /^--region "mars": must be us or eu/],
    [{ region: 'us', endpoint: 'ftp://x' }, /^--endpoint "ftp:\/\/x": must be/],
  ]
  for (const [settings, message] of cases) {
    assert.throws(
      () => pull.assertSettings(settings, {}),
      (error: Error) => error instanceof InputError && message.test(error.message),
    )
  }
  assert.equal(pull.placeOf({ region: 'eu' }), 'https://analytics.eu.amplitude.com')
})
