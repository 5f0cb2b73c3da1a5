import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import { findVisitors } from '../../../src/operations/demo/organisations.ts'
import { demoVisits } from '../../../src/operations/demo/visits.ts'
import type { Address } from '../../../src/pipeline/event/address.ts'
import type { Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { Random } from '../../../src/run/random.ts'

const NOW_MS = Date.UTC(2026, 10, 26, 12)
const DAY_MS = 86_400_000

/** Networks of 256 addresses: each third is noise, and each seventh is not known. */
function enrich({ text }: Address): Enrichment {
  const network = text.slice(0, text.lastIndexOf('.'))
  const number = Number(network.replaceAll('.', '')) % 101
  const known = number % 7 !== 0
  return {
    noise: number % 3 === 0,
    classification: known ? 'business' : undefined,
    companyId: known ? `company-${number}` : '',
    data: { domain: `company-${number}.example`, country_code: 'US' },
  } as Enrichment
}

const visitorsOf = (seed: number) => findVisitors(new Random(seed), enrich, { organisations: 20, noise: 5 })
const visitsOf = async (seed: number, nowMs = NOW_MS) => [
  ...demoVisits({ ...(await visitorsOf(seed)), seed, days: 30, nowMs }),
]

test('visitors are found in the data, and each address belongs to its organisation', async () => {
  const { organisations, noise } = await visitorsOf(1)
  assert.deepEqual([organisations.length, noise.length], [20, 5])
  assert.equal(new Set(organisations.map(({ companyId }) => companyId)).size, 20)
  for (const { companyId, addresses } of organisations) {
    for (const text of addresses) assert.equal(enrich({ text } as Address).companyId, companyId)
  }
})

test('data that know nothing give no visitors, after a bounded number of tries', async () => {
  const nothing = { noise: false, classification: undefined, companyId: '', data: {} } as unknown as Enrichment
  assert.deepEqual(await findVisitors(new Random(1), () => nothing, { organisations: 1, noise: 1 }), {
    organisations: [],
    noise: [],
  })
})

test('made-up visits are events that say so, within the days before now', async () => {
  const check = compileValidator(EventEnvelope)
  const events = await visitsOf(1)
  assert.ok(events.length > 1_000)
  assert.equal(new Set(events.map(({ event_id }) => event_id)).size, events.length)
  for (const event of events) {
    assert.deepEqual(check(event), [])
    assert.equal(event.properties.demo, true)
    const atMs = Date.parse(event.timestamp)
    assert.ok(atMs <= NOW_MS && atMs > NOW_MS - 32 * DAY_MS, event.timestamp)
  }
})

test('the same seed makes the same visits, and another one others', async () => {
  assert.deepEqual(await visitsOf(7), await visitsOf(7))
  assert.notDeepEqual(await visitsOf(7), await visitsOf(8))
})

test('a second run later the same day makes the same visits, and only newer ones besides', async () => {
  const [first, second] = [await visitsOf(7), await visitsOf(7, NOW_MS + 8 * 3_600_000)]
  assert.deepEqual(
    second.filter(({ timestamp }) => Date.parse(timestamp) <= NOW_MS),
    first,
  )
  assert.ok(second.length > first.length)
})
