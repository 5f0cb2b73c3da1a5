import assert from 'node:assert/strict'
import { createHmac, createSecretKey } from 'node:crypto'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { parseAddress } from '../../../src/pipeline/event/address.ts'
import { maskedAddress, networkOf, pseudonymOf } from '../../../src/pipeline/event/pseudonym.ts'

const bytes = Buffer.alloc(32, 7)
const key = createSecretKey(bytes)
const address = (text: string) => parseAddress(text)!

test('a pseudonym is the HMAC of day and canonical address, cut to 64 bits', () => {
  const expected = createHmac('sha256', bytes).update('2026-11-22 203.0.113.7').digest('hex').slice(0, 16)
  assert.equal(pseudonymOf(key, address('203.0.113.7'), '2026-11-22'), expected)
  assert.equal(pseudonymOf(key, address('::ffff:203.0.113.7'), '2026-11-22'), expected, 'another spelling')
})

test('another address, day or tenant has another pseudonym', () => {
  const texts = ['203.0.113.7', '203.0.113.8', '2001:db8::1', '2001:db8::2']
  const all = texts.flatMap((text) =>
    ['2026-11-21', '2026-11-22'].flatMap((day) =>
      [key, createSecretKey(Buffer.alloc(32, 8))].map((of) => pseudonymOf(of, address(text), day)),
    ),
  )
  assert.equal(new Set(all).size, 16)
})

test('a truncated address keeps its network, and an embedded address is cut as well', () => {
  const networks = {
    '203.0.113.7': '203.0.113.0/24',
    '255.255.255.255': '255.255.255.0/24',
    '0.0.0.1': '0.0.0.0/24',
    '::ffff:203.0.113.7': '203.0.113.0/24',
    '2001:db8:aaaa:bbbb:1:2:3:4': '2001:db8:aaaa::/48',
    'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff': 'ffff:ffff:ffff::/48',
    '::1': '::/48',
    '64:ff9b::203.0.113.7': '64:ff9b::/48',
    '2002:cb00:7107:1::1': '2002:cb00:7100::/40',
  }
  for (const [text, network] of Object.entries(networks)) assert.equal(networkOf(address(text)), network, text)
})

test('the stored value says which part of the address was kept', () => {
  const day = '2026-11-22'
  const pseudonym = pseudonymOf(key, address('203.0.113.7'), day)
  assert.match(pseudonym, /^[0-9a-f]{16}$/)
  assert.equal(maskedAddress({ keep: 'dropped', key }, address('203.0.113.7'), day), `#${pseudonym}`)
  const truncated = maskedAddress({ keep: 'truncated', key }, address('203.0.113.7'), day)
  assert.equal(truncated, `203.0.113.0/24#${pseudonym}`)
})

test('neither JSON nor inspection shows a key', () => {
  const mask = { keep: 'dropped', key }
  for (const text of [JSON.stringify(mask), inspect(mask, { depth: 9, showHidden: true })]) {
    assert.ok(!text.includes('07'), text)
  }
})
