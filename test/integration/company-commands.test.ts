import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { eventInserter } from '../support/event-rows.ts'
import { startTestRedis } from '../support/redis.ts'

const [clickhouse, redis] = await Promise.all([startTestClickHouse(), startTestRedis()])
const env = { REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url }
const run = (...args: string[]) => runCommand(args, { env })

test('companies are corrected, shown and taken back by commands', async () => {
  const done = async (...args: string[]) => {
    const { code, stdout, stderr } = await run('company', ...args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const json = async (...args: string[]) => JSON.parse(await done(...args, '--json'))
  await run('tenant', 'create', 'acme')
  await eventInserter(clickhouse)(
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
  assert.match(await done('list', 'acme'), /a\.example +- +Alpha +- +key account +Ada +met at the fair/)
  const [newest] = await json('history', 'acme', 'a.example')
  assert.deepEqual([newest.by, newest.corrections[0].field], ['command line', 'owner'])
  await done('undo', 'acme', merged.change_id)
  assert.deepEqual(await shown(), [
    ['Alpha', 1],
    ['b.example', 1],
    ['c.example', 1],
  ])
})

test('a command that cannot correct says what is wrong, and writes nothing', async () => {
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
