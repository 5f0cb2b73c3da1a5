import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type ModelState, modelCompanies } from '../support/corrected-model.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'

const clickhouse = await startTestClickHouse()
/** Events of a tenant that only this test uses. */
const insert = eventInserter(clickhouse)

const NOW_MS = Date.UTC(2025, 10, 20)
const corrections = new CompanyCorrections(
  () => clickhouse.client,
  { now: () => NOW_MS },
  (_, work) => work(),
)
const IDS = ['a.example', 'b.example', 'c.example', 'd.example']
const BY = 'Ada'

const eventsOf = (tenant: string): EventRow[] =>
  IDS.map((id, i) => ({
    ...{ event_id: `${tenant}-${i}`, company_id: id, account_id: id, business_name: id, ip: '192.0.2.1' },
    ...{ received_at: NOW_MS + i, timestamp: NOW_MS + i },
  }))

async function withEvents(tenant: string): Promise<EventRow[]> {
  const events = eventsOf(tenant)
  await insert(tenant, events)
  return events
}

const shown = async (tenant: string) =>
  Object.fromEntries(
    (
      await clickhouse.rows<{ company_id: string; events: number }>(
        `SELECT company_id, events FROM companies WHERE tenant_id = '${tenant}' ORDER BY company_id`,
      )
    ).map(({ company_id, events }) => [company_id, events]),
  )

test('merges follow chains, circles are refused, and an undo in the middle brings both back', async () => {
  await withEvents('chain')
  const merge = (company: string, merged_into: string) =>
    corrections.correct('chain', { companies: [company], wanted: { merged_into }, by: BY })
  const first = await merge('b.example', 'c.example')
  await merge('a.example', 'b.example')
  assert.deepEqual(await shown('chain'), { 'c.example': 3, 'd.example': 1 })
  await assert.rejects(merge('c.example', 'a.example'), {
    name: 'InputError',
    message: 'companies cannot be merged in a circle: "c.example" into "a.example" into "b.example" into "c.example"',
  })
  await assert.rejects(merge('a.example', 'a.example'), /cannot be merged into itself/)
  await corrections.undo('chain', { changeId: first.change_id, by: BY })
  assert.deepEqual(await shown('chain'), { 'b.example': 2, 'c.example': 1, 'd.example': 1 })
})

test('of several companies that are merged into one of them, that one stays, and its history and list name the others', async () => {
  await withEvents('into')
  const change = { companies: ['a.example', 'b.example', 'c.example'], wanted: { merged_into: 'a.example' }, by: BY }
  const done = await corrections.correct('into', change)
  assert.equal(done.companies, 2)
  assert.deepEqual(await shown('into'), { 'a.example': 3, 'd.example': 1 })
  const [target] = await corrections.list('into', ['a.example'])
  assert.deepEqual([target!.merged_from, target!.merged_into], [['b.example', 'c.example'], ''])
  assert.deepEqual(
    (await corrections.list('into')).map(({ company_id, merged_from }) => [company_id, merged_from.length]),
    [
      ['a.example', 2],
      ['b.example', 0],
      ['c.example', 0],
    ],
  )
  const [merged] = await corrections.history('into', 'a.example')
  assert.deepEqual(
    merged!.corrections.map(({ company_id, value }) => [company_id, value]),
    [
      ['b.example', 'a.example'],
      ['c.example', 'a.example'],
    ],
  )
  await corrections.undo('into', { changeId: done.change_id, by: BY })
  assert.deepEqual(
    (await corrections.history('into', 'a.example')).map(({ undoes }) => undoes),
    [done.change_id, null],
  )
  assert.deepEqual(await corrections.list('into', ['a.example']), [])
})

test('the history of a company names the events that rules hid, also those of merged companies', async () => {
  await withEvents('hiding')
  const at = '2025-11-20 00:00:00.000'
  const values = ['a.example', 'b.example', 'c.example'].map((company_id) => ({
    ...{ tenant_id: 'hiding', company_id, at, run: 'r', by: BY, action: 'hidden', rule: 'always-noise AS1', events: 1 },
    first_seen: at,
  }))
  await clickhouse.client.insert({ table: 'hidden_changes', values, format: 'JSONEachRow' })
  const of = async (company?: string) =>
    (await corrections.hidings('hiding', company)).map(({ company_id }) => company_id)
  assert.deepEqual(await of('a.example'), ['a.example'])
  await corrections.correct('hiding', { companies: ['b.example'], wanted: { merged_into: 'a.example' }, by: BY })
  assert.deepEqual(await of('a.example'), ['a.example', 'b.example'])
  assert.deepEqual(await of(), ['a.example', 'b.example', 'c.example'])
  assert.deepEqual(await of(''), [])
})

