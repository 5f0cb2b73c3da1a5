import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { connectClickHouse } from '../../../src/stores/clickhouse/client.ts'

test('every statement makes a result that reaches a limit an error, not a shorter result', async (t) => {
  const asked: URLSearchParams[] = []
  const server = createServer((request, response) => {
    asked.push(new URL(request.url!, 'http://x').searchParams)
    response.end('[1]\n')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connectClickHouse(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
    application: 'test',
  })
  t.after(async () => {
    await client.close()
    server.close()
  })
  await (await client.query({ query: 'SELECT 1', format: 'JSONCompactEachRow' })).json()
  for (const name of ['result_overflow_mode', 'read_overflow_mode', 'timeout_overflow_mode']) {
    assert.equal(asked[0]!.get(name), 'throw')
  }
})
