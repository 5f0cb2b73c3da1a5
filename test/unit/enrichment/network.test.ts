import assert from 'node:assert/strict'
import { test } from 'node:test'
import { v4Cidrs, v6Cidrs } from '../../../src/enrichment/addresses/cidrs.ts'
import {
  type AddressRange,
  formatPrefix,
  formatRange,
  parseNetwork,
  prefixRange,
} from '../../../src/enrichment/addresses/network.ts'
import { RangeMap } from '../../../src/enrichment/addresses/range-map.ts'
import { formatV4, formatV6 } from '../../../src/pipeline/event/address.ts'
import { address, range } from '../../support/enrichment-data.ts'

const text = (network: string) => {
  const parsed = parseNetwork(network)
  if (typeof parsed === 'string') return { reason: parsed }
  return parsed.version === 'as' ? `AS${parsed.asn}` : formatRange(parsed)
}

test('networks are read in every form that a table may hold', () => {
  const forms: Record<string, string> = {
    '192.0.2.0/24': '192.0.2.0/24',
    '192.0.2.77/24': '192.0.2.0/24',
    '0.0.0.0/0': '0.0.0.0/0',
    '192.0.2.1': '192.0.2.1/32',
    '2001:db8::/32': '2001:db8::/32',
    '2001:DB8::1': '2001:db8::1/128',
    '::/0': '::/0',
    '::ffff:192.0.2.0/120': '192.0.2.0/24',
    '192.0.2.0-192.0.2.255': '192.0.2.0/24',
    '192.0.2.1 - 192.0.2.5': '192.0.2.1-192.0.2.5',
    '2001:db8::-2001:db8::ffff': '2001:db8::/112',
    '255.255.255.0-255.255.255.255': '255.255.255.0/24',
    AS64500: 'AS64500',
    as1: 'AS1',
  }
  for (const [form, expected] of Object.entries(forms)) assert.equal(text(form), expected, form)
})

test('text that is no network is refused with a reason that quotes it', () => {
  for (const form of [
    '',
    'example.com',
    '192.0.2.0/33',
    '192.0.2.0/',
    '192.0.2.0/-1',
    '2001:db8::/129',
    '::ffff:192.0.2.0/95',
    '192.0.2.9-192.0.2.1',
    '192.0.2.1-2001:db8::1',
    'AS0',
    'AS4294967296',
    'AS',
  ]) {
    const result = text(form)
    assert.ok(typeof result === 'object' && result.reason.includes(form), `${form}: ${JSON.stringify(result)}`)
  }
})

test('a range is split into the fewest CIDRs', () => {
  const v4 = [...v4Cidrs(1, 10)].map((cidr) => `${formatV4(cidr.first)}/${cidr.length}`)
  assert.deepEqual(v4, ['0.0.0.1/32', '0.0.0.2/31', '0.0.0.4/30', '0.0.0.8/31', '0.0.0.10/32'])
  const v6 = [...v6Cidrs(1n, 4n)].map((cidr) => `${cidr.first}/${cidr.length}`)
  assert.deepEqual(v6, ['1/128', '2/127', '4/128'])
})

test('the CIDRs of an IPv6 range cover all of it, in order, as large as possible', () => {
  const random = randomly(7)
  for (let round = 0; round < 300; round++) {
    const shift = BigInt(random(121))
    const first = BigInt(random(64)) << shift
    const last = first + (BigInt(1 + random(64)) << BigInt(random(Number(shift) + 1))) - 1n
    let at = first
    let before: { readonly first: bigint; readonly length: number } | undefined
    for (const cidr of v6Cidrs(first, last)) {
      const size = 1n << BigInt(128 - cidr.length)
      assert.deepEqual([cidr.first, cidr.last, cidr.first % size], [at, at + size - 1n, 0n])
      if (before?.length === cidr.length) assert.notEqual(before.first % (2n * size), 0n, 'two halves are one')
      before = cidr
      at += size
    }
    assert.equal(at, last + 1n)
  }
  const all = (1n << 128n) - 1n
  assert.deepEqual(v6Cidrs(0n, all), [{ first: 0n, last: all, length: 0 }])
  assert.deepEqual(v6Cidrs(1n, 0n), [])
})

