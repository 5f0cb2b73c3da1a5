import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAddress } from '../../../src/core/event/address.ts'
import { eachAsRange } from '../../../src/enrichment/files/build/as-range-rows.ts'
import { compileAsRanges } from '../../../src/enrichment/files/build/as-ranges.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'

const RANGES = `192.0.2.0,192.0.2.127,64500,Example Net
198.51.100.0,198.51.100.255,64500,Example Net
203.0.113.0,203.0.113.0,64501,Other
2001:db8::,2001:db8::ffff,64501,Other
`

test('ranges of autonomous systems are told with the size of each', async () => {
  const bytes = await compileAsRanges([Buffer.from(RANGES)], 0, 'test')
  const provider = await loadMmdb({ name: 'as', bytes, mapping: undefined, recordsMax: 10 })
  const evidence = (ip: string) => provider.find(parseAddress(ip)!)!.evidence
  const { asn, asName, asAddresses, asHasV6 } = evidence('192.0.2.1')
  assert.deepEqual([asn, asName, asAddresses, asHasV6], [64_500, 'Example Net', 384, false])
  for (const ip of ['203.0.113.0', '2001:db8::1']) {
    assert.deepEqual([evidence(ip).asAddresses, evidence(ip).asHasV6], [1, true])
  }
})

async function namesIn(text: string): Promise<string[]> {
  const names: string[] = []
  await eachAsRange(Buffer.from(text), (_, asn, name) => names.push(`${asn} ${name}`))
  return names
}

test('rows are read alike, whether they are plain or for the CSV parser', async () => {
  const plain = '192.0.2.0,192.0.2.1,1,A\n192.0.2.2,192.0.2.3,2,"B, ""b"" "\n192.0.2.4,192.0.2.5,0,\n'
  const last = '2001:db8::,2001:db8::1,4294967295,\n'
  const expected = ['1 A', '2 B, "b" ', '4294967295 ']
  assert.deepEqual(await namesIn(plain + last), expected)
  for (const odd of [
    '# a comment\n',
    '"192.0.2.6" , 192.0.2.7,3,"two\nlines"\n',
    '192.0.2.6,192.0.2.7,3,X,two\nlines',
  ]) {
    const own = odd.includes(',3,') && !odd.endsWith('lines') ? ['3 two\nlines'] : []
    if (odd.endsWith('lines')) await assert.rejects(namesIn(plain + odd), /line 5: /)
    else assert.deepEqual(await namesIn(plain + odd + last), [...expected.slice(0, 2), ...own, expected[2]])
  }
  const spaced = '192.0.2.6, 192.0.2.7, 0, Not routed\n192.0.2.8, 192.0.2.9, 3, C\n'
  assert.deepEqual(await namesIn(plain + spaced), [...expected.slice(0, 2), '3 C'])
  assert.deepEqual(await namesIn('192.0.2.0\t192.0.2.1\t1\tUS\tA "quoted", name\n'), ['1 A "quoted", name'])
  for (const [row, reason] of [
    ['192.0.2.1,192.0.2.0,1,A', /line 4: .*ends before it starts/],
    ['192.0.2.0,2001:db8::,1,A', /line 4: .*mixes/],
    ['192.0.2.0,192.0.2.1,4294967296,A', /line 4: "4294967296" is not an AS number/],
    ['192.0.2.0,192.0.2.1,AS1,A', /line 4: "AS1" is not an AS number/],
  ] as const) {
    await assert.rejects(namesIn(`${plain}${row}\n`), reason)
  }
})
