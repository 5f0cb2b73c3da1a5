import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import type { Classification } from '../../../schemas/classification.ts'
import { enrichmentOf } from '../../../src/enrichment/answers/answer.ts'
import { parseAddress } from '../../../src/pipeline/event/address.ts'
import {
  countsOf,
  type OriginCounts,
  OriginTally,
  originOf,
  originsOfCounts,
  originWarning,
} from '../../../src/pipeline/event/origins.ts'
import { UnavailableError } from '../../../src/run/errors.ts'
import { TenantOrigins } from '../../../src/tenants/origins.ts'
import { until } from '../../support/until.ts'

function noise(classification: Classification, data: object = {}) {
  return enrichmentOf({ noise: true, classification, quality: 10, companyId: '', data: { ...data } })
}

const cdn = noise('cdn', { asn: 13335, as_name: 'Cloudflare, Inc.' })
const CDN = 'cdn AS13335 Cloudflare, Inc.'

function tallyOf(...counts: [origin: string, events: number][]): OriginTally {
  const tally = new OriginTally()
  for (const [origin, events] of counts) tally.add(origin, events)
  return tally
}

test('most events from one network without visitors are reported, with the likely mistake', () => {
  assert.equal(originOf(cdn), CDN)
  assert.equal(originOf(noise('reserved')), 'reserved')
  assert.equal(originOf(noise('cloud', { org_name: 'A Cloud' })), 'cloud A Cloud')
  // Names come from data files: they start no line, reverse no text, and end in whole characters.
  assert.equal(originOf(noise('cloud', { asn: 1, as_name: 'A\nwarning\u202e B\u0007' })), 'cloud AS1 A warning B')
  assert.equal(originOf(noise('cloud', { as_name: '𝒜'.repeat(200) })), `cloud ${'𝒜'.repeat(114)}`)
  // Visitors come from access providers; and the tenant knows the content of its own rules.
  assert.equal(originOf(noise('isp', { asn: 1 })), '')
  assert.equal(originOf({ ...cdn, rule: 'own 104.16.0.0/13' }), '')

  const warned = originWarning(tallyOf([CDN, 80], ['', 20]))
  assert.deepEqual([warned?.origin, warned?.share], [CDN, 0.8])
  assert.match(
    warned!.text,
    /^80 % of 100 events come from one network, AS13335 Cloudflare, Inc\. \(cdn\): .*CDN in front/,
  )
  const text = (origin: string) => originWarning(tallyOf([origin, 100]))!.text
  assert.match(
    text('reserved'),
    /^100 % of 100 events come from private or reserved addresses: .*load balancer.*X-Forwarded-For/,
  )
  assert.match(text('hosting AS1 H'), /one network, AS1 H \(hosting\): .*server or proxy of yours/)
  assert.match(text('cloud'), /a network of class cloud/)
  // Half is not most, few events prove nothing, and two networks are not one.
  assert.equal(originWarning(tallyOf([CDN, 50], ['', 50])), undefined)
  assert.equal(originWarning(tallyOf([CDN, 99])), undefined)
  assert.equal(originWarning(tallyOf([CDN, 50], ['reserved', 50])), undefined)
})

test('a tally is bounded, and keeps the network that matters', () => {
  const tally = new OriginTally()
  for (let i = 0; i < 10_000; i++) tally.add(i % 5 < 3 ? CDN : `cloud AS${i}`)
  assert.ok(tally.byOrigin.size <= 16)
  assert.equal(tally.events, 10_000)
  assert.ok(tally.byOrigin.get(CDN)! >= 6_000 - 10_000 / 17)
  assert.equal(originWarning(tally)?.origin, CDN)
})

test('networks of a job arrive through its counts', () => {
  const blocks = [tallyOf([CDN, 90], ['cloud', 5], ['', 5]), tallyOf([CDN, 20], ['', 80])]
  const sums = new Map([['identified', 7]])
  for (const [name, n] of blocks.flatMap((block) => [...countsOf(block)])) sums.set(name, (sums.get(name) ?? 0) + n)
  const counts = originsOfCounts(sums, 200)
  assert.deepEqual([...counts.byOrigin], [[CDN, 110]])
  assert.equal(originWarning(counts)?.share, 0.55)
})

test('the counts of a process are written repeatedly, and shown in the metrics while valid', async (t) => {
  const written = new Map<string, OriginTally>()
  let failures = 1
  const store = {
    async add(tenantId: string, counts: OriginCounts) {
      if (failures-- > 0) throw new UnavailableError('down')
      const sum = written.get(tenantId) ?? new OriginTally()
      sum.addAll(counts)
      written.set(tenantId, sum)
      return sum
    },
    async read(tenantId: string) {
      return written.get(tenantId) ?? new OriginTally()
    },
  }
  const metrics = new Registry()
  const lines: string[] = []
  const log = pino({ level: 'warn' }, { write: (line: string) => lines.push(line) })
  const origins = new TenantOrigins({ store, metrics, log, flushEveryMs: 5 })
  const enrich = (tenant: string, answer: typeof cdn, events: number) => {
    const { enrich } = origins.counting({ enrich: () => answer }, tenant)
    for (let i = 0; i < events; i++) assert.equal(enrich(parseAddress('1.1.1.1')!), answer)
  }
  enrich('acme', cdn, 60)
  enrich('other', cdn, 10)
  await origins.start()
  t.after(() => origins.stop())
  origins.add('acme', tallyOf([CDN, 60]))
  const shown = await until(
    () => metrics.getSingleMetricAsString('ipid_tenant_one_network_share'),
    (text) => text.includes('{'),
  )
  assert.match(shown, /\{tenant="acme",network="cdn AS13335 Cloudflare, Inc\."\} 1$/m)
  assert.ok(!shown.includes('other'))
  assert.deepEqual([written.get('acme')?.events, written.get('other')?.events], [120, 10])
  enrich('acme', noise('isp'), 200)
  await until(
    () => metrics.getSingleMetricAsString('ipid_tenant_one_network_share'),
    (text) => !text.includes('{'),
  )
  assert.equal(lines.length, 1)

  // It ends with the days that it is about, too, when that tenant sends nothing more.
  origins.add('acme', tallyOf([CDN, 1_000]))
  await until(
    () => metrics.getSingleMetricAsString('ipid_tenant_one_network_share'),
    (text) => text.includes('{'),
  )
  written.clear()
  await until(
    () => metrics.getSingleMetricAsString('ipid_tenant_one_network_share'),
    (text) => !text.includes('{'),
    5_000,
  )
})
