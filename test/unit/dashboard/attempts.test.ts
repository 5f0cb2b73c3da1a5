import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Attempts, clientOf } from '../../../src/dashboard/server/attempts.ts'

test('20 failures in a minute are free, for each client separately', () => {
  let nowMs = 1_000_000
  const failed = new Attempts({ now: () => nowMs })
  const add = (client: string, count: number) => Array.from({ length: count }, () => failed.add(client))
  assert.deepEqual(add('a', 20), Array(20).fill(0))
  nowMs += 15_000
  assert.deepEqual(add('a', 2), [45, 45])
  assert.equal(failed.add('b'), 0)
  nowMs += 45_000
  assert.equal(failed.add('a'), 0)
})

test('the number of remembered clients is limited', () => {
  const failed = new Attempts({ now: () => 1_000_000 })
  for (let i = 0; i < 21; i++) failed.add('first')
  for (let i = 0; i < 10_000; i++) failed.add(`other ${i}`)
  assert.equal(failed.add('first'), 0)
})

test('a client is an address or a /64; after a local proxy, the last address that it names', () => {
  assert.equal(clientOf('203.0.113.7', '198.51.100.9'), '203.0.113.7', 'from elsewhere a header says nothing')
  assert.equal(clientOf('127.0.0.1', '198.51.100.9, 203.0.113.7'), '203.0.113.7')
  assert.equal(clientOf('0000:0000:0000:0000:0000:ffff:7f00:0001', '203.0.113.7'), '203.0.113.7')
  assert.equal(clientOf('::1', '203.0.113.7'), '203.0.113.7')
  for (const entry of [
    '203.0.113.7:5678',
    '198.51.100.9, 203.0.113.7:1',
    '::ffff:203.0.113.7',
    '[::ffff:203.0.113.7]:80',
  ]) {
    assert.equal(clientOf('127.0.0.1', entry), '203.0.113.7', entry)
  }
  for (const entry of ['[2001:db8:1:2::1]:443', '[2001:db8:1:2::1]', '2001:db8:1:2::1']) {
    assert.equal(clientOf('127.0.0.1', entry), '2001:db8:1:2::/64', entry)
  }
  assert.equal(clientOf('127.0.0.1', '203.0.113.7:http'), '127.0.0.1')
  assert.equal(clientOf('127.0.0.1', ''), '127.0.0.1')
  assert.equal(clientOf('127.0.0.1', 'unknown'), '127.0.0.1')
  assert.equal(clientOf('2001:db8:1:2::3', ''), clientOf('2001:0db8:0001:0002:ffff::1', ''))
  assert.notEqual(clientOf('2001:db8:1:2::3', ''), clientOf('2001:db8:1:3::3', ''))
})
