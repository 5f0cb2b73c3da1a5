import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { connectRedis } from '../../../src/stores/redis/connect.ts'

test('a process that uses Redis looks up string methods as fast as any other', () => {
  setFlagsFromString('--allow-natives-syntax')
  const isFast = new Function('object', 'return %HasFastProperties(object)')
  connectRedis('redis://127.0.0.1:1', { name: 'test', kind: 'request' }).disconnect()
  assert.equal(isFast(String.prototype), true)
})

test('a URL cannot set client options that guarantees depend on', () => {
  const use = { name: 'test', kind: 'request' } as const
  for (const option of [
    'maxRetriesPerRequest=1',
    'enableAutoPipelining=true',
    'keyPrefix=p:',
    'family=4&commandTimeout=1',
  ]) {
    assert.throws(() => connectRedis(`redis://127.0.0.1:1/0?${option}`, use), {
      name: 'InputError',
      message: /^REDIS_URL: options must be among family, db, username, password, waitReplicas, got \w+$/,
    })
  }
  connectRedis('redis://127.0.0.1:1/0?family=4', use).disconnect()
})

test('a Redis that loads its data is asked again soon, whatever time it announces', {
  timeout: 20_000,
}, async (t) => {
  const bulk = (text: string) => `$${text.length}\r\n${text}\r\n`
  let asked = 0
  const server = createServer((socket) => {
    socket.on('error', () => {})
    socket.on('data', (data) => {
      for (const command of data
        .toString()
        .split(/\*\d+\r\n/)
        .slice(1)) {
        const isLoading = /\binfo\b/i.test(command) && ++asked < 4
        socket.write(
          /\binfo\b/i.test(command) ? bulk(`loading:${isLoading ? 1 : 0}\r\nloading_eta_seconds:60\r\n`) : '+OK\r\n',
        )
      }
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connectRedis(`redis://127.0.0.1:${port}`, { name: 'test', kind: 'request' })
  t.after(() => {
    client.disconnect()
    server.close()
  })
  await once(client, 'ready')
  assert.equal(asked, 4)
})
