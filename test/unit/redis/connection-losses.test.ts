import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Cluster } from 'ioredis'
import { assertSameConnection, countLossesOf, lossesOf } from '../../../src/stores/redis/connection-losses.ts'

/** Two ranges of a cluster, as the client keeps them. */
const answer = (first: string, second: string) => {
  const lists = [
    [first, 'replica:1'],
    [second, 'replica:2'],
  ]
  return Array.from({ length: 8 }, (_, slot) => lists[slot < 4 ? 0 : 1]!)
}

function cluster(): Cluster {
  const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
  countLossesOf(client)
  client.slots = answer('a:1', 'b:1')
  return client
}

test('the same masters in a new answer are no loss, and another master is one', () => {
  const client = cluster()
  const losses = lossesOf(client)
  client.slots = answer('a:1', 'b:1')
  assert.equal(lossesOf(client), losses)
  client.slots = answer('a:1', 'c:1')
  assert.equal(lossesOf(client), losses + 1)
  assert.throws(() => assertSameConnection(client, losses), { name: 'UnavailableError' })
})

test('a master that answers MOVED is a loss: the client changes the list of its slots in place', () => {
  const client = cluster()
  const losses = lossesOf(client)
  client.slots[5]![0] = 'replica:2'
  assert.equal(lossesOf(client), losses + 1)
  client.slots = answer('a:1', 'replica:2')
  assert.equal(lossesOf(client), losses + 1, 'the next answer says the same')
})

test('the first answer is no loss', () => {
  const client = new Cluster([{ host: '127.0.0.1', port: 1 }], { lazyConnect: true })
  countLossesOf(client)
  const losses = lossesOf(client)
  client.slots = answer('a:1', 'b:1')
  assert.equal(lossesOf(client), losses)
})