/** A small generator, so that a failure repeats. */
function randomly(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

test('the most specific of overlapping ranges is found, the later of two equal ones', () => {
  for (let seed = 1; seed <= 60; seed++) {
    const random = randomly(seed)
    const v6 = seed % 2 === 0
    const entries = Array.from({ length: 1 + random(20) }, (_, value) => {
      const first = random(64)
      const last = Math.min(63, first + random(24))
      const bounds: AddressRange = v6
        ? { version: 6, first: BigInt(first) << 63n, last: (BigInt(last + 1) << 63n) - 1n }
        : { version: 4, first, last }
      return { range: bounds, value, first, last }
    })
    const map = RangeMap.of(entries)
    for (let at = 0; at < 70; at++) {
      let best: (typeof entries)[number] | undefined
      for (const entry of entries) {
        const holds = entry.first <= at && at <= entry.last
        if (holds && (best === undefined || entry.last - entry.first <= best.last - best.first)) best = entry
      }
      const groups = [0, 0, 0, at >> 1, (at & 1) << 15, 0, 0, 9]
      const found = map.find(address(v6 ? formatV6(groups) : formatV4(at)))
      assert.equal(found?.value, best?.value, `seed ${seed} at ${at}`)
    }
  }
})

test('a list that is too long for one turn gives the same result', async () => {
  const entries = Array.from({ length: 50_000 }, (_, i) => ({
    range: { version: 4 as const, first: (i % 25_000) * 8, last: (i % 25_000) * 8 + (i < 25_000 ? 3 : 1) },
    value: i,
  }))
  const map = await RangeMap.build(entries)
  for (let i = 0; i < 25_000; i += 7) {
    const at = (offset: number) => map.find(address(formatV4(i * 8 + offset)))?.value
    assert.deepEqual([0, 1, 2, 3, 4].map(at), [i + 25_000, i + 25_000, i, i, undefined])
  }
})

test('ranges that touch the ends of the address space are found', () => {
  const map = RangeMap.of([
    { range: range('255.0.0.0/8'), value: 'top' },
    { range: range('0.0.0.0/8'), value: 'bottom' },
    { range: range('ff00::/8'), value: 'top6' },
    { range: range('::/8'), value: 'bottom6' },
  ])
  const at = (ip: string) => map.find(address(ip))?.value
  assert.deepEqual(['255.255.255.255', '255.0.0.0', '254.255.255.255', '0.0.0.0', '1.0.0.0'].map(at), [
    'top',
    'top',
    undefined,
    'bottom',
    undefined,
  ])
  assert.deepEqual(['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'feff::', '::', '100::'].map(at), [
    'top6',
    undefined,
    'bottom6',
    undefined,
  ])
  assert.equal(RangeMap.of([]).find(address('192.0.2.1')), undefined)
})

test('the network of any length around an address is written like its range', () => {
  for (const ip of ['0.0.0.0', '81.2.69.142', '255.255.255.255', '::', '2001:218:a5f:1::ffff', 'ffff::1']) {
    const around = address(ip)
    for (let length = 0; length <= (around.v6 === undefined ? 32 : 128); length++) {
      assert.equal(formatPrefix(around, length), formatRange(prefixRange(around, length)), `${ip}/${length}`)
    }
  }
  assert.equal(formatPrefix(address('255.255.255.255'), 9), '255.128.0.0/9')
  assert.equal(formatPrefix(address('ffff:ffff::1'), 17), 'ffff:8000::/17')
})

test('a range that starts or ends beside a CIDR boundary is no CIDR', () => {
  assert.equal(formatRange({ version: 4, first: 1, last: 2 }), '0.0.0.1-0.0.0.2')
  assert.equal(formatRange({ version: 4, first: 0, last: 2 }), '0.0.0.0-0.0.0.2')
  assert.equal(formatRange({ version: 6, first: 1n, last: 2n }), '::1-::2')
  assert.equal(formatRange({ version: 6, first: 0n, last: 2n }), '::-::2')
})
