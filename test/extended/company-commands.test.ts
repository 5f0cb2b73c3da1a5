import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { eventInserter } from '../support/event-rows.ts'
import { startTestRedis } from '../support/redis.ts'

const [clickhouse, redis] = await Promise.all([startTestClickHouse(), startTestRedis()])
const env = { REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url }
const insert = eventInserter(clickhouse)
const run = (...args: string[]) => runCommand(args, { env })

/** Runs a command that succeeds. @returns its output */
async function done(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run('company', ...args)
  assert.equal(code, 0, stderr)
  return stdout
}

test('companies are corrected, shown and taken back by commands', async () => {
  const json = async (...args: string[]) => JSON.parse(await done(...args, '--json'))
  await run('tenant', 'create', 'acme')
  await insert(
    'acme',
    ['a.example', 'b.example', 'c.example'].map((id, i) => ({
      ...{ event_id: `e-${i}`, company_id: id, account_id: id, business_name: id, ip: '192.0.2.1' },
      ...{ received_at: Date.UTC(2025, 10, 20), timestamp: Date.UTC(2025, 10, 20) },
    })),
  )
  const shown = async () =>
    (
      await clickhouse.rows<{ name: string; events: number }>(
        "SELECT business_name AS name, events FROM companies WHERE tenant_id = 'acme' ORDER BY name",
      )
    ).map(({ name, events }) => [name, Number(events)])

  assert.match(await done('hide', 'acme', 'a.example', 'b.example'), /^2 companies corrected; change [0-9a-f-]{36}\n$/)
  assert.deepEqual(await shown(), [['c.example', 1]])
  assert.equal(await done('hide', 'acme', 'a.example'), 'nothing to change\n')
  assert.equal((await json('show', 'acme', 'a.example', 'b.example')).companies, 2)
  const merged = await json('merge', 'acme', 'b.example', 'a.example')
  await done('rename', 'acme', 'a.example', 'Alpha')
  assert.deepEqual(await shown(), [
    ['Alpha', 2],
    ['c.example', 1],
  ])
  await done('tag', 'acme', 'a.example', 'lead', 'key account')
  await done('tag', 'acme', 'a.example', 'lead', '--remove')
  await done('note', 'acme', 'a.example', 'met at the fair')
  await done('owner', 'acme', 'a.example', 'Ada')
  const [alpha, beta] = await json('list', 'acme')
  assert.deepEqual(
    [alpha.company_id, alpha.name, alpha.tags, alpha.note, alpha.owner],
    ['a.example', 'Alpha', ['key account'], 'met at the fair', 'Ada'],
  )
  assert.deepEqual([beta.company_id, beta.counts_for], ['b.example', 'a.example'])
  assert.match(await done('list', 'acme'), /a\.example +- +Alpha +- +- +key account +Ada +- +met at the fair/)
  const [newest] = await json('history', 'acme', 'a.example')
  assert.deepEqual([newest.by, newest.corrections[0].field], ['command line', 'owner'])
  await done('undo', 'acme', merged.change_id)
  assert.deepEqual(await shown(), [
    ['Alpha', 1],
    ['b.example', 1],
    ['c.example', 1],
  ])
})

