import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { type Cursor, PullDeniedError, type PullItem } from '../../../../src/pipeline/declaration/pull.ts'
import { s3 as source } from '../../../../src/pipeline/sources/s3.ts'
import { InputError } from '../../../../src/run/errors.ts'
import { type PagedS3, startPagedS3 } from '../../../support/paged-s3.ts'

const pull = source.pull!
const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2026, 10, 20, 12)
const secrets = { accessKeyId: 'id', secretAccessKey: 'secret' }

/** A source whose puller can crash: it keeps the state that the real one keeps in Redis. */
class Source {
  readonly s3: PagedS3
  cursor: Cursor = pull.begin(START_MS)
  readonly marks = new Map<string, number>()
  /** Every item that was done, in order. */
  readonly done: string[] = []
  nowMs = START_MS

  constructor(s3: PagedS3) {
    this.s3 = s3
  }

  put(name: string, modifiedMs: number, text = name): void {
    this.s3.objects.set(`logs/${name}`, Buffer.from(text))
    this.s3.modified.set(`logs/${name}`, modifiedMs)
  }

  /**
   * @param crashAfter number of items after which the run ends, as after a kill
   * @param failing names of objects that cannot be read
   */
  async run({ crashAfter = Number.POSITIVE_INFINITY, failing = [] as string[], isAsked = false } = {}): Promise<void> {
    const settings = { url: `s3://bucket/logs/?endpoint=${this.s3.endpoint}` }
    const place = pull.open({ settings, secrets, tempDir: '', nowMs: () => this.nowMs })
    let oldestMs = Number.POSITIVE_INFINITY
    const items = place.items({
      cursor: structuredClone(this.cursor),
      signal: new AbortController().signal,
      isAsked,
      stuckAt: undefined,
      oldestFailureMs: () => oldestMs,
      haveMarks: async (names) => names.map((name) => this.marks.has(name)),
      countMarks: async () => this.marks.size,
      dropMarks: async (untilMs) => {
        for (const [name, atMs] of this.marks) if (atMs <= untilMs) this.marks.delete(name)
      },
    })
    try {
      for (let taken = 0; ; ) {
        const { done, value } = await items.next()
        if (done) {
          this.cursor = JSON.parse(JSON.stringify(value)) as Cursor
          return
        }
        if (taken === crashAfter) return
        if (failing.includes(value.name) && value.canWait) {
          oldestMs = Math.min(oldestMs, value.atMs)
          continue
        }
        if (failing.includes(value.name)) return
        taken++
        await this.#take(value)
      }
    } finally {
      await items.return(this.cursor)
      await place.close()
    }
  }

  async #take(item: PullItem): Promise<void> {
    const files = await item.open(new AbortController().signal)
    for await (const { bytes } of files!) {
      const pieces: Buffer[] = []
      for await (const piece of bytes) pieces.push(piece)
      this.done.push(Buffer.concat(pieces).toString())
    }
    this.cursor = JSON.parse(JSON.stringify(item.cursor)) as Cursor
    if (item.mark !== undefined) this.marks.set(item.mark, item.atMs)
  }
}

async function startSource(t: TestContext): Promise<Source> {
  return new Source(await startPagedS3(t, 'tokens', 7))
}

test('objects since the start of the day are done once, and later ones when they come, in any order of keys', async (t) => {
  const source = await startSource(t)
  source.put('b', START_MS - HOUR_MS)
  source.put('d', START_MS - 13 * HOUR_MS)
  source.put('folder/', START_MS, '')
  await source.run()
  assert.deepEqual(source.done, ['b'])
  source.put('a', START_MS + 1)
  source.put('c', START_MS + 2)
  await source.run()
  await source.run()
  assert.deepEqual(source.done, ['b', 'a', 'c'])
})

test('an object that another one replaces is done again, and the same one is not', async (t) => {
  const source = await startSource(t)
  source.put('a', START_MS)
  await source.run()
  source.put('a', START_MS + 1)
  await source.run()
  source.put('a', START_MS + 2, 'a anew')
  await source.run()
  assert.deepEqual(source.done, ['a', 'a anew'])
})

