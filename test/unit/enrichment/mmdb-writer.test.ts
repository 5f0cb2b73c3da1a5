import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { Reader, type Response } from 'maxmind'
import { typed } from '../../../src/enrichment/providers/mmdb/encode.ts'
import { openMmdb } from '../../../src/enrichment/providers/mmdb/open.ts'
import { MmdbWriter } from '../../../src/enrichment/providers/mmdb/writer.ts'
import { address, mmdb, range, temporaryFolder } from '../../support/enrichment-data.ts'

const RECORDS = {
  '0.0.0.0/1': { name: 'half of all' },
  '81.2.69.0/24': { name: 'Example GmbH', city: { names: { en: 'Köln', 'zh-CN': '科隆' } } },
  '81.2.69.160/27': { name: 'Example GmbH', lists: [1, 2, 3], empty: '', yes: true, no: false },
  '203.0.0.0/8': { name: 'x'.repeat(30), longer: 'y'.repeat(300), longest: 'z'.repeat(70_000) },
  '2001:4860::/32': { name: 'Example GmbH', wide: 2 ** 40, deep: { a: { b: { c: 'd' } } } },
  '2001:4860:4860::8888/128': { name: 'one address' },
}

const LOOKUPS: Readonly<Record<string, keyof typeof RECORDS | undefined>> = {
  '1.1.1.1': '0.0.0.0/1',
  '81.2.69.1': '81.2.69.0/24',
  '81.2.69.159': '81.2.69.0/24',
  '81.2.69.160': '81.2.69.160/27',
  '81.2.69.191': '81.2.69.160/27',
  '81.2.70.0': '0.0.0.0/1',
  '203.255.255.255': '203.0.0.0/8',
  '200.0.0.0': undefined,
  '2001:4860::1': '2001:4860::/32',
  '2001:4860:4860::8888': '2001:4860:4860::8888/128',
  '2001:4861::': undefined,
}

for (const recordSize of [24, 28, 32] as const) {
  test(`a file with records of ${recordSize} bits returns the written values, in any reader`, async () => {
    const bytes = mmdb('Example', RECORDS, { recordSize, description: { en: 'An example' }, languages: ['en', 'de'] })
    const opened = await openMmdb(bytes)
    const other = new Reader<Response>(bytes)
    assert.equal(other.metadata.databaseType, 'Example')
    assert.equal(other.metadata.recordSize, recordSize)
    assert.equal(other.metadata.buildEpoch.getTime(), 1_760_000_000_000)
    for (const [ip, network] of Object.entries(LOOKUPS)) {
      const expected = network === undefined ? null : RECORDS[network]
      const record = opened.tree.find(address(ip))
      assert.deepEqual(record < 0 ? null : opened.decode(record), expected, ip)
      assert.deepEqual(other.get(ip) as unknown, expected, ip)
    }
    opened.tree.find(address('81.2.69.170'))
    assert.equal(opened.tree.prefixLength, 27)
  })
}

test('numbers keep their type and their value', () => {
  const record = {
    zero: 0,
    largest: 4_294_967_295,
    negative: -5,
    fraction: 51.75,
    round: typed('double', 51),
    short: typed('uint16', 65_535),
    long: 2n ** 64n - 1n,
    longest: 2n ** 128n - 1n,
    single: typed('float', 0.5),
  }
  const read = new Reader<Response>(mmdb('Numbers', { '81.2.69.0/24': record })).get('81.2.69.1')
  assert.deepEqual(read as unknown, {
    zero: 0,
    largest: 4_294_967_295,
    negative: -5,
    fraction: 51.75,
    round: 51,
    short: 65_535,
    long: 2n ** 64n - 1n,
    longest: 2n ** 128n - 1n,
    single: 0.5,
  })
})

test('a file for IPv4 alone has no answer for IPv6 and accepts none', async () => {
  const bytes = mmdb('Four', { '0.0.0.0/0': { name: 'all' } }, { ipVersion: 4 })
  const opened = await openMmdb(bytes)
  assert.ok(opened.tree.find(address('192.0.2.1')) > 0)
  assert.equal(opened.tree.find(address('2001:db8::1')), -1)
  const writer = new MmdbWriter({ databaseType: 'Four', buildEpoch: 0, ipVersion: 4 })
  assert.throws(() => writer.insert(range('2001:db8::/32'), { name: 'six' }), /cannot hold an IPv6 network/)
})

test('equal records, and equal values inside them, are written once', () => {
  const record = (asn: number) => ({ asn, name: 'A name that is long enough to be worth a pointer' })
  const one = mmdb('Shared', { '1.0.0.0/24': record(1) })
  const same = mmdb('Shared', { '1.0.0.0/24': record(1), '9.0.0.0/24': record(1) })
  const other = mmdb('Shared', { '1.0.0.0/24': record(1), '9.0.0.0/24': record(2) })
  const treeBytes = (bytes: Buffer) => new Reader<Response>(bytes).metadata.searchTreeSize
  assert.equal(same.length - treeBytes(same), one.length - treeBytes(one))
  assert.ok(other.length - treeBytes(other) < one.length - treeBytes(one) + 20)
})

test('a range that is no CIDR covers exactly its addresses', async () => {
  const writer = new MmdbWriter({ databaseType: 'Range', buildEpoch: 1 })
  writer.insert({ version: 4, first: 0x0a00_0005, last: 0x0a00_0105 }, { name: 'range' })
  const { tree } = await openMmdb(writer.toBuffer())
  const found = (ip: string) => tree.find(address(ip)) > 0
  assert.deepEqual(['10.0.0.4', '10.0.0.5', '10.0.1.5', '10.0.1.6'].map(found), [false, true, true, false])
})

test('IPv4-mapped addresses lead to the IPv4 networks in readers that do not map them', async () => {
  const { tree } = await openMmdb(mmdb('Mapped', { '81.2.69.0/24': { name: 'mapped' } }))
  const groups = [0, 0, 0, 0, 0, 0xffff, 0x5102, 0x4501]
  assert.ok(tree.find({ text: '', v4: -1, v6: groups }) > 0)
})

test('the reference reader opens the file', async (t) => {
  if (spawnSync('mmdblookup', ['--version']).error !== undefined) return t.skip('mmdblookup is not installed')
  const file = join(await temporaryFolder(t), 'example.mmdb')
  await writeFile(file, mmdb('Example', RECORDS))
  const lookup = (ip: string) => spawnSync('mmdblookup', ['--file', file, '--ip', ip], { encoding: 'utf8' })
  assert.match(lookup('81.2.69.1').stdout, /"Köln" <utf8_string>/)
  assert.match(lookup('2001:4860:4860::8888').stdout, /"one address" <utf8_string>/)
  assert.match(lookup('::ffff:81.2.69.170').stdout, /"lists":\s+\[\s+1 <uint32>/)
  assert.match(lookup('200.0.0.0').stderr, /Could not find an entry/)
})
