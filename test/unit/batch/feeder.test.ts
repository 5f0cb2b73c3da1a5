import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import type { ChunkCounts, ChunkReading, LineChunk } from '../../../src/pipeline/declaration/source.ts'
import { Feeder } from '../../../src/pipeline/sources/batch/feeder.ts'
import type { FeederStore, OpenedJobs, OpenJob } from '../../../src/pipeline/sources/batch/feeder-ports.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { withResolvers } from '../../../src/run/with-resolvers.ts'
import { readingOf } from '../../support/batch.ts'
import { mockTimeouts, settled } from '../../support/mock-timeouts.ts'
import { silent } from '../../support/pipeline.ts'
import { until } from '../../support/until.ts'

const LINES = 10

/** Keeps jobs in memory, notes each call in `log`, and answers a feed only on request. */
class Store implements FeederStore {
  readonly log: string[] = []
  /** Feeds without an answer yet. */
  readonly feeds: { readonly chunk: string; readonly answer: (error?: Error) => void }[] = []
  readonly jobs = new Map<string, OpenJob>()
  waiting = 0
  /** Whether feeds wait. */
  fills = false
  looks = 0
  lists = 0
  listsHeld: Promise<void> | undefined
  spare = false

  add(id: string, chunks: number, tenantId = 'acme', isOurs = true): void {
    const place = { isOurs, receivedAtMs: this.jobs.size, archived: false, addresses: 'full' as const }
    this.jobs.set(id, { id, tenantId, state: 'queued', ...place, received: chunks * LINES, chunks, next: 1 })
  }
  end(id: string): void {
    this.jobs.set(id, { ...this.jobs.get(id)!, state: 'ended' })
  }

  acquire = async () => true
  assertHeld(): void {}
  hasSpare = () => this.spare
  /** All jobs belong to this feeder. */
  async giveBack(): Promise<void> {
    this.log.push('give back')
    this.spare = false
    for (const [id, job] of this.jobs) this.jobs.set(id, { ...job, isOurs: false })
  }
  release = async () => {}
  async openJobs() {
    this.lists++
    if (this.lists > 1) await this.listsHeld
    return [...this.jobs.values()]
  }
  /**
   * Answers no listing after the first until the returned function is called. A feeder that lists the jobs reads no chunk
   * ahead, and on a busy machine it may list them at any moment.
   */
  holdLists(): () => void {
    const { promise, resolve } = withResolvers()
    this.listsHeld = promise
    return resolve
  }
  async eventsInLane() {
    this.looks++
    return { waiting: this.waiting, added: this.waiting }
  }
  payloadsInLane = async () => ({ waiting: 0, added: 0 })
  addressMask = async () => undefined
  tenantRules = async () => ({})
  fail = async () => true

  async readChunk({ id, next }: OpenJob): Promise<LineChunk> {
    this.log.push(`read ${id}${next}`)
    return { firstLine: 1, gaps: [], bytes: Buffer.from('') }
  }
  feed({ id, next }: OpenJob, _reading: ChunkReading): Promise<void> {
    this.log.push(`feed ${id}${next}`)
    if (this.fills) this.waiting += LINES
    return new Promise((resolve, reject) => {
      const answer = (error?: Error) => (error === undefined ? resolve() : reject(error))
      this.feeds.push({ chunk: `${id}${next}`, answer })
    })
  }
  async advance({ id, next }: OpenJob, _counts: ChunkCounts): Promise<boolean> {
    this.log.push(`advance ${id}${next}`)
    const job = this.jobs.get(id)!
    if (job.state === 'ended') return false
    if (job.next === next) this.jobs.set(id, { ...job, state: 'running', next: next + 1 })
    return true
  }
  async summaryIfFinished() {
    return { processed: 0 } as never
  }
  async complete({ id }: OpenJob): Promise<boolean> {
    this.log.push(`complete ${id}`)
    return true
  }
  async cleanUp({ id }: OpenJob): Promise<void> {
    this.log.push(`clean ${id}`)
    this.jobs.delete(id)
  }

