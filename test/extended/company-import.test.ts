import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { CompanyCorrections } from '../../src/companies/corrections/corrections.ts'
import { companiesCsv } from '../../src/companies/csv.ts'
import { CompanyImports } from '../../src/companies/imports/imports.ts'
import { readList } from '../../src/companies/imports/list-file.ts'
import { parseWhere } from '../../src/companies/where.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventInserter } from '../support/event-rows.ts'

const clickhouse = await startTestClickHouse()
const insert = eventInserter(clickhouse)
const NOW_MS = Date.UTC(2025, 10, 20)
const clock = { now: () => NOW_MS }
const corrections = new CompanyCorrections(
  () => clickhouse.client,
  clock,
  (_, work) => work(),
)
const imports = new CompanyImports(() => clickhouse.client, corrections)
const BY = 'Ada'

function companiesOf(t: { after(end: () => Promise<void>): void }): ClickHouseCompanies {
  const client = connectReading(clickhouse.url, 'test')
  t.after(() => client.close())
  return new ClickHouseCompanies(new QuestionReader(client), clock)
}

const visit = (company: string, row: EventRow = {}): EventRow => ({
  ...{ event_id: `${company} ${row.received_at ?? ''}`, company_id: company, account_id: company, domain: company },
  ...{ business_name: '', org_name: '', received_at: NOW_MS, timestamp: NOW_MS, ...row },
})

async function* bytes(text: string) {
  yield Buffer.from(text)
}
type Options = Partial<Parameters<CompanyImports['import']>[2]>
const apply = async (tenant: string, text: string, options: Options = {}) =>
  await imports.import(tenant, await readList('list.csv', bytes(text)), { by: BY, ...options })
const rowsOfLog = async (tenant: string) =>
  (
    await clickhouse.rows<{ n: number }>(
      `SELECT toUInt32(count()) AS n FROM company_corrections WHERE tenant_id = '${tenant}'`,
    )
  )[0]!.n
const facts = async (tenant: string) =>
  Object.fromEntries(
    (
      await clickhouse.rows<{ company_id: string; facts: unknown }>(
        `SELECT company_id, (status, owner, tags, own) AS facts FROM corrected_companies WHERE tenant_id = '${tenant}' ORDER BY company_id`,
      )
    ).map(({ company_id, facts }) => [company_id, facts]),
  )
const counts = ({ matched, waiting, unused, changed, values, cleared }: Awaited<ReturnType<typeof apply>>) => ({
  ...{ matched, waiting, unused, changed, values, cleared },
})

const LIST =
  'Website;Company;Status;Owner;Tags;Employees;Renewal\n' +
  'https://www.a.example/about;A;Customer;Ada;key account, EU;1.250;30.11.2026\n' +
  'ada@b.example;;open deal;;;;\n' +
  ';Cee Holdings;partner;;;~50;\n' +
  'soon.example;Soon;prospect;Ada;;10;\n' +
  ';Nobody;customer;;;;\n' +
  ';Twin;customer;;;;\n' +
  'A.EXAMPLE;again;partner;;;;\n' +
  'localhost;;customer;;;;\n'