test('intent pages are chosen, shown and taken back by commands, and heat follows for stored events', async () => {
  await run('tenant', 'create', 'warm')
  const nowMs = Date.now()
  const paths = ['https://warm.example/Book%20a-Demo?x=1', '/en/enterprise/', '/enterprise', '/pricing']
  await insert(
    'warm',
    paths.map((url, i) => ({
      ...{ event_id: `w-${i}`, company_id: `c${i}.example`, account_id: `c${i}.example` },
      ...{ received_at: nowMs, timestamp: nowMs, extra: JSON.stringify({ url }) },
    })),
  )
  const interested = async () =>
    (
      await clickhouse.rows<{ company_id: string }>(
        "SELECT company_id FROM company_heat WHERE tenant_id = 'warm' AND intent > 0 ORDER BY 1",
      )
    ).map(({ company_id }) => company_id.slice(0, 2))

  assert.deepEqual(await interested(), ['c0', 'c3'])
  const byDefault = JSON.parse(await done('intent-pages', 'warm', '--json'))
  assert.deepEqual(
    [byDefault.is_default, byDefault.pages[0]],
    [true, { page: 'pricing', read_pages: 1, example: '/pricing' }],
  )
  const set = await done('intent-pages', 'warm', 'https://warm.example/enterprise', '/book-a-demo', 'gone')
  assert.match(set, /^intent pages changed; change [0-9a-f-]{36}\n$/)
  assert.deepEqual(await interested(), ['c0', 'c1', 'c2'])
  assert.equal(await done('intent-pages', 'warm', '/enterprise', '/book-a-demo', 'gone'), 'nothing to change\n')
  const lines = (await done('intent-pages', 'warm')).split('\n').map((line) => line.trim().split(/ {2,}/))
  assert.deepEqual(lines.slice(1, 4), [
    ['/enterprise', '2', '/enterprise'],
    ['/book-a-demo', '1', '/Book%20a-Demo'],
    ['gone', '0', '-'],
  ])
  const [change] = JSON.parse(await done('history', 'warm', '--json'))
  assert.equal(change.corrections[0].value, '/enterprise\n/book-a-demo\ngone')
  await done('undo', 'warm', change.change_id)
  assert.deepEqual(await interested(), ['c0', 'c3'])
  await done('intent-pages', 'warm', 'enterprise')
  assert.deepEqual(await interested(), ['c1', 'c2'])
  await done('intent-pages', 'warm', '--default')
  assert.deepEqual(await interested(), ['c0', 'c3'])

  for (const [args, message] of [
    [['/x?id=1'], /leave out the part from \? or # on/],
    [['/pricing*'], /leave out the \*/],
    [['https://warm.example/'], /has no word in its path/],
    [['x'.repeat(101)], /at most 100 characters/],
    [Array.from({ length: 51 }, (_, i) => `p${i}`), /50/],
    [['demo', '--default'], /not both/],
  ] as const) {
    const { code, stderr } = await run('company', 'intent-pages', 'warm', ...args)
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, message)
  }
  assert.deepEqual(await interested(), ['c0', 'c3'])
})

test('commands set the points of heat and what good companies are, and the list of a segment follows', async () => {
  const weights = async () => JSON.parse(await done('heat-weights', 'warm', '--json'))
  assert.deepEqual(await weights(), { recency: 30, frequency: 30, depth: 15, intent: 25 })
  assert.match(await done('heat-weights', 'warm', '--depth', '0', '--intent', '40'), /^heat weights changed; change /)
  assert.deepEqual(await weights(), { recency: 30, frequency: 30, depth: 0, intent: 40 })
  assert.equal(await done('heat-weights', 'warm', '--intent', '40'), 'nothing to change\n')
  await done('heat-weights', 'warm', '--default')
  assert.match(await done('heat-weights', 'warm'), /depth +15/)

  assert.match(
    await done('fit', 'warm', '--good', 'industry=Software,tag=dream', '--poor', 'country="US"'),
    /^fit changed; change [0-9a-f-]{36}\n$/,
  )
  assert.deepEqual(JSON.parse(await done('fit', 'warm', '--json')), [
    { is: 'good', where: 'industry=Software,tag=dream', label: 'Software, dream' },
    { is: 'poor', where: 'country=US', label: 'United States' },
  ])
  assert.match(await done('fit', 'warm'), /poor +country=US +United States/)
  assert.equal((await run('segment', 'create', 'warm', 'fitting', '--where', 'fit=good,fit=ok')).code, 0)
  const [change] = JSON.parse(await done('history', 'warm', '--json'))
  await done('undo', 'warm', change.change_id)
  assert.equal(await done('fit', 'warm', '--clear'), 'nothing to change\n')

  for (const [args, message] of [
    [['heat-weights', 'warm', '--depth', '50'], /the points must add up to 100, and these are 135/],
    [['heat-weights', 'warm', '--depth', '101'], /--depth "101"/],
    [['heat-weights', 'warm', '--depth', '15', '--default'], /not both/],
    [['fit', 'warm', '--good', 'visits>=3'], /sign 1: visits_min: fit is about what a company is/],
    [['fit', 'warm', '--good', 'tag=a', '--clear'], /not both/],
    [['fit', 'warm', ...Array.from({ length: 21 }, (_, i) => ['--good', `tag=${i}`]).flat()], /20/],
  ] as const) {
    const { code, stderr } = await run('company', ...args)
    assert.equal(code, 2, args.join(' '))
    assert.match(stderr, message)
  }
  const { code, stderr } = await run('segment', 'create', 'warm', 'wrong', '--where', 'fit=great')
  assert.equal(code, 2)
  assert.match(stderr, /fit: must be good, ok, poor, -/)
})