  /** Answers the oldest feed, which must be this one. */
  async answer(chunk: string, error?: Error): Promise<void> {
    await until(() => this.feeds.length > 0)
    const feed = this.feeds.shift()!
    assert.equal(feed.chunk, chunk)
    feed.answer(error)
  }
  async sees(...lines: string[]): Promise<void> {
    await until(() => lines.every((line) => this.log.includes(line)))
  }
}

async function started(
  t: { after(work: () => Promise<void>): void },
  store: Store,
  waitingEventsMax = 1_000_000,
  opened?: OpenedJobs,
) {
  const counts = { fed: LINES, rejected: 0, invalidIp: 0, errors: [], reasons: [] }
  const reading = { blocks: new Map(), payloads: new Map(), outcomes: new Map(), counts }
  const feeder = new Feeder({
    store,
    ...(opened && { opened }),
    readerOf: () => readingOf(reading),
    check: () => [],
    enricher: { enrich: () => NOTHING_KNOWN },
    hostnames: undefined,
    partitions: 1,
    waitingEventsMax,
    waitingPayloadsMax: 1,
    clock: systemClock,
    log: silent,
  })
  await feeder.start()
  t.after(async () => {
    for (const { answer } of store.feeds) answer()
    await feeder.stop()
  })
  return feeder
}

const count = (log: readonly string[], line: string) => log.filter((entry) => entry === line).length

test('while a chunk is fed the next one is read, and fed only after it', async (t) => {
  const store = new Store()
  store.add('a', 3)
  const listAgain = store.holdLists()
  await started(t, store)
  await store.sees('feed a1', 'read a2')
  assert.deepEqual(store.log, ['read a1', 'feed a1', 'read a2'])
  await store.answer('a1')
  await store.sees('advance a1', 'feed a2', 'read a3')
  listAgain()
  assert.equal(store.feeds.length, 1)
  await store.answer('a2')
  await store.answer('a3')
  await store.sees('clean a')
  const fed = store.log.filter((line) => !line.startsWith('read'))
  assert.deepEqual(
    fed.toSorted(),
    ['advance a1', 'advance a2', 'advance a3', 'clean a', 'complete a', ...feeds('a', 3)].toSorted(),
  )
  assert.ok(store.log.indexOf('complete a') > store.log.indexOf('advance a3'), 'the summary counts the last chunk')
})

test('an idle feeder starts a new job when it is announced', async (t) => {
  mockTimeouts(t)
  const store = new Store()
  let tell = () => {}
  let watches = 0
  let closed = 0
  const opened: OpenedJobs = {
    watch(onOpened) {
      watches++
      tell = onOpened
    },
    close: () => void closed++,
  }
  const feeder = await started(t, store, 1_000_000, opened)
  await feeder.start()
  await settled(10)
  assert.deepEqual([watches, store.lists], [1, 1])
  t.mock.timers.tick(1_000)
  await settled(10)
  assert.equal(store.lists, 1, 'it rests')
  store.add('a', 1)
  tell()
  await settled(10)
  assert.deepEqual(store.log, ['read a1', 'feed a1'])
  store.feeds[0]!.answer()
  await feeder.stop()
  assert.equal(closed, 1)
})

test('tenants take turns, chunk by chunk', async (t) => {
  const store = new Store()
  store.add('a', 2, 'acme')
  store.add('b', 2, 'bold')
  await started(t, store)
  for (const chunk of ['a1', 'b1', 'a2', 'b2']) await store.answer(chunk)
  await store.sees('clean a', 'clean b')
})

test('after a failed feed nothing is fed until that chunk is fed again', async (t) => {
  const store = new Store()
  store.add('a', 3)
  const listAgain = store.holdLists()
  await started(t, store)
  await store.answer('a1')
  await store.sees('advance a1', 'read a3')
  listAgain()
  await store.answer('a2', new Error('no answer in time'))
  await until(() => store.feeds.length > 0)
  assert.equal(count(store.log, 'feed a2'), 2)
  assert.equal(count(store.log, 'feed a3'), 0)
  await store.answer('a2')
  await store.answer('a3')
  await store.sees('clean a')
  assert.equal(count(store.log, 'feed a1'), 1)
})

