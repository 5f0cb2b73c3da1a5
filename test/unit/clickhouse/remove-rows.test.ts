import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { Hosts } from '../../../src/stores/clickhouse/hosts.ts'
import { removeRows } from '../../../src/stores/clickhouse/remove-rows.ts'

/** A server that removes a part within two checks. Like ClickHouse, it lists a running one only if asked by state. */
class Server {
  readonly states = new Map([
    ['kept', 'Active'],
    ['old', 'Deleting'],
  ])
  looks = 0

  async command({ query }: { query: string }) {
    if (query.includes('DROP PARTITION') && ++this.looks === 2) this.states.delete('old')
  }

  async query({ query }: { query: string }) {
    const shown = query.includes('_state') ? ['Active', 'Outdated', 'Deleting'] : ['Active', 'Outdated']
    const named = /_state IN \(([^)]*)\)/.exec(query)?.[1]
    const isMeant = (state: string) =>
      named?.includes(`'${state}'`) ?? !(query.includes('NOT active') && state === 'Active')
    const parts = [...this.states].filter(([, state]) => shown.includes(state) && isMeant(state))
    const names = query.includes('system.parts') ? parts.map(([name]) => [name]) : []
    return { json: async () => names }
  }
}

test('rows are gone once the files that held them are, whichever process removes those', async () => {
  const server = new Server()
  await removeRows(Hosts.ofOne(server as unknown as ClickHouseClient), 'events', 'true', performance.now() + 10_000)
  assert.deepEqual([...server.states.keys()], ['kept'])
})