test('marks are of two days only, while months pass', async (t) => {
  const source = await startSource(t)
  const names: string[] = []
  for (let day = 0; day < 60; day++) {
    source.nowMs = START_MS + day * DAY_MS
    // Month first, as RudderStack names folders: the order of keys is not that of time.
    const date = new Date(source.nowMs).toISOString()
    const name = `${date.slice(5, 10)}-${date.slice(0, 4)}/x`
    names.push(name)
    source.put(name, source.nowMs)
    await source.run({ isAsked: true })
    assert.ok(source.marks.size <= 4, `${source.marks.size} marks`)
  }
  assert.deepEqual(source.done, names)
  assert.ok(JSON.stringify(source.cursor).length < 500)
})

test('an object that appears up to two days late is done', async (t) => {
  const source = await startSource(t)
  for (let hour = 0; hour < 200; hour += 10) {
    source.nowMs = START_MS + hour * HOUR_MS
    source.put(`on-time-${String(hour).padStart(3, '0')}`, source.nowMs)
    await source.run()
    source.put(`late-${hour}`, source.nowMs - 47 * HOUR_MS)
  }
  await source.run()
  const late = source.done.filter((name) => name.startsWith('late')).length
  // Those written before the source was created are left to its past.
  assert.equal(late, 16)
  assert.equal(new Set(source.done).size, source.done.length)
})

test('a sweep that is cut off anywhere continues, and fetches each object once', async (t) => {
  for (let crashAfter = 0; crashAfter < 12; crashAfter++) {
    const source = await startSource(t)
    source.put('a0', START_MS)
    await source.run()
    // The process was down for ten days: some objects are older than the window, some are not.
    source.nowMs = START_MS + 10 * DAY_MS
    for (let day = 1; day <= 10; day++) source.put(`k${(day * 7) % 11}`, START_MS + day * DAY_MS)
    await source.run({ crashAfter })
    source.put('b-late', source.nowMs)
    await source.run({ crashAfter: 3 })
    await source.run()
    await source.run()
    assert.equal(source.done.length, 12, `after ${crashAfter}`)
    assert.equal(new Set(source.done).size, 12)
  }
})