test('after a job ended at most the chunk in flight is fed, and cleaning comes after it', async (t) => {
  const store = new Store()
  store.add('a', 5)
  const listAgain = store.holdLists()
  await started(t, store)
  await store.sees('feed a1', 'read a2')
  await settled(10)
  store.end('a')
  listAgain()
  await store.answer('a1')
  await store.answer('a2')
  await store.sees('clean a')
  assert.deepEqual(
    store.log.filter((line) => line.startsWith('feed')),
    feeds('a', 2),
  )
  assert.equal(store.log.at(-1), 'clean a')
})

test('jobs of tenants of another feeder are left to it, to their end', async (t) => {
  const store = new Store()
  store.add('a', 1)
  for (const id of ['theirs', 'fed', 'ended']) store.add(id, 2, id, false)
  store.jobs.set('fed', { ...store.jobs.get('fed')!, state: 'running', next: 3 })
  store.end('ended')
  await started(t, store)
  await store.answer('a1')
  await store.sees('clean a')
  await lists(store)
  assert.deepEqual(store.log, ['read a1', 'feed a1', 'advance a1', 'complete a', 'clean a'])
})

test('tenants move to another feeder only with nothing in hand, and are not fed afterwards', async (t) => {
  const store = new Store()
  store.add('a', 1_000)
  const listAgain = store.holdLists()
  await started(t, store)
  await store.sees('feed a1', 'read a2')
  store.spare = true
  listAgain()
  while (store.spare) {
    await until(() => store.feeds.length > 0 || !store.spare)
    store.feeds.shift()?.answer()
  }
  const all = (what: string) => store.log.filter((line) => line.startsWith(what)).length
  assert.ok(all('feed') < 1_000)
  assert.equal(all('advance'), all('feed'))
  await lists(store)
  assert.equal(store.log.at(-1), 'give back')
})

test('feeding stops when there is no room, after at most one chunk beyond it', async (t) => {
  const store = new Store()
  // The lane counts each chunk as soon as it is fed: the feeder may check again at any moment.
  store.fills = true
  store.waiting = 75
  store.add('a', 4)
  await started(t, store, 100)
  for (const chunk of ['a1', 'a2', 'a3']) await store.answer(chunk)
  await store.sees('advance a3')
  const { looks } = store
  await until(() => store.looks > looks + 1)
  assert.equal(count(store.log, 'feed a4'), 0)
  store.waiting = 99
  await store.answer('a4')
  await store.sees('clean a')
})

test("a feeder's part of the lane is its share of the tenants with work", async (t) => {
  const store = new Store()
  store.fills = true
  store.add('a', 20)
  for (const id of ['b', 'c', 'd']) store.add(id, 20, id, false)
  store.add('e', 20, 'acme')
  store.add('fed', 2, 'e', false)
  store.jobs.set('fed', { ...store.jobs.get('fed')!, state: 'running', next: 3 })
  await started(t, store, 12 * LINES)
  for (const chunk of ['a1', 'a2', 'a3']) await store.answer(chunk)
  await lists(store)
  assert.equal(store.feeds.length, 0)
  for (const id of ['b', 'c']) store.jobs.delete(id)
  for (const chunk of ['a4', 'a5', 'a6']) await store.answer(chunk)
  await lists(store)
  assert.equal(store.feeds.length, 0)
})

/** Waits until every job was listed and checked again. */
async function lists(store: Store): Promise<void> {
  const { lists } = store
  await until(() => store.lists > lists + 2)
}

function feeds(job: string, chunks: number): string[] {
  return Array.from({ length: chunks }, (_, i) => `feed ${job}${i + 1}`)
}