test('a command that cannot correct reports why, and writes nothing', async () => {
  await run('tenant', 'create', 'quiet')
  const before = await clickhouse.rows<{ n: number }>('SELECT count() AS n FROM company_corrections')
  for (const [args, message] of [
    [['hide', 'quiet', 'no.example'], /no\.example/],
    [['hide', 'nobody', 'a.example'], /nobody/],
    [['tag', 'quiet', 'a.example', 'x'.repeat(51)], /50/],
    [['undo', 'quiet', 'never'], /never/],
  ] as const) {
    const { code, stderr } = await run('company', ...args)
    assert.notEqual(code, 0, args.join(' '))
    assert.match(stderr, message)
  }
  assert.deepEqual(await clickhouse.rows('SELECT count() AS n FROM company_corrections'), before)
})

test('a list is imported by a command that shows first what it does', async (t) => {
  await run('tenant', 'create', 'lists')
  await insert(
    'lists',
    ['a.example', 'b.example'].map((id, i) => ({
      ...{ event_id: `l-${i}`, company_id: id, account_id: id, domain: id, business_name: id, ip: '192.0.2.1' },
      ...{ received_at: Date.UTC(2025, 10, 20), timestamp: Date.UTC(2025, 10, 20) },
    })),
  )
  const folder = await mkdtemp(join(tmpdir(), 'lists-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const file = join(folder, 'list.csv')
  await writeFile(file, 'Site;Status;Size\na.example;customer;1.250\nc.example;prospect;5\n;customer;\n')
  const dry = await done('import', 'lists', file, '--dry-run')
  assert.match(dry, /Size +new column \(number\) +1\.250\n/)
  assert.match(dry, /line 2, a\.example: status "" → "customer", own\.size "" → "1250"\n/)
  assert.match(dry, /line 4: the row has neither a domain nor a name\n/)
  assert.match(dry, / 1 {2}of companies that have visited\n.* 1 {2}of companies that have not visited yet/)
  assert.match(dry, /this would change 2 companies, 4 values; without --dry-run it does\n$/)
  assert.match(await done('import', 'lists', file), /\n2 companies, 4 values changed; change [0-9a-f-]{36}\n$/)
  const again = JSON.parse(await done('import', 'lists', file, '--json'))
  assert.deepEqual([again.applied, again.values, again.matched, again.waiting, again.unused], [false, 0, 1, 1, 1])
  await done('status', 'lists', 'b.example', 'Partner')
  await done('set', 'lists', 'b.example', 'size', '7')
  assert.match(await done('columns', 'lists'), /size +Size +number +3\n/)
  const listed = JSON.parse(await done('list', 'lists', '--json'))
  assert.deepEqual(
    listed.map(({ company_id, status, own }: { company_id: string; status: string; own: object }) => [
      company_id,
      status,
      own,
    ]),
    [
      ['a.example', 'customer', { size: '1250' }],
      ['b.example', 'partner', { size: '7' }],
      ['c.example', 'prospect', { size: '5' }],
    ],
  )
  assert.match(await done('columns', 'lists', '--remove', 'size'), /^3 companies corrected; change /)
  await writeFile(file, 'x;y\n1;2\n')
  const { code, stderr } = await run('company', 'import', 'lists', file)
  assert.equal(code, 2)
  assert.match(stderr, /say which column is the domain or the name of the company/)
})
