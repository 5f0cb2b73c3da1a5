import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { ClickHouseAccuracy } from '../../src/dashboard/queries/accuracy.ts'
import type { Lookup, Provenance } from '../../src/lookup/lookup.ts'
import { parseAddress } from '../../src/pipeline/event/address.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import type { Tenant } from '../../src/tenants/tenancy.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'

const DAY_MS = 86_400_000
const NOON_MS = Date.UTC(2026, 2, 15, 12)

const clickhouse = await startTestClickHouse()
const client = connectReading(clickhouse.url, 'test')
after(() => client.close())
const insert = eventInserter(clickhouse)

/** The data by /24: a data set and the company that it names; no company: an access provider. */
const DATA: Readonly<Record<string, readonly [set: string, company: string, name?: string]>> = {
  '20.0.1': ['vendor', 'acme.com', 'Acme'],
  '20.0.2': ['asn', 'small-hoster', 'Small Hoster'],
  '20.0.3': ['asn', '', 'Big Telecom'],
  '20.0.4': ['starter', 'globex.de', 'Globex'],
  '20.0.5': ['starter', 'initech.com', 'Initech'],
  '20.0.6': ['asn', 'hooli', 'Hooli'],
}

let lookups = 0
function lookup(address: { readonly text: string }): Lookup {
  lookups++
  const [provider, companyId, name] = DATA[address.text.split('.').slice(0, 3).join('.')] ?? []
  const source: Provenance | undefined = provider === undefined ? undefined : { provider, network: undefined }
  const isNoise = companyId === ''
  return {
    address: address.text,
    data: {
      ...(name && { [isNoise ? 'as_name' : 'business_name']: name }),
      ...(companyId?.includes('.') && { domain: companyId }),
    },
    provenance: source === undefined ? {} : { [isNoise ? 'as_name' : 'business_name']: source },
    ...{
      classification: isNoise ? 'isp' : undefined,
      noise: isNoise,
      rule: 'x',
      quality: 50,
      companyId: companyId ?? '',
    },
    ...{ answered: [], partial: [] },
  }
}
assert.equal(lookup(parseAddress('20.0.1.9')!).companyId, 'acme.com')

const accuracy = new ClickHouseAccuracy(
  new QuestionReader(client),
  { now: () => NOON_MS },
  { lookup, organisationOf: () => undefined },
  { listSources: async () => [] },
)
const tenantOf = (id: string, rules: readonly string[] = []): Tenant => ({
  ...{ id, rules, plan: 'free', archive: false, addresses: 'full', createdAt: '2026-01-01T00:00:00Z' },
})
const visit = (ip: string, company_id: string, row: EventRow = {}): EventRow => ({
  ...{ ip, company_id, account_id: company_id, received_at: NOON_MS - DAY_MS, timestamp: NOON_MS - DAY_MS },
  ...row,
})
let changes = 0
const correct = (tenant_id: string, rows: readonly (readonly [company: string, field: string, value: string])[]) =>
  clickhouse.client.insert({
    table: 'company_corrections',
    values: rows.map(([company_id, field, value]) => {
      const at = NOON_MS + changes++
      return { tenant_id, company_id, field, value, at, change_id: String(at) }
    }),
    format: 'JSONEachRow',
  })

