import assert from 'node:assert/strict'
import { test } from 'node:test'
import { formatRange } from '../../../src/enrichment/addresses/network.ts'
import { NetworkList } from '../../../src/enrichment/providers/mmdb/network-list.ts'
import { type OpenMmdb, openMmdb } from '../../../src/enrichment/providers/mmdb/open.ts'
import { TreeBuilder } from '../../../src/enrichment/providers/mmdb/tree-builder.ts'
import { MmdbWriter } from '../../../src/enrichment/providers/mmdb/writer.ts'
import { mmdb, range } from '../../support/enrichment-data.ts'

const RECORDS = { '81.2.69.0/24': { n: 1 }, '81.2.70.1': { n: 2 }, '2001:218::/32': { n: 3 }, 'ffff::1': { n: 4 } }

function walk(file: OpenMmdb): string[] {
  const found: string[] = []
  file.tree.eachNetwork((network, record) => {
    found.push(`${formatRange(network)} ${(file.decode(record) as { n: number }).n}`)
  })
  return found
}

test('a walk finds every network once, IPv4 as IPv4', async () => {
  for (const recordSize of [24, 28, 32] as const) {
    assert.deepEqual(walk(await openMmdb(mmdb('Example', RECORDS, { recordSize }))), [
      '81.2.69.0/24 1',
      '81.2.70.1/32 2',
      '2001:218::/32 3',
      'ffff::1/128 4',
    ])
  }
})

test('a walk covers a file for IPv4 alone, and a full one', async () => {
  const { '81.2.69.0/24': one, '81.2.70.1': two } = RECORDS
  const v4 = mmdb('Example', { '81.2.69.0/24': one, '81.2.70.1': two }, { ipVersion: 4 })
  assert.deepEqual(walk(await openMmdb(v4)), ['81.2.69.0/24 1', '81.2.70.1/32 2'])
  const all = mmdb('Example', { '0.0.0.0/0': one }, { ipVersion: 4 })
  assert.deepEqual(walk(await openMmdb(all)), ['0.0.0.0/1 1', '128.0.0.0/1 1'])
})

test('a record of a higher layer counts, however specific the lower ones are', async () => {
  const writer = new MmdbWriter({ databaseType: 'Example', buildEpoch: 1 })
  writer.insert(range('81.2.0.0/16'), { n: 1 })
  writer.insert(range('81.2.69.0/24'), { n: 2 }, -1)
  writer.insert(range('81.3.0.0/24'), { n: 3 }, -1)
  assert.deepEqual(walk(await openMmdb(writer.toBuffer())), ['81.2.0.0/16 1', '81.3.0.0/24 3'])
})

test('a tree whose branches meet again and again is walked in finite time', async () => {
  for (const [network, ipVersion] of [
    ['8000::1', 6],
    ['129.0.0.1', 4],
  ] as const) {
    const bytes = mmdb('Example', { [network]: { n: 1 } }, { recordSize: 32, ipVersion })
    const nodes = ipVersion === 6 ? 128 : 32
    for (let node = 0; node < nodes; node++) {
      const records = [bytes.readUInt32BE(8 * node), bytes.readUInt32BE(8 * node + 4)]
      const next = records.find((record) => record !== nodes)!
      for (const half of [0, 4]) bytes.writeUInt32BE(next, 8 * node + half)
    }
    const file = await openMmdb(bytes)
    assert.throws(() => walk(file), /^InputError: the search tree of \d+ nodes has too many shared nodes$/)
  }
})

test('too many networks and nodes are an error, before memory runs out', () => {
  const list = new NetworkList(6, 100)
  list.add(range('81.2.69.0/24'), 1, 0)
  const many = { version: 6, first: 1n, last: (1n << 120n) - 2n } as const
  assert.throws(() => list.add(many, 1, 0), /^InputError: its ranges are more than 100 networks$/)
  const tree = new TreeBuilder(100)
  const insert = (word: number) => tree.insert({ words: [word, 0, 0, 0], at: 0, length: 128 }, 1)
  assert.throws(() => [0, 2 ** 31].forEach(insert), /^InputError: its networks make a tree of more than 100 nodes$/)
})
