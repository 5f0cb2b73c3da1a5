import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ClickHouseClient } from '@clickhouse/client'
import { removeRows } from '../../../src/stores/clickhouse/remove-rows.ts'

/** A server that removes a part in two looks. As ClickHouse does, it shows one under way only to those who name its state. */
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

test('rows are gone when the files that held them are, whoever removes those', async () => {
  const server = new Server()
  await removeRows(server as unknown as ClickHouseClient, 'events', 'true', performance.now() + 10_000)
  assert.deepEqual([...server.states.keys()], ['kept'])
})
