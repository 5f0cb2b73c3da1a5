import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { checked, type DiskState } from '../../../src/stores/clickhouse/failed-writes.ts'

const FINE: DiskState = { failed: 0, start: 'first', free: 1e12 }

/** A client whose statements succeed, and a server with the state that a test sets. */
function fake() {
  const server = { state: FINE, done: [] as string[], meanwhile: () => {} }
  const run = async (what: string) => {
    server.done.push(what)
    server.meanwhile()
  }
  const client = {
    insert: ({ table }: { table: string }) => run(table),
    command: ({ query }: { query: string }) => run(query),
    close: async () => {},
  } as unknown as ClickHouseClient
  return { server, client: checked(client, async () => server.state) }
}

const insert = (client: ClickHouseClient) => client.insert({ table: 'events', values: [] })

test('an insert after a failed write is no insert', async () => {
  const { server, client } = fake()
  await insert(client)
  server.meanwhile = () => {
    server.state = { ...FINE, failed: 1 }
  }
  await assert.rejects(insert(client), { name: 'UnavailableError', message: /could not write to its disk/ })
  await assert.rejects(client.command({ query: 'DELETE FROM events WHERE 1' }), /could not write to its disk/)
})

test('an insert while the server was started again is no insert, and the next one is', async () => {
  const { server, client } = fake()
  server.meanwhile = () => {
    server.state = { ...FINE, start: 'second' }
  }
  await assert.rejects(insert(client), { name: 'UnavailableError', message: /was started again meanwhile/ })
  await insert(client)
})

test('a definition needs free space, and a removal does not', async () => {
  const { server, client } = fake()
  server.state = { ...FINE, free: 1_000 }
  for (const query of ['CREATE TABLE t (a Int8)', ' alter table t ADD COLUMN b Int8', 'RENAME TABLE t TO u']) {
    await assert.rejects(client.command({ query }), { name: 'UnavailableError', message: /1000 bytes are free/ })
  }
  assert.deepEqual(server.done, [])
  const removals = [
    'DROP TABLE t',
    'ALTER TABLE t DROP PARTITION ID 1',
    'ALTER TABLE t DELETE WHERE 1',
    'TRUNCATE TABLE t',
  ]
  for (const query of removals) await client.command({ query })
  assert.deepEqual(server.done, removals)
})
