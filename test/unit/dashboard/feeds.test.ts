import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { LiveEvent, LiveReport } from '../../../schemas/live-event.ts'
import type { EventSender } from '../../../src/dashboard/server/event-streams.ts'
import { LiveHub } from '../../../src/dashboard/server/live-hub.ts'
import { systemFeed } from '../../../src/dashboard/server/system-feed.ts'
import { collectStatus, NO_JOBS, type StatusSources } from '../../../src/operations/status/collect.ts'
import { tenantKey } from '../../../src/tenants/tenancy.ts'
import { until } from '../../support/until.ts'

const acme = { id: 'acme', createdAt: '2026-01-01T00:00:00.000Z' }
const other = { ...acme, id: 'other' }

const event: LiveEvent = {
  ...{ received_at: '2026-11-22T00:00:00.000Z', status: 'ok', event_type: null, ip: '192.0.2.1', company: 'Example' },
  ...{ domain: null, country_code: null, classification: null, quality: 0, rule: null, filtered_as: null },
}
const report = (events: number, all = events): LiveReport => ({
  totals: { ok: all, filtered: 0, invalid_ip: 0 },
  events: Array(events).fill(event),
})

/** A hub on a source of the test. */
function startHub(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const heard = new Map<string, (report: LiveReport) => void>()
  let watched = 0
  const hub = new LiveHub({
    watch(tenantId, listener) {
      watched++
      heard.set(tenantId, listener)
      return () => void heard.delete(tenantId)
    },
  })
  const listener = () => {
    const frames: LiveReport[] = []
    const sender: EventSender = { send: (text) => frames.push(JSON.parse(text.split('data: ')[1]!)) }
    return { frames, sender }
  }
  return { hub, heard, listener, watched: () => watched, pass: (ms: number) => t.mock.timers.tick(ms) }
}

test('fifty pages of a tenant share one reader, and none is left when they close', (t) => {
  const { hub, heard, listener, watched, pass } = startHub(t)
  const pages = Array.from({ length: 50 }, listener)
  const leave = pages.map(({ sender }) => hub.of(acme)(sender))
  assert.deepEqual([watched(), [...heard.keys()]], [1, [tenantKey(acme)]])
  heard.get(tenantKey(acme))!(report(1))
  pass(500)
  assert.ok(pages.every(({ frames }) => frames.length === 1))
  for (const one of leave) one()
  assert.equal(heard.size, 0)
  hub.of(acme)(pages[0]!.sender)
  assert.equal(watched(), 2)
})

test('a page gets bounded frames from several processes, for its tenant only', (t) => {
  const { hub, heard, listener, pass } = startHub(t)
  const pages = [listener(), listener()] as const
  hub.of(acme)(pages[0].sender)
  hub.of(other)(pages[1].sender)
  for (let i = 0; i < 8; i++) heard.get(tenantKey(acme))!(report(5, 500))
  pass(500)
  pass(500)
  const [own, others] = pages.map(({ frames }) => frames)
  assert.equal(others!.length, 0)
  assert.equal(own!.length, 1, 'nothing is sent when nothing came')
  assert.deepEqual([own![0]!.totals.ok, own![0]!.events.length], [4_000, 5])
})

test('a page of a deleted tenant gets nothing of a new tenant with the same name', (t) => {
  const { hub, heard, listener, pass } = startHub(t)
  const anew = { ...acme, createdAt: '2026-02-02T00:00:00.000Z' }
  const [former, present] = [listener(), listener()]
  hub.of(acme)(former.sender)
  hub.of(anew)(present.sender)
  heard.get(tenantKey(anew))!(report(1))
  pass(500)
  assert.deepEqual([former.frames.length, present.frames.length], [0, 1])
})

const sources: StatusSources = {
  pipeline: async () => ({ streams: [], dead_letters: 3 }),
  batchJobs: async () => NO_JOBS,
  bulkJobs: async () => NO_JOBS,
  redis: async () => {
    throw new Error('down')
  },
  dedup: async () => ({ entries: 7, bytes: 700 }),
  reports: async () => [],
  retention: async () => [],
  damage: async () => ({ parts: [], archived_tenants: [] }),
  reader: { host: 'h', disk: undefined },
}

test('the system is read once for all readers, and not at all without any', async () => {
  let reads = 0
  const feed = systemFeed({
    read: () => {
      reads++
      return collectStatus(sources, { stallMs: 1_000, slackMs: {} })
    },
    attributionOf: () => undefined,
    dataUpdate: async () => null,
  })
  const texts: string[][] = [[], []]
  const leave = texts.map((list) => feed.join({ send: (text) => list.push(text) }))
  await until(() => texts[0]!.length > 0)
  assert.deepEqual([reads, texts[0]], [1, texts[1]])
  const late: string[] = []
  leave.push(feed.join({ send: (text) => late.push(text) }))
  assert.deepEqual(late, texts[0]!.slice(-1), 'a later page does not wait')
  const status = JSON.parse(late[0]!.split('data: ')[1]!)
  assert.deepEqual([status.dead_letters, status.redis, status.verdict.level], [3, null, 'stalled'])
  for (const one of leave) one()
})