test('a list changes companies that visited, keeps others for their first visit, and says why rows are left out', async () => {
  await insert('acme', [
    visit('a.example', { business_name: 'A' }),
    visit('b.example', { business_name: 'B' }),
    visit('cee-holdings', { business_name: 'Cee', org_name: 'Cee Holdings', domain: '' }),
    visit('twin.example', { business_name: 'Twin' }),
    visit('twin.test', { business_name: 'twin' }),
  ])
  const map = { Employees: 'number' }
  const dry = await apply('acme', LIST, { dry_run: true, map })
  assert.deepEqual([dry.applied, dry.change_id, await rowsOfLog('acme')], [false, null, 0], 'a dry run stores nothing')
  assert.deepEqual(counts(dry), { matched: 3, waiting: 1, unused: 4, changed: 4, values: 10, cleared: 0 })
  assert.deepEqual(
    dry.unused_rows.map(({ line, reason }) => [line, reason]),
    [
      [6, 'no company with this name has visited yet. Add its domain, and it gets its facts with its first visit'],
      [7, 'several companies have this name: twin.example, twin.test. Add the domain'],
      [8, 'line 2 is this company already: a.example'],
      [9, '“localhost” is no domain'],
    ],
  )
  assert.deepEqual(dry.problems, [{ line: 4, column: 'Employees', reason: '“~50” is no number' }])

  const done = await apply('acme', LIST, { map })
  const { applied: _, change_id: __, ...shown } = done
  const { applied: ___, change_id: ____, ...expected } = dry
  assert.deepEqual(shown, expected, 'what is applied is what was shown')
  assert.deepEqual(await facts('acme'), {
    'a.example': ['customer', 'Ada', ['EU', 'key account'], { employees: '1250', renewal: '2026-11-30' }],
    'b.example': ['open deal', '', [], {}],
    'cee-holdings': ['partner', '', [], {}],
    'soon.example': ['prospect', 'Ada', [], { employees: '10' }],
  })
  const size = await rowsOfLog('acme')
  const again = await apply('acme', LIST)
  assert.deepEqual(
    [again.applied, again.change_id, counts(again).values, await rowsOfLog('acme')],
    [false, null, 0, size],
  )
  const changed = await apply('acme', LIST.replace('open deal', 'customer'))
  assert.deepEqual([changed.changed, changed.values], [1, 1], 'a changed list changes only what changed')
  assert.deepEqual(changed.changed_rows, [
    {
      ...{ line: 3, key: 'ada@b.example', company_id: 'b.example', business_name: 'B', name: 'B', reason: '' },
      changes: [{ field: 'status', before: 'open deal', value: 'customer' }],
    },
  ])

  await insert('acme', [visit('soon.example', { business_name: 'Soon' })])
  const [soon] = await clickhouse.rows(
    "SELECT status, owner, own FROM companies WHERE tenant_id = 'acme' AND company_id = 'soon.example'",
  )
  assert.deepEqual(soon, { status: 'prospect', owner: 'Ada', own: { employees: '10' } }, 'with its first visit')

  await corrections.undo('acme', { changeId: changed.change_id!, by: BY })
  await corrections.undo('acme', { changeId: done.change_id!, by: BY })
  assert.deepEqual(
    new Set(Object.values(await facts('acme')).map((each) => JSON.stringify(each))),
    new Set(['["","",[],{}]']),
  )
  assert.deepEqual(await corrections.columns('acme'), [], 'an undone list leaves no column')
})

test('empty cells and absent columns leave what is there; empty cells clear when the person says so', async () => {
  await insert('clear', [visit('a.example'), visit('b.example')])
  await apply('clear', 'domain,status,owner,tags,score\na.example,customer,Ada,x,5\nb.example,partner,Bo,y,6\n')
  assert.equal((await apply('clear', 'domain,status\na.example,\n')).values, 0)
  assert.equal((await apply('clear', 'domain,tags\na.example,z\n')).values, 1)
  const done = await apply('clear', 'domain,status,tags,score\na.example,,n/a,-\n', { clear_empty: true })
  assert.deepEqual([done.values, done.cleared], [3, 3])
  assert.deepEqual(await facts('clear'), {
    'a.example': ['', 'Ada', [], {}],
    'b.example': ['partner', 'Bo', ['y'], { score: '6' }],
  })
})

test('rows of merged and renamed companies count for the company that people made of them', async () => {
  await insert('merged', [
    visit('old.example', { business_name: 'Old' }),
    visit('new.example'),
    visit('slug-inc', { domain: 'slug.example' }),
  ])
  const correct = (company: string, wanted: object) =>
    corrections.correct('merged', { companies: [company], wanted, by: BY })
  await correct('old.example', { merged_into: 'new.example' })
  await correct('slug-inc', { name: 'Given name' })
  const done = await apply('merged', 'domain,name,status\nold.example,,customer\n,given NAME,partner\n')
  assert.deepEqual(counts(done), { matched: 2, waiting: 0, unused: 0, changed: 2, values: 2, cleared: 0 })
  assert.equal((await apply('merged', 'domain,name,status\nslug.example,,partner\n,old,customer\n')).values, 0)
  const held = await facts('merged')
  assert.deepEqual(
    [held['new.example'], held['slug-inc']],
    [
      ['customer', '', [], {}],
      ['partner', '', [], {}],
    ],
  )
  await corrections.undo('merged', { changeId: done.change_id!, by: BY })
})