test('corrections are counted by the data set that gave the corrected answer, and by their kind', async () => {
  await insert('taught', [
    visit('20.0.1.1', 'acme.com'),
    visit('20.0.1.2', 'acme.com'),
    visit('20.0.2.1', 'small-hoster', { asn: 64_502 }),
    visit('20.0.4.1', 'globex.de'),
    visit('20.0.5.1', 'initech.com'),
    visit('20.0.6.1', 'hooli'),
    // The data named another company when it came.
    visit('20.0.6.2', 'umbrella'),
    // A rule "is" named it.
    visit('20.0.3.9', 'office.example'),
    visit('#0123456789abcdef', 'secret.example'),
    // Before these days.
    visit('20.0.1.3', 'old.example', { timestamp: NOON_MS - 40 * DAY_MS }),
  ])
  await correct('taught', [
    ['initech.com', 'hidden', 'yes'],
    ['hooli', 'merged_into', 'hooli.com'],
    ['hooli', 'counts_for', 'hooli.com'],
    ['umbrella', 'hidden', 'yes'],
    ['secret.example', 'name', 'Secret Inc.'],
    ['old.example', 'hidden', 'yes'],
    ['never-here.example', 'hidden', 'yes'],
    ['office.example', 'name', 'The Office'],
    // Shown again, and no correction of data.
    ['acme.com', 'hidden', 'yes'],
    ['acme.com', 'hidden', ''],
    ['acme.com', 'note', 'Call them'],
  ])
  const rules = [
    'is 20.0.1.0/25 other.example',
    'is 20.0.1.128/25 acme.com',
    'is 20.0.3.0/24 office.example',
    'is 2001:db8::/48 office.example',
    'is 20.0.4.7/32 globex.com',
    'always-noise AS64502',
    'always-noise AS64599',
    'always-noise 20.0.2.0/24',
    'always-noise 20.0.3.0/24',
    'always-noise globex.de',
    'never-noise 20.0.3.0/24',
    'own 20.0.5.0/24',
    'keep isp',
  ]
  const found = await accuracy.corrections(tenantOf('taught', rules), 30)
  const kindsOf = Object.fromEntries(
    found.data_sets.map(({ name, companies, kinds }) => [
      name,
      { companies, ...Object.fromEntries(Object.entries(kinds).filter(([, count]) => count > 0)) },
    ]),
  )
  assert.deepEqual(kindsOf, {
    asn: { companies: 2, missing: 2, shown: 2, merged: 1, known: 1 },
    vendor: { companies: 1, wrong: 1, known: 1 },
    starter: { companies: 2, domain: 1, shown: 1, hidden: 1 },
    '(your rule "is")': { companies: 1, renamed: 1 },
    '(other data then)': { companies: 1, hidden: 2 },
    '(address not stored)': { companies: 1, renamed: 1 },
    '(no stored event)': { companies: 0, shown: 1, hidden: 1 },
    '(no data set)': { companies: 0, missing: 1 },
  })
  assert.deepEqual([found.since, found.companies, found.companies_read, found.left_out], ['2026-02-14', 8, 8, 0])
  const made = (rule: string) => found.corrections.find((each) => each.rule === rule)
  assert.deepEqual(made('is 20.0.1.0/25 other.example'), {
    ...{ data_set: 'vendor', kind: 'wrong', company_id: 'acme.com', rule: 'is 20.0.1.0/25 other.example' },
  })
  assert.equal(made('always-noise AS64502')!.company_id, 'small-hoster')
  assert.equal(
    found.data_sets.reduce((sum, { corrections }) => sum + corrections, 0),
    found.corrections.length,
  )
})

test('corrections that rules hide keep their data set, and the lookups are bounded', async () => {
  await clickhouse.client.command({
    query: `INSERT INTO hidden_events (ip, tenant_id, event_id, received_at, timestamp, company_id, hidden_rule)
      VALUES ('20.0.2.8', 'many', 'e', now(), now(), 'small-hoster', 'always-noise small-hoster')`,
  })
  await clickhouse.client.command({
    query: `INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, company_id)
      SELECT concat('20.0.', toString(1 + number % 2), '.', toString(number % 250)), 'many', toString(number),
        toDateTime64('2026-03-14 00:00:00', 3, 'UTC') AS at, at, concat('c', toString(number), '.example') FROM numbers(6000)`,
  })
  await clickhouse.client.command({
    query: `INSERT INTO company_corrections (tenant_id, company_id, field, at, change_id, value)
      SELECT 'many', concat('c', toString(number), '.example'), 'hidden', toDateTime64('2026-03-14 00:00:00', 3, 'UTC') + number, toString(number), 'yes'
      FROM numbers(1100)`,
  })
  lookups = 0
  const found = await accuracy.corrections(tenantOf('many', ['always-noise small-hoster']), 30)
  assert.deepEqual([found.companies, found.companies_read, found.left_out], [6_000, 5_000, 100])
  assert.equal(found.corrections.length, 1_001)
  assert.ok(lookups <= 6_001, String(lookups))
  // The oldest corrections are left out.
  assert.equal(
    found.corrections.some(({ company_id }) => company_id === 'c99.example'),
    false,
  )
  assert.equal(found.data_sets.find(({ name }) => name === 'asn')!.kinds.shown, 1)
})
