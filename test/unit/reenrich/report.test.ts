import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import { ReportBuilder } from '../../../src/operations/reenrich/report.ts'

type Columns = Partial<Record<(typeof ENRICHMENT_COLUMNS)[number], string>>

const A: Columns = { company_id: 'a.example', business_name: 'A', domain: 'a.example', quality: '70' }
const B: Columns = { company_id: 'b.example', business_name: 'B', domain: 'b.example', quality: '70' }

const NO_RULE = { rule: '', reason: '' } as const

const valuesOf = (columns: Columns) => ENRICHMENT_COLUMNS.map((column) => columns[column] ?? '')

/** Events of an account that follows the company unless another one is given. */
function add(
  builder: ReportBuilder,
  before: Columns,
  after: Columns,
  events: number,
  account = before.company_id ?? '',
) {
  const group = { ip: '17.0.0.1', accountId: account, was: '1', values: valuesOf(before), agents: [], events }
  const isChange = JSON.stringify(before) !== JSON.stringify(after)
  builder.add(group, { to: 'events', hiding: undefined, classification: '', values: valuesOf(after), isChange })
}

const finish = (builder: ReportBuilder, existing: readonly string[] = []) =>
  builder.finish(async (ids) => new Set(ids.filter((id) => existing.includes(id))))

test('unchanged events are counted as judged and nothing else', async () => {
  const builder = new ReportBuilder()
  add(builder, A, A, 5)
  builder.countAddresses(2)
  const { list: _, ...none } = (await finish(builder)).renamed
  assert.deepEqual(none, { accounts: 0, events: 0 })
  const report = await finish(builder)
  assert.deepEqual([report.events, report.addresses], [{ judged: 5, changed: 0, not_judged: 0 }, 2])
})

test('an account with the same id and a new name is renamed, by the names of most events', async () => {
  const builder = new ReportBuilder()
  add(builder, { ...A, business_name: 'Older' }, { ...A, business_name: 'New' }, 2)
  add(builder, A, { ...A, business_name: 'New' }, 3)
  // An account named by the sender keeps its id whatever its company becomes.
  add(builder, A, B, 9, 'own')
  const { renamed, merged, events } = await finish(builder)
  assert.deepEqual([merged.accounts, events.changed, renamed.accounts, renamed.events], [0, 14, 2, 14])
  assert.deepEqual(renamed.list, [
    {
      account_id: 'own',
      before: { business_name: 'A', domain: 'a.example' },
      after: { business_name: 'B', domain: 'b.example' },
      events: 9,
    },
    {
      account_id: 'a.example',
      before: { business_name: 'A', domain: 'a.example' },
      after: { business_name: 'New', domain: 'a.example' },
      events: 5,
    },
  ])
})

test('an account becomes another one: merged, into one that exists or is new', async () => {
  const builder = new ReportBuilder()
  const C: Columns = { ...B, company_id: 'c.example', domain: 'c.example' }
  add(builder, A, B, 2)
  add(builder, A, B, 2)
  add(builder, A, C, 5)
  const { merged, found } = await finish(builder, ['b.example'])
  assert.deepEqual(merged, {
    ...{ accounts: 1, events: 9 },
    list: [
      { from: 'a.example', to: 'c.example', to_is_new: true, events: 5 },
      { from: 'a.example', to: 'b.example', to_is_new: false, events: 4 },
    ],
  })
  assert.deepEqual(found, { accounts: 1, events: 0 })
})

test('found, lost, filtered, shown, deleted, not judged, and events without an account', async () => {
  const builder = new ReportBuilder()
  add(builder, {}, A, 1)
  add(builder, {}, B, 2, 'own')
  add(builder, A, {}, 4)
  add(builder, A, {}, 8, 'own')
  add(builder, A, { ...A, asn: '64500', quality: '80' }, 16)
  add(builder, {}, { country_code: 'DE' }, 32)
  const group = { ip: '3.0.0.1', accountId: '', was: '1', values: valuesOf(A), agents: [], events: 64 }
  const noise = { to: 'hidden', hiding: NO_RULE, values: valuesOf({}), isChange: true } as const
  builder.add(group, { ...noise, classification: 'cloud' })
  builder.add({ ...group, events: 128 }, { ...noise, classification: 'isp' })
  const wasHidden = { ...group, hiding: NO_RULE }
  builder.add({ ...wasHidden, events: 512 }, { ...noise, classification: 'isp', to: 'events' })
  builder.add({ ...wasHidden, events: 1_024 }, { ...noise, classification: 'isp', to: 'gone' })
  builder.add({ ...group, ip: '#1f', events: 256 }, undefined)
  const report = await finish(builder, ['own'])
  assert.deepEqual(report.found, { accounts: 1, events: 3 })
  assert.deepEqual(report.lost, { accounts: 2, events: 12 })
  assert.deepEqual(report.other, { events: 48 })
  assert.deepEqual(report.filtered, { events: 192, classifications: { cloud: 64, isp: 128 } })
  assert.deepEqual([report.shown, report.deleted], [{ events: 512 }, { events: 1_024 }])
  assert.deepEqual(report.events, { judged: 1_791, changed: 1_791, not_judged: 256 })
})
