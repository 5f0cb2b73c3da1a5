import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readNameServers } from '../../../src/config/name-servers.ts'

test('name servers are addresses with or without a port', () => {
  assert.deepEqual(readNameServers('192.0.2.53, 192.0.2.54:5353,2001:db8::53,[2001:db8::54],[2001:db8::55]:5353'), [
    '192.0.2.53',
    '192.0.2.54:5353',
    '2001:db8::53',
    '[2001:db8::54]',
    '[2001:db8::55]:5353',
  ])
  for (const wrong of [
    '',
    'dns.example.com',
    '192.0.2.53:0',
    '192.0.2.53:65536',
    '[192.0.2.53]',
    '192.0.2.53,,',
    '1:2',
  ]) {
    assert.throws(
      () => readNameServers(wrong),
      { name: 'InputError', message: /is not a name server: use ADDRESS/ },
      wrong,
    )
  }
})