test('an undone list keeps a column that others use, and a removed column comes back by an undo', async () => {
  await insert('columns', [visit('a.example'), visit('b.example')])
  const first = await apply('columns', 'domain,Score\na.example,1\n')
  await apply('columns', 'domain,score\nb.example,2\n')
  assert.deepEqual(await corrections.columns('columns'), [
    { key: 'score', name: 'Score', type: 'number', companies: 2 },
  ])
  await corrections.undo('columns', { changeId: first.change_id!, by: BY })
  assert.deepEqual(await corrections.columns('columns'), [
    { key: 'score', name: 'Score', type: 'number', companies: 1 },
  ])
  const removed = await corrections.removeColumn('columns', { key: 'score', by: BY })
  assert.deepEqual([removed.companies, await corrections.columns('columns')], [1, []])
  await assert.rejects(corrections.removeColumn('columns', { key: 'score', by: BY }), /there is no own column "score"/)
  await corrections.undo('columns', { changeId: removed.change_id, by: BY })
  const edited = await corrections.correct('columns', {
    companies: ['a.example'],
    wanted: { own: { score: '1,500' }, status: 'Partner' },
    by: BY,
  })
  assert.deepEqual(await facts('columns'), {
    'a.example': ['partner', '', [], { score: '1500' }],
    'b.example': ['', '', [], { score: '2' }],
  })
  const wrong = (own: Record<string, string>) =>
    corrections.correct('columns', { companies: ['a.example'], wanted: { own }, by: BY })
  await assert.rejects(wrong({ score: 'many' }), { message: 'Score: “many” is no number' })
  await assert.rejects(wrong({ size: '1' }), /there is no own column "size": there are score/)
  const change = (await corrections.history('columns')).find(({ change_id }) => change_id === edited.change_id)
  assert.deepEqual([change!.companies, change!.corrections.map(({ field }) => field)], [1, ['own:score', 'status']])
  assert.deepEqual(await corrections.settingHistory('columns', 'intent_pages'), [], 'they are no intent pages')
})

test('facts are in lists, filters, segments, exports and the state of a past moment', async (t) => {
  await insert('lists', [visit('a.example'), visit('b.example'), visit('c.example')])
  await apply(
    'lists',
    'domain,status,Revenue,Account manager,Renewal\na.example,customer,1000000,Ada,2026-12-01\nb.example,open deal,5,Bo,2027-01-01\n',
  )
  const companies = companiesOf(t)
  const ids = async (where: string) =>
    (
      await companies.part('lists', parseWhere(where), { after: '', updatedSinceMs: undefined, limit: 9 })
    ).companies.map(({ company_id }) => company_id[0])
  const cases: readonly (readonly [where: string, found: string])[] = [
    ['status=customer', 'a'],
    ['status=-', 'c'],
    ['status!=customer', 'bc'],
    ['own.revenue>=1000000', 'a'],
    ['own.revenue<1000000', 'b'],
    ['own.revenue>1,own.revenue<=5', 'b'],
    ['own.revenue=1000000.0', 'a'],
    ['own.account_manager=Ada,own.account_manager=Bo', 'ab'],
    ['own.account_manager!=Ada', 'bc'],
    ['own.account_manager~AD', 'a'],
    ['own.account_manager=-', 'c'],
    ['own.account_manager=-,own.account_manager=Bo', 'bc'],
    ['own.account_manager!=-', 'ab'],
    ['own.renewal>=2026-12-01,own.renewal<2027-01-01', 'a'],
    ['own.renewal>=5', ''],
    ['own.unknown=x', ''],
    ['status=customer,own.revenue>=2000000', ''],
  ]
  for (const [where, found] of cases) assert.equal((await ids(where)).join(''), found, where)
  const { rows } = await companies.page('lists', { sort: 'name', direction: 'asc' })
  assert.deepEqual(
    rows.map(({ status, own }) => [status, own]),
    [
      ['customer', { revenue: '1000000', account_manager: 'Ada', renewal: '2026-12-01' }],
      ['open deal', { revenue: '5', account_manager: 'Bo', renewal: '2027-01-01' }],
      ['', {}],
    ],
  )
  const one = await companies.company('lists', 'a.example', 30)
  assert.deepEqual([one!.company.status, one!.company.own.revenue], ['customer', '1000000'])
  const { status } = await companies.choices('lists')
  assert.deepEqual(status.map(({ value }) => value).sort(), ['', 'customer', 'open deal'])
  const left = new AbortController().signal
  let csv = ''
  const stream = companies.rows('lists', { sort: 'name', direction: 'asc' }, left)
  for await (const text of companiesCsv(stream, () => companies.ownColumns('lists'), ['events', 'heat'])) csv += text
  const [head, first] = csv.split('\r\n')
  assert.match(
    head!,
    /,Status,Hidden,Id,First channel,First campaign,Last channel,Last campaign,Account manager,Renewal,Revenue$/,
  )
  assert.match(first!, /,customer,,a\.example,,,,,Ada,2026-12-01,1000000$/)
})