test('a change is one for many companies, a repeat changes nothing, and its undo restores all', async () => {
  await withEvents('many')
  const changeId = '00000000-0000-4000-8000-000000000001'
  const change = { companies: ['a.example', 'b.example'], wanted: { hidden: true, add_tags: ['x'] }, by: BY, changeId }
  const done = await corrections.correct('many', change)
  assert.deepEqual(done, { change_id: changeId, at: '2025-11-20T00:00:00.000Z', by: BY, companies: 2 })
  assert.deepEqual(await corrections.correct('many', change), done)
  assert.deepEqual(await shown('many'), { 'c.example': 1, 'd.example': 1 })
  const again = await corrections.correct('many', { ...change, changeId: undefined })
  assert.equal(again.companies, 0)

  const back = await corrections.undo('many', { changeId, by: 'Bob' })
  assert.equal(back.companies, 2)
  assert.deepEqual(await corrections.undo('many', { changeId, by: 'Bob' }), back)
  assert.equal(Object.keys(await shown('many')).length, 4)
  assert.deepEqual(await corrections.list('many'), [])
  const history = await corrections.history('many', 'a.example')
  assert.deepEqual(
    history.map(({ by, undoes, undone_by }) => ({ by, undoes, undone_by })),
    [
      { by: 'Bob', undoes: changeId, undone_by: null },
      { by: BY, undoes: null, undone_by: back.change_id },
    ],
  )
  assert.deepEqual(history[1]!.corrections[0], {
    company_id: 'a.example',
    field: 'hidden',
    before: '',
    value: 'yes',
  })
  await corrections.undo('many', { changeId: back.change_id, by: BY })
  assert.deepEqual(await shown('many'), { 'c.example': 1, 'd.example': 1 })
})

test('an undo is refused after a later correction of the same thing, and names it', async () => {
  await withEvents('later')
  const rename = (name: string) => corrections.correct('later', { companies: ['a.example'], wanted: { name }, by: BY })
  const first = await rename('One')
  const second = await rename('Two')
  await assert.rejects(corrections.undo('later', { changeId: first.change_id, by: BY }), {
    name: 'InputError',
    message: `name of a.example was corrected again later, by change ${second.change_id}: undo that one first`,
  })
  await corrections.undo('later', { changeId: second.change_id, by: BY })
  await corrections.undo('later', { changeId: first.change_id, by: BY })
  await assert.rejects(corrections.undo('later', { changeId: 'none', by: BY }), /has no change "none" of companies/)
})

test('an unknown company is refused with similar ones, and nothing is written', async () => {
  await withEvents('unknown')
  const companies = ['a.example', 'd.exmaple']
  await assert.rejects(corrections.correct('unknown', { companies, wanted: { hidden: true }, by: BY }), {
    name: 'InputError',
    message: /^tenant unknown has no company "d\.exmaple": similar ones are "d\.example", /,
  })
  assert.deepEqual(await corrections.list('unknown'), [])
  await assert.rejects(
    corrections.correct('unknown', { companies: ['a.example'], wanted: {}, by: BY }),
    /nothing to correct is named/,
  )
})

test('a company whose visits a rule hides is known', async () => {
  await withEvents('unseen')
  await clickhouse.client.insert({
    table: 'hidden_events',
    values: [{ tenant_id: 'unseen', event_id: 'h', company_id: 'hidden.example' }],
    format: 'JSONEachRow',
  })
  await corrections.correct('unseen', { companies: ['hidden.example'], wanted: { name: 'Hidden' }, by: BY })
  assert.equal((await corrections.list('unseen'))[0]!.name, 'Hidden')
})

test('random changes and undos give the state of a plain model', async () => {
  const events = await withEvents('model')
  let seed = 7
  const random = (below: number) => {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7f_ff_ff_ff
    return (seed >> 8) % below
  }
  // The model keeps merges as given, and finds the end of each chain anew every time.
  let said = new Map<string, { hidden: boolean; into: string; name: string }>()
  const done: { id: string; before: typeof said }[] = []
  const stateOf = (id: string) => said.get(id) ?? { hidden: false, into: '', name: '' }
  const endOf = (id: string): string => (stateOf(id).into === '' ? id : endOf(stateOf(id).into))
  for (let round = 0; round < 14; round++) {
    const last = done.at(-1)
    if (last !== undefined && random(3) === 0) {
      await corrections.undo('model', { changeId: last.id, by: BY })
      said = last.before
      done.pop()
    } else {
      const id = IDS[random(IDS.length)]!
      const into = IDS[random(IDS.length)]!
      const kind = random(3)
      const next = { ...stateOf(id) }
      if (kind === 0) next.hidden = !next.hidden
      else if (kind === 1) next.name = `Name ${round}`
      else if (endOf(into) !== id) next.into = into
      else next.into = ''
      const wanted =
        kind === 0 ? { hidden: next.hidden } : kind === 1 ? { name: next.name } : { merged_into: next.into }
      const { change_id, companies } = await corrections.correct('model', { companies: [id], wanted, by: BY })
      if (companies > 0) done.push({ id: change_id, before: said })
      said = new Map(said).set(id, next)
    }
    const states = new Map<string, ModelState>(
      IDS.map((id) => [
        id,
        { hidden: stateOf(id).hidden, name: stateOf(id).name, countsFor: stateOf(id).into ? endOf(id) : '' },
      ]),
    )
    const expected = modelCompanies(events, states).map((row) => [row.company_id, row.business_name, row.events])
    const found = await clickhouse.rows<{ company_id: string; business_name: string; events: number }>(
      "SELECT company_id, business_name, events FROM companies WHERE tenant_id = 'model' ORDER BY company_id",
    )
    assert.deepEqual(
      found.map((row) => [row.company_id, row.business_name, row.events]),
      expected,
      JSON.stringify([...states]),
    )
  }
})
