import assert from 'node:assert/strict'
import { test } from 'node:test'
import { asRangeFile, compileAsRanges } from '../../../src/enrichment/files/build/as-ranges.ts'
import { mmdbRangeFile } from '../../../src/enrichment/files/build/mmdb-ranges.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import type { Provider } from '../../../src/enrichment/providers/provider.ts'
import { loadRangeFile } from '../../../src/enrichment/providers/ranges/provider.ts'
import { openRangeFile, RANGE_FILE } from '../../../src/enrichment/providers/ranges/range-file.ts'
import { headOfSealedFile } from '../../../src/enrichment/providers/sealed-file.ts'
import { formatV4, formatV6 } from '../../../src/pipeline/event/address.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'

const mmdbOf = (bytes: Buffer) => loadMmdb({ name: 'a', bytes, mapping: undefined, recordsBytesMax: 100_000 })
const rangesOf = (bytes: Buffer) => loadRangeFile({ name: 'a', bytes, recordsBytesMax: 100_000 })

/** The answer of a provider, without the number of the record. */
function answerOf(provider: Provider, ip: string) {
  const facts = provider.find(address(ip))
  return { facts: facts && { ...facts, id: 0 }, network: provider.networkOf(address(ip)) }
}

/** A small generator, so that a failure repeats. */
function randomly(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** An address of a small space at either end of its family, or in the middle of it. */
function ipOf(v6: boolean, base: number, offset: number): string {
  if (!v6) return formatV4((base + offset) >>> 0)
  const high = [0x2001, 0xdb8, 0xffff][base % 3]!
  const rest = high === 0xffff ? 0xffff : 0
  return formatV6([high, rest, rest, rest, rest, rest, rest, (rest & 0xff00) + offset])
}

test('a range file answers like an MMDB of the same ranges, also where they overlap', async () => {
  for (let seed = 1; seed <= 40; seed++) {
    const random = randomly(seed)
    const v6 = seed % 2 === 0
    const base = v6 ? random(3) : [0x0100_0000, 0x7fff_ffc0, 0xffff_ff00][random(3)]!
    const rows = Array.from({ length: 1 + random(20) }, () => {
      const first = random(256)
      return [first, Math.min(255, first + random(seed % 4 < 2 ? 8 : 64)), 1 + random(4)] as const
    }).sort((a, b) => a[0] - b[0])
    const text = rows.map(
      ([first, last, asn]) => `${ipOf(v6, base, first)},${ipOf(v6, base, last)},${asn},"AS, ${asn}"\n`,
    )
    const texts = [Buffer.from(text.join(''))]
    const old = await mmdbOf(await compileAsRanges(texts, 0, 'test'))
    const made = await rangesOf(await asRangeFile(texts, 0, 'test'))
    assert.deepEqual([made.kind, made.recognisedAs], [old.kind, old.recognisedAs])
    for (let offset = 0; offset < 256; offset++) {
      const ip = ipOf(v6, base, offset)
      assert.deepEqual(answerOf(made, ip), answerOf(old, ip), `${ip}, seed ${seed}`)
    }
  }
})

const COUNTRIES = mmdb('countries', {
  '0.0.0.0/5': { country_code: 'AU' },
  '81.2.69.0/24': { country_code: 'GB' },
  '81.2.70.0/23': { country_code: 'GB' },
  '255.0.0.0/8': { country_code: 'ZA' },
  '2001:218::/32': { country_code: 'JP' },
  'ffff::/16': { country_code: 'US' },
})

test('a range file of an MMDB answers the same', async () => {
  const [old, made] = [await mmdbOf(COUNTRIES), await rangesOf(await mmdbRangeFile(COUNTRIES, 'test'))]
  const ips =
    '0.0.0.0 7.255.255.255 8.0.0.0 81.2.68.255 81.2.69.7 81.2.71.255 81.2.72.0 254.0.0.1 255.255.255.255'.split(' ')
  const v6 = ['2001:217:ffff::', '2001:218::', '2001:218:ffff::1', '2001:219::', 'fffe::', 'ffff::', 'ffff:ffff::1']
  for (const ip of [...ips, ...v6]) assert.deepEqual(answerOf(made, ip), answerOf(old, ip), ip)
  assert.equal(made.networkOf(address('81.2.70.1')), '81.2.70.0/23')
})

test('a range file cut or damaged anywhere is refused', async () => {
  const whole = await mmdbRangeFile(COUNTRIES, 'test 1')
  assert.equal(headOfSealedFile(RANGE_FILE, whole, whole.length)?.source, 'test 1')
  for (let length = 0; length < whole.length; length++) {
    const cut = whole.subarray(0, length)
    assert.throws(() => openRangeFile(cut), /^InputError: /)
    assert.equal(headOfSealedFile(RANGE_FILE, cut, length), undefined)
  }
  for (let at = 0; at < whole.length; at++) {
    const flipped = Buffer.from(whole)
    flipped[at]! ^= 4
    assert.throws(() => openRangeFile(flipped), /^InputError: /, `byte ${at}`)
  }
})

test('ranges out of order are refused, and both are named', async () => {
  for (const [rows, reason] of [
    [['192.0.2.0,192.0.2.9', '192.0.1.0,192.0.3.0'], '192.0.1.0-192.0.3.0 follows 192.0.2.0-192.0.2.9'],
    [['9.0.0.0,9.9.0.0', '9.1.0.0,9.1.0.0', '9.0.9.0,9.0.9.1'], '9.0.9.0/31 follows 9.1.0.0/32'],
    [['2001:db8::,2001:db8::f', '1.0.0.0,1.0.0.0', '2001:db7::,2001:db7::'], '2001:db7::/128 follows 2001:db8::/124'],
  ] as const) {
    const text = Buffer.from(rows.map((row) => `${row},1,A\n`).join(''))
    const why = `line ${rows.length}: ${reason} but starts before it: sort the ranges by first address`
    await assert.rejects(asRangeFile([text], 0, 'test'), { name: 'InputError', message: why })
  }
})

test('records with more than texts, numbers and flags are refused', async () => {
  const nested = mmdb('nested', { '81.2.69.0/24': { country: { iso_code: 'GB' } } })
  await assert.rejects(mmdbRangeFile(nested, 'test'), /^InputError: a record is not flat/)
})
