import assert from 'node:assert/strict'
import { createSecretKey } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import type { EventEnvelope } from '../../../schemas/api/event.ts'
import type { LiveReport } from '../../../schemas/live-event.ts'
import type { Enricher, Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import type { EventContext } from '../../../src/pipeline/event/read-event.ts'
import { acceptEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { EventTail } from '../../../src/pipeline/sources/live/tail.ts'
import { readEvents } from '../../support/read-events.ts'

const company: Enrichment = {
  ...{ noise: false, classification: 'business', quality: 70, companyId: 'example.com', answerJson: '"quality":70' },
  ...{ data: { business_name: 'Example', domain: 'example.com', country_code: 'DE' }, columns: '', accountColumns: '' },
}
const own: Enrichment = { ...company, noise: true, filteredAs: 'own', rule: 'own 203.0.113.0/24' }
const enricher: Enricher = { enrich: ({ text }) => (text.startsWith('203.') ? own : company) }
const receipt: EventContext = { tenantId: 'acme', receivedAtMs: Date.UTC(2026, 10, 22), requestId: 'r' }

/** A tail on a wire of the test. */
async function startTail(t: TestContext) {
  t.mock.timers.enable({ apis: ['setInterval', 'Date'] })
  const reports: [string, LiveReport][] = []
  let want = (_: string) => {}
  const tail = new EventTail({
    clock: { now: () => Date.now() },
    wire: {
      watch: (onWanted) => {
        want = onWanted
      },
      tell: (tenantId, report) => reports.push([tenantId, report]),
      close: () => {},
    },
  })
  await tail.start()
  t.after(() => tail.stop())
  const request = (events: readonly EventEnvelope[], of: EventContext = receipt) => {
    const looking = tail.of(of.tenantId, enricher)
    const text = JSON.stringify({ events })
    const read = readEvents(text)
    acceptEvents(text, read, of, looking?.enricher ?? enricher)
    looking?.accepted(read, of)
    return looking !== undefined
  }
  return { reports, want: (tenantId: string) => want(tenantId), request, pass: (ms: number) => t.mock.timers.tick(ms) }
}

test('nothing is sent without a viewer, and nothing of another tenant', async (t) => {
  const { reports, want, request, pass } = await startTail(t)
  assert.equal(request([{ ip: '8.8.8.8' }]), false)
  want('other')
  assert.equal(request([{ ip: '8.8.8.8' }]), false)
  pass(1_000)
  assert.deepEqual(reports, [])
})

test('a watched event is sent with its status, its company and the reason', async (t) => {
  const { reports, want, request, pass } = await startTail(t)
  want('acme')
  request([
    { ip: '8.8.8.8', event_type: 'page_view', url: 'https://a.example/b?c=1', properties: { title: ' The page ' } },
    { ip: '203.0.113.7', properties: { url: 'https://a.example/', title: 1 } },
    { ip: 'x'.repeat(200) },
  ] as EventEnvelope[])
  pass(500)
  const [[tenant, { totals, events }]] = reports as [[string, LiveReport]]
  assert.deepEqual([tenant, totals], ['acme', { ok: 1, filtered: 1, invalid_ip: 1 }])
  const common = { received_at: '2026-11-22T00:00:00.000Z', classification: 'business', quality: 70 }
  const who = { company: 'Example', domain: 'example.com', country_code: 'DE' }
  const why = { rule: null, filtered_as: null }
  assert.deepEqual(events.slice(0, 2), [
    {
      ...{ ...common, status: 'ok', event_type: 'page_view', ip: '8.8.8.8', ...who, ...why },
      ...{ page: 'a.example/b', title: 'The page', company_id: 'example.com' },
    },
    {
      ...{ ...common, status: 'filtered', event_type: null, ip: '203.0.113.7', ...who },
      ...{ rule: own.rule, filtered_as: 'own', page: 'a.example/' },
    },
  ])
  assert.deepEqual([events[2]!.status, events[2]!.company, events[2]!.ip!.length], ['invalid_ip', null, 120])
})

test('of many events a few are shown, all are counted, and rare ones appear', async (t) => {
  const { reports, want, request, pass } = await startTail(t)
  want('acme')
  for (let i = 0; i < 20; i++) request(Array(100).fill({ ip: '8.8.8.8' }))
  request([{ ip: 'none' }])
  pass(500)
  const { totals, events } = reports[0]![1]
  assert.deepEqual(totals, { ok: 2_000, filtered: 0, invalid_ip: 1 })
  assert.deepEqual(
    events.map(({ status }) => status),
    [...Array(5).fill('ok'), 'invalid_ip'],
  )
})

test('addresses that a tenant does not keep are not shown', async (t) => {
  const { reports, want, request, pass } = await startTail(t)
  want('acme')
  const mask = { keep: 'dropped', key: createSecretKey(Buffer.alloc(32)) } as const
  request([{ ip: '8.8.8.8' }, { ip: '8.8.8.8 ' }], { ...receipt, mask })
  pass(500)
  assert.deepEqual(
    reports[0]![1].events.map(({ ip }) => ip),
    [null, null],
  )
})

test('a viewer that does not renew its request gets nothing more', async (t) => {
  const { reports, want, request, pass } = await startTail(t)
  want('acme')
  pass(5_000)
  want('acme')
  pass(5_000)
  assert.equal(request([{ ip: '8.8.8.8' }]), true)
  pass(2_000)
  assert.equal(reports.length, 1)
  assert.equal(request([{ ip: '8.8.8.8' }]), false)
})
