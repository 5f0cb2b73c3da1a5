import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ReservedRanges } from '../../../src/enrichment/addresses/reserved.ts'
import { address } from '../../support/enrichment-data.ts'

const reserved = new ReservedRanges()

test('private, loopback, link-local, multicast and other special-purpose addresses are reserved', () => {
  for (const ip of [
    '0.0.0.0',
    '10.1.2.3',
    '100.64.0.1',
    '100.127.255.255',
    '127.0.0.1',
    '169.254.1.1',
    '172.16.0.1',
    '172.31.255.255',
    '192.0.0.1',
    '192.0.0.170',
    '192.0.2.1',
    '192.88.99.1',
    '192.168.1.1',
    '198.18.0.1',
    '198.19.255.255',
    '198.51.100.7',
    '203.0.113.9',
    '224.0.0.1',
    '239.255.255.255',
    '240.0.0.1',
    '255.255.255.255',
    '::',
    '::1',
    '::ffff:10.0.0.1',
    '::192.0.2.1',
    '64:ff9b:1::1',
    '100::1',
    '2001:2::1',
    '2001:10::1',
    '2001:db8::1',
    '3fff::1',
    '3fff:fff:ffff::1',
    '5f00::1',
    'fc00::1',
    'fd12:3456::1',
    'fe80::1',
    'febf::1',
    'fec0::1',
    'ff02::1',
  ]) {
    assert.ok(reserved.find(address(ip)), ip)
  }
})

test('the globally reachable exceptions and the neighbours of reserved blocks are not', () => {
  for (const ip of [
    '1.0.0.0',
    '9.255.255.255',
    '11.0.0.0',
    '100.63.255.255',
    '100.128.0.0',
    '172.15.255.255',
    '172.32.0.0',
    '192.0.0.9',
    '192.0.0.10',
    '192.0.1.0',
    '192.0.3.0',
    '192.31.196.1',
    '192.52.193.1',
    '192.167.255.255',
    '192.175.48.1',
    '198.17.255.255',
    '198.20.0.0',
    '223.255.255.255',
    '::ffff:8.8.8.8',
    '64:ff9b::808:808',
    '2001:1::1',
    '2001:1::2',
    '2001:3::1',
    '2001:4:112::1',
    '2001:20::1',
    '2001:30::1',
    '2001:200::1',
    '2001:4860:4860::8888',
    '2002:808:808::1',
    '2606:4700::1111',
    '2620:4f:8000::1',
  ]) {
    assert.equal(reserved.find(address(ip)), undefined, ip)
  }
})

test('an address with an embedded IPv4 address is reserved when that one is', () => {
  for (const [ip, network] of [
    ['64:ff9b::10.1.2.3', '10.0.0.0/8'],
    ['64:ff9b::c0a8:1', '192.168.0.0/16'],
    ['2002:7f00:1::1', '127.0.0.0/8'],
    ['2002:c000:204::', '192.0.2.0/24'],
    // Inverted: 10.0.0.1, and a public server says nothing about the client.
    ['2001:0:808:808:0:ffff:f5ff:fffe', '10.0.0.0/8'],
    ['::ffff:169.254.0.1', '169.254.0.0/16'],
  ] as const) {
    assert.equal(reserved.find(address(ip))?.network, network, ip)
  }
  for (const ip of ['64:ff9b::8.8.8.8', '2002:808:808::a00:1', '2001:0:a00:1:0:ffff:f7f7:f7f7', '::ffff:8.8.8.8']) {
    assert.equal(reserved.find(address(ip)), undefined, ip)
  }
  assert.equal(reserved.find(address('64:ff9b:1::8.8.8.8'))?.name, 'local-use translation')
  assert.equal(reserved.find(address('64:ff9b:0:1::8.8.8.8'))?.name, 'unallocated')
})

test('IPv6 that IANA has not allocated is reserved, inside and outside global unicast', () => {
  for (const [ip, network] of [
    ['::1:0:0:1', '::/3'],
    ['2000::1', '2000::/16'],
    ['2001:1000::1', '2001:1000::/23'],
    ['2004::1', '2004::/14'],
    ['2500::1', '2500::/8'],
    ['3fff:1000::1', '3000::/4'],
    ['4000::1', '4000::/2'],
    ['fe00::1', '8000::/1'],
  ] as const) {
    assert.deepEqual(reserved.find(address(ip)), { network, name: 'unallocated' }, ip)
  }
  for (const ip of [
    '2003::1',
    '2400::1',
    '2410::1',
    '260f:ffff::1',
    '2630::1',
    '2800::1',
    '2a0f::1',
    '2a10::1',
    '2c0f::1',
  ]) {
    assert.equal(reserved.find(address(ip)), undefined, ip)
  }
})
