import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type Cursor, PullDeniedError, type PullPlace } from '../../../../src/pipeline/declaration/pull.ts'
import { AmplitudePlace, amplitudeExport } from '../../../../src/pipeline/sources/amplitude-export.ts'
import { eventLines } from '../../../../src/pipeline/sources/pulls/event-lines.ts'
import { InputError } from '../../../../src/run/errors.ts'
import { hourOf, startAmplitude, type TestAmplitude } from '../../../support/amplitude.ts'

const pull = amplitudeExport.pull!
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const DAY_START_MS = Date.UTC(2026, 10, 20)

/** Time enough on a busy machine; a late answer costs the test as much. */
const LIMITS = { connectMs: 5_000, answerMs: 2_000, silenceMs: 5_000 }

interface RunOptions {
  /** Number of items after which the run ends, as after a kill. */
  readonly crashAfter?: number
  readonly stuckAt?: string
}

async function* nothing() {}

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

  async run({ crashAfter = Number.POSITIVE_INFINITY, stuckAt }: RunOptions = {}): Promise<void> {
    const { endpoint, apiKey } = this.amplitude
    const secrets = { apiKey, secretKey: this.secretKey }
    const settings = { region: 'us', endpoint }
    const place: PullPlace = new AmplitudePlace(
      { settings, secrets, tempDir: this.tempDir, nowMs: () => this.nowMs },
      LIMITS,
    )
    const { signal } = new AbortController()
    const marks = { haveMarks: async () => [], countMarks: async () => 0, dropMarks: async () => {} }
    const run = { cursor: this.cursor, signal, isAsked: false, stuckAt, oldestFailureMs: () => 0, ...marks }
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
        for await (const { bytes } of eventLines(files ?? nothing(), { id, format: 'auto', atMs, skip: 0 })) {
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
  await assert.rejects(source.run(), /^PullRefusedError: the hour is larger than Amplitude exports/)
})

test('faults of an answer fail the run, and the next one continues where it was', async (t) => {
  const source = await startSource(t)
  for (let hour = 0; hour < 8; hour++) source.put(DAY_START_MS + hour * HOUR_MS, `u${hour}`)
  source.amplitude.hoursMax = 4
  // The first item says that the range was too large.
  await source.run({ crashAfter: 2 })
  const cases = [
    [429, /takes no more requests for now/],
    [500, /Amplitude answered 500/],
    ['ends early', /Amplitude's answer failed|ended after/],
    ['damaged', /ZIP file is damaged/],
  ] as const
  for (const [fault, message] of cases) {
    source.amplitude.faults.push(fault)
    await assert.rejects(source.run(), message)
  }
  await source.run()
  const asked = source.amplitude.asked.map((range) => range.replaceAll('20261120', ''))
  assert.deepEqual(asked, ['T00 T07', 'T00 T03', ...Array(6).fill('T04 T07')])
  assert.deepEqual(source.ids, ['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7'])
})

test('a range that Amplitude cannot pack in time is halved, and stays short for a day', async (t) => {
  const source = await startSource(t)
  source.nowMs = DAY_START_MS + 50 * HOUR_MS
  source.put(DAY_START_MS, 'u')
  source.amplitude.faults.push(504, 'late')
  await source.run()
  assert.deepEqual(source.ids, ['u'])
  const asked = source.amplitude.asked.map((range) => range.replaceAll('202611', ''))
  assert.deepEqual(asked, [
    '20T00 20T23',
    '20T00 20T11',
    ...['20T00 20T05', '20T06 20T11', '20T12 20T17', '20T18 20T23'],
    ...['21T00 21T11', '21T12 21T23'],
  ])
})

test('an hour that Amplitude cannot pack in time fails, and is not refused at once', async (t) => {
  const source = await startSource(t)
  source.nowMs = DAY_START_MS + 3 * HOUR_MS
  source.put(DAY_START_MS, 'u')
  for (const fault of [504, 'late'] as const) {
    source.amplitude.faults.push(fault)
    await assert.rejects(source.run(), /^UnavailableError: Amplitude did not pack the hour in time/)
  }
  await source.run()
  assert.deepEqual(source.ids, ['u'])
})

test('a range that could not be read is asked for hour by hour, so that only the bad hour is refused', async (t) => {
  const source = await startSource(t)
  for (let hour = 0; hour < 8; hour++) source.put(DAY_START_MS + hour * HOUR_MS, `u${hour}`)
  source.amplitude.faults.push('damaged')
  await assert.rejects(source.run(), /^PullRefusedError: Amplitude's ZIP file is damaged/)
  await source.run({ stuckAt: '20261120T00 to 20261120T07' })
  assert.deepEqual(source.ids, ['u0', 'u1', 'u2', 'u3', 'u4', 'u5', 'u6', 'u7'])
  assert.equal(source.amplitude.asked.length, 9)
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