test('the past is fetched once, however often and whenever it is asked for', async (t) => {
  const source = await startSource(t)
  for (let day = 0; day < 30; day++) source.put(`${(day * 7) % 30}`, START_MS - day * DAY_MS)
  await source.run()
  assert.equal(source.done.length, 1)
  const ask = (day: number) => {
    const cursor = pull.withPast(source.cursor, START_MS - day * DAY_MS)
    if (cursor !== undefined) source.cursor = cursor
    return cursor !== undefined
  }
  assert.equal(ask(9), true)
  assert.match(pull.pastOf(source.cursor)!, /^objects since 2026-11-11$/)
  await source.run({ crashAfter: 4 })
  assert.match(pull.pastOf(source.cursor)!, /^objects since 2026-11-11, at logs\//)
  assert.equal(ask(5), false)
  assert.equal(ask(19), true)
  assert.equal(ask(20), true)
  await source.run({ crashAfter: 9 })
  await source.run()
  assert.equal(pull.pastOf(source.cursor), undefined)
  assert.equal(source.done.length, 21)
  source.nowMs += 30 * DAY_MS
  assert.equal(ask(20), false)
  await source.run()
  assert.equal(source.done.length, 21)
  assert.equal(new Set(source.done).size, 21)
})

test('an object that cannot be read stops no other, and is done when it can be', async (t) => {
  const source = await startSource(t)
  for (const name of ['a', 'b', 'c']) source.put(name, START_MS)
  await source.run({ failing: ['logs/b'] })
  assert.deepEqual(source.done, ['a', 'c'])
  source.nowMs += HOUR_MS
  source.put('d', source.nowMs)
  await source.run({ failing: ['logs/b'] })
  await source.run()
  assert.deepEqual(source.done, ['a', 'c', 'd', 'b'])
})

test('a prefix of many objects is swept once a day, and read from its end in between', async (t) => {
  const source = new Source(await startPagedS3(t, 'tokens', 5_000))
  for (let n = 0; n < 10_050; n++) source.put(`2025/${n}`, START_MS - 100 * DAY_MS)
  source.put('2026/a', START_MS)
  await source.run()
  const afterSweep = source.s3.lists
  source.put('2026/b', START_MS + 1)
  source.put('2025/0-late', START_MS + 2)
  source.nowMs += HOUR_MS
  await source.run()
  assert.deepEqual(source.done, ['2026/a', '2026/b'])
  assert.equal(source.s3.lists - afterSweep, 1)
  source.nowMs += DAY_MS
  await source.run()
  assert.deepEqual(source.done, ['2026/a', '2026/b', '2025/0-late'])
})

test('an answer that ends early fails, an object that is gone is passed over', async (t) => {
  const source = await startSource(t)
  source.put('a', START_MS, 'a'.repeat(1_000))
  source.s3.intercept = (request, response) => {
    if (!request.url!.startsWith('/bucket/logs/a')) return false
    response.writeHead(200, { etag: '"x"' }).end('a')
    return true
  }
  await assert.rejects(source.run(), TypeError)
  source.s3.intercept = (request, response) => {
    if (!request.url!.startsWith('/bucket/logs/a')) return false
    response.writeHead(200).end('a')
    return true
  }
  await assert.rejects(source.run(), /the answer ended after 1 of 1000 bytes/)
})

test('refused credentials are reported', async (t) => {
  const source = await startSource(t)
  source.s3.intercept = (_, response) => {
    response.writeHead(403, { 'content-type': 'application/xml' })
    response.end('<Error><Code>InvalidAccessKeyId</Code><Message>no such key</Message></Error>')
    return true
  }
  await assert.rejects(source.run(), (error: Error) => {
    assert.ok(error instanceof PullDeniedError)
    assert.match(error.message, /^the bucket refuses these credentials: .*InvalidAccessKeyId: no such key/)
    return true
  })
})

test('an object that the credentials may not read does not stop the source', async (t) => {
  const source = await startSource(t)
  source.put('a', START_MS)
  source.s3.intercept = (request, response) => {
    if (!request.url!.startsWith('/bucket/logs/a')) return false
    response.writeHead(403, { 'content-type': 'application/xml' })
    response.end('<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>')
    return true
  }
  await assert.rejects(source.run(), (error: Error) => {
    assert.ok(!(error instanceof PullDeniedError))
    assert.match(error.message, /AccessDenied: Access Denied/)
    return true
  })
})

test('a bucket of another region is reported, with its region', async (t) => {
  const source = await startSource(t)
  source.s3.intercept = (_, response) => {
    response.writeHead(301, { 'content-type': 'application/xml' })
    response.end('<Error><Code>PermanentRedirect</Code><Message>use another endpoint</Message></Error>')
    return true
  }
  await assert.rejects(source.run(), /^PullDeniedError: the bucket is in another region: create the source again/)
})

test('settings that are wrong are named', () => {
  const cases: readonly (readonly [Record<string, string>, RegExp])[] = [
    [{}, /^--url is needed/],
    [{ url: 'http://bucket' }, /^--url "http:\/\/bucket": must be s3:\/\/bucket/],
    [{ url: 's3://bucket' }, /^--url "s3:\/\/bucket": add \?region=…, where the bucket is/],
    [{ url: 's3://bucket?region=eu-central-1', format: 'xml' }, /^--format "xml": must be one of auto, combined/],
    [
      { url: 's3://bucket?endpoint=http://127.0.0.1:9', credentials: 'mine' },
      /^--credentials "mine": must be instance/,
    ],
  ]
  for (const [settings, message] of cases) {
    assert.throws(
      () => pull.assertSettings(settings, {}),
      (error: Error) => error instanceof InputError && message.test(error.message),
    )
  }
  pull.assertSettings({ url: 's3://bucket/a%20b/?region=eu-central-1', format: 'segment', credentials: 'instance' }, {})
  pull.assertSettings({ url: 's3://bucket' }, { AWS_REGION: 'eu-central-1' })
})
