import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from '../../../src/pipeline/event/address.ts'

const accepted: [input: string, canonical: string][] = [
  ['8.8.8.8', '8.8.8.8'],
  ['0.0.0.0', '0.0.0.0'],
  ['255.255.255.255', '255.255.255.255'],
  ['::', '::'],
  ['::1', '::1'],
  ['2001:DB8::1', '2001:db8::1'],
  ['2001:0db8:0000:0000:0001:0000:0000:0001', '2001:db8::1:0:0:1'],
  ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
  ['1:0:0:2:0:0:0:3', '1:0:0:2::3'],
  ['fe80::1', 'fe80::1'],
  ['::ffff:8.8.4.4', '8.8.4.4'],
  ['::FFFF:0808:0404', '8.8.4.4'],
  ['64:ff9b::192.0.2.33', '64:ff9b::c000:221'],
  ['1:2:3:4:5:6:7::', '1:2:3:4:5:6:7:0'],
]

const refused = [
  '',
  ' 8.8.8.8',
  '8.8.8',
  '8.8.8.8.8',
  '8.8.8.256',
  '08.8.8.8',
  '8.8.8.8/32',
  '8.8.8.8:80',
  '0x8.8.8.8',
  '134744072',
  '８.8.8.8',
  ':::',
  '1::2::3',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7:8::',
  '12345::',
  'fe80::1%eth0',
  '[::1]',
  '::8.8.8',
  '8.8.8.8::',
  'g::',
]

test('addresses are read into their canonical text', () => {
  for (const [input, canonical] of accepted) assert.equal(parseAddress(input)?.text, canonical, input)
})

test('text that is no address is refused', () => {
  for (const input of refused) assert.equal(parseAddress(input), undefined, input)
})

test('canonical text stays the same when it is read', () => {
  for (const [, canonical] of accepted) assert.equal(parseAddress(canonical)?.text, canonical)
})
