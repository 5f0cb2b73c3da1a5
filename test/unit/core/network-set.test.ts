import assert from 'node:assert/strict'
import { BlockList } from 'node:net'
import { test } from 'node:test'
import { parseAddress } from '../../../src/pipeline/event/address.ts'
import { NetworkSet } from '../../../src/pipeline/event/network-set.ts'

test('a list has the addresses of its networks, as the block list of Node has them', () => {
  const networks = [
    '0.0.0.0/0',
    '17.0.0.0/8',
    '17.0.0.1',
    '172.16.0.0/12',
    '255.255.255.254/31',
    '::/0',
    '::/127',
    'fe80::/10',
    '2001:db8::/33',
  ]
  const addresses = [
    '0.0.0.0',
    '17.0.0.1',
    '17.255.255.255',
    '18.0.0.0',
    '172.15.255.255',
    '172.31.255.255',
    '172.32.0.0',
    '255.255.255.255',
  ]
  addresses.push('::', '::1', '::2', 'fe7f::1', 'febf::1', 'fec0::1', '2001:db8:7fff::', '2001:db8:8000::', 'ffff::')
  for (const network of networks) {
    const list = new NetworkSet()
    assert.ok(list.add(network))
    const [first, bits] = network.split('/')
    const family = first!.includes(':') ? 'ipv6' : 'ipv4'
    const nodes = new BlockList()
    nodes.addSubnet(first!, Number(bits ?? 32), family)
    for (const text of addresses) {
      const right = text.includes(':') === (family === 'ipv6') && nodes.check(text, family)
      assert.equal(list.has(parseAddress(text)!), right, `${network} ${text}`)
    }
  }
})

test('what is no network is refused', () => {
  for (const text of ['', '10.0.0.0/33', '::/129', '10.0.0.0/', '10.0.0.0/-1', '10.0.0.0/8x', 'localhost']) {
    assert.equal(new NetworkSet().add(text), false, text)
  }
})