test('20,000 rows are one change: whole or not at all, and undone as a whole', async () => {
  await insert('many', [visit('a.example')])
  const lines = Array.from({ length: 20_000 }, (_, i) => `c${i}.example,customer,Ada,${i}`)
  const text = `domain,status,owner,size\n${lines.join('\n')}\n`
  const done = await apply('many', text)
  assert.deepEqual([done.waiting, done.values], [20_000, 60_000])
  const [stored] = await clickhouse.rows(
    "SELECT toUInt32(count()) AS n, toUInt32(uniqExact(_part)) AS parts FROM company_corrections WHERE tenant_id = 'many'",
  )
  assert.deepEqual(stored, { n: 60_001, parts: 1 }, 'one block')
  assert.equal((await apply('many', text)).values, 0)
  const [change] = await corrections.history('many')
  assert.deepEqual([change!.companies, change!.corrections.length], [20_000, 20])
  const back = await corrections.undo('many', { changeId: done.change_id!, by: BY })
  assert.equal(back.companies, 20_000)
  assert.deepEqual(await corrections.columns('many'), [])
})

test('an import that breaks off in the middle stores nothing, and the same one again does it all', async () => {
  await insert('broken', [visit('a.example')])
  const text = `domain,status\n${Array.from({ length: 5_000 }, (_, i) => `c${i}.example,customer`).join('\n')}\n`
  const { client } = clickhouse
  let insertions = 0
  const breaking = Object.assign(Object.create(client), {
    insert: (params: Parameters<typeof client.insert>[0]) => {
      insertions++
      const left = new AbortController()
      async function* some() {
        let pieces = 0
        for await (const piece of params.values as AsyncIterable<object>) {
          if (pieces++ === 4_000) {
            left.abort()
            throw new Error('killed')
          }
          yield piece
        }
      }
      return client.insert({
        ...params,
        values: Readable.from(some(), { objectMode: true }),
        abort_signal: left.signal,
      })
    },
  })
  const changeId = '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11'
  const ofKilled = new CompanyCorrections(
    () => breaking,
    clock,
    (_, work) => work(),
  )
  const list = await readList('list.csv', bytes(text))
  const options = { by: BY, change_id: changeId }
  await assert.rejects(new CompanyImports(() => breaking, ofKilled).import('broken', list, options))
  assert.equal(insertions, 1)
  assert.equal(await rowsOfLog('broken'), 0)
  const done = await imports.import('broken', list, options)
  assert.deepEqual([done.change_id, done.values, await rowsOfLog('broken')], [changeId, 5_000, 5_000])
  const repeat = await imports.import('broken', list, options)
  assert.deepEqual([repeat.applied, repeat.change_id, await rowsOfLog('broken')], [true, changeId, 5_000])
})
