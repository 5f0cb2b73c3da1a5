import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatWordRange } from '../../../src/enrichment/addresses/word-range.ts'
import { eachAsRange } from '../../../src/enrichment/files/build/as-range-rows.ts'
import { compileAsRanges } from '../../../src/enrichment/files/build/as-ranges.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import { parseAddress } from '../../../src/pipeline/event/address.ts'

const RANGES = `192.0.2.0,192.0.2.127,64500,Example Net
198.51.100.0,198.51.100.255,64500,Example Net
203.0.113.0,203.0.113.0,64501,Other
2001:db8::,2001:db8::ffff,64501,Other
`

test('ranges of autonomous systems are reported with the size of each', async () => {
  const bytes = await compileAsRanges([Buffer.from(RANGES)], 0, 'test')
  const provider = await loadMmdb({ name: 'as', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  const evidence = (ip: string) => provider.find(parseAddress(ip)!)!.evidence
  const { asn, asName, asAddresses, asHasV6, asScatter } = evidence('192.0.2.1')
  assert.deepEqual([asn, asName, asAddresses, asHasV6, asScatter], [64_500, 'Example Net', 384, false, 198_111])
  for (const ip of ['203.0.113.0', '2001:db8::1']) {
    assert.deepEqual([evidence(ip).asAddresses, evidence(ip).asHasV6, evidence(ip).asScatter], [1, true, 203_000])
  }
})

async function namesIn(text: string): Promise<string[]> {
  const names: string[] = []
  await eachAsRange(Buffer.from(text), (_, asn, name) => names.push(`${asn} ${name}`))
  return names
}

test('plain rows and rows for the CSV parser are read the same way', async () => {
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

/** The rows of a text, or the reason of its refusal. */
async function readingOf(text: string): Promise<readonly string[]> {
  const rows: string[] = []
  try {
    await eachAsRange(Buffer.from(text), (range, asn, name) => rows.push(`${formatWordRange(range)} ${asn} ${name}`))
  } catch (error) {
    rows.push((error as Error).message.replace(/^line \d+/, 'line'))
  }
  return rows
}

/** As the CSV parser reads it, which takes over at the first line that is not in the usual form. */
const parsedReadingOf = (text: string) => readingOf(`# a comment\n${text}`)

const FORMS = [
  '1.0.0.0,1.0.0.255,13335,Example',
  '0.0.0.0,255.255.255.255,4294967295,"Example, Inc."',
  '1.0.0.0,1.0.0.255,1,"say ""yes"""',
  '1.0.0.0,1.0.0.255,1,""',
  '1.0.0.0,1.0.0.255,1,',
  '1.0.0.0,1.0.0.255,1',
  '1.0.0.0,1.0.0.255,1,  Universität\u00a0 ',
  '1.0.0.0,1.0.0.255,1,a,b',
  '1.0.0.0,1.0.0.255,1,half "quoted"',
  '1.0.0.0,1.0.0.255,1,"a"b',
  '1.0.0.0, 1.0.0.255 ,1,A',
  '"1.0.0.0","1.0.0.255","1","A"',
  '1.0.0.0,1.0.0.255,0,A',
  '1.0.0.0,1.0.0.255,007,A',
  ...['01.0.0.0', '1.0.0', '1.0.0.0.0', '1..0.0', '256.0.0.0', '.1.0.0.0', '1.0.0.', '', 'x'].map(
    (ip) => `${ip},1.0.0.9,1,A`,
  ),
  ...['4294967296', '99999999999', '-1', 'AS1', '', '1.5'].map((asn) => `1.0.0.0,1.0.0.9,${asn},A`),
  '1.0.0.9,1.0.0.0,1,A',
  '1.0.0.9,2001:db8::,1,A',
  '2001:db8::,2001:db8::ffff,1,A',
  '2001:0DB8:0:0:0:0:0:1,2001:db8:ffff:ffff:ffff:ffff:ffff:ffff,1,A',
  '2001:db8::1:0,2001:db9::,1,A',
  '1::,1::8,1,A',
  '1:2:3:4:5:6:7::,1:2:3:4:5:6:8::,1,A',
  '1::2:3:4:5:6:7,1::3:3:4:5:6:7,1,A',
  '::,::1,1,A',
  '::ffff:1.0.0.0,::ffff:1.0.0.9,1,A',
  '64:ff9b::1.0.0.0,64:ff9b::1.0.0.9,1,A',
  ...['2001', ':1:2:3:4:5:6:7', '2001:', '1:::2', '1::2::3', '1:2:3:4:5:6:7', '1:2:3:4:5:6:7:8:9', ':::', ':'].map(
    (ip) => `${ip},ffff::,1,A`,
  ),
  ...['1:2:3:4::5:6:7:8', '12345::', '1:g::', '1::%1', '1::/64'].map((ip) => `${ip},ffff::,1,A`),
]

test('every form of row is read from bytes the same as by the parser', async () => {
  for (const row of FORMS) {
    for (const ending of ['', '\n', '\r\n', '\n9.0.0.0,9.0.0.9,7,Next\n']) {
      assert.deepEqual(await readingOf(row + ending), await parsedReadingOf(row + ending), JSON.stringify(row + ending))
    }
  }
  const characters = '0129af.:,"# \u00e4'
  let state = 7
  const below = (limit: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * limit)
  }
  for (let i = 0; i < 1_000; i++) {
    const row = FORMS[below(FORMS.length)]!
    const at = below(row.length + 1)
    const odd = row.slice(0, at) + characters[below(characters.length)] + row.slice(at + below(2))
    assert.deepEqual(await readingOf(odd), await parsedReadingOf(odd), JSON.stringify(odd))
  }
})

test('any number of names stays distinct', async () => {
  const rows = Array.from({ length: 70_000 }, (_, i) => `${(i >>> 8) >>> 8}.${(i >>> 8) & 255}.${i & 255}.0`)
  const text = rows.map((ip, i) => `${ip},${ip},${i % 9 === 0 ? 1 : i},Name ${i % 40_000}\n`).join('')
  const names: string[] = []
  await eachAsRange(Buffer.from(text), (_range, _asn, name) => names.push(name))
  assert.ok(names.every((name, i) => name === `Name ${i % 40_000}`))
  assert.equal(names.length, rows.length)
})

test('tabs are read the same when a country or another field is missing', async () => {
  const row = '1.0.0.0\t1.0.0.255\t13335\tUS\tCLOUD "x", Inc'
  assert.deepEqual(
    await readingOf(`${row}\n2.0.0.0\t2.0.0.9\t0\tNone\tNot routed\n3.0.0.0\t3.0.0.9\t5\tA\n3.0.1.0\t3.0.1.9\t6`),
    ['1.0.0.0/24 13335 CLOUD "x", Inc', '3.0.0.0-3.0.0.9 5 A', '3.0.1.0-3.0.1.9 6 '],
  )
})
