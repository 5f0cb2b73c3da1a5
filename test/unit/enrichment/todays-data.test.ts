import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { TodaysData } from '../../../src/enrichment/todays-data.ts'
import { StartupError } from '../../../src/run/errors.ts'
import { address, asnMmdb, temporaryFolder } from '../../support/enrichment-data.ts'

async function folder(t: TestContext): Promise<string> {
  const dir = await temporaryFolder(t)
  await writeFile(join(dir, 'table.csv'), 'network,business_name,domain\n17.0.0.0/8,Fruit,fruit.example\n')
  await writeFile(join(dir, 'asn.mmdb'), asnMmdb({ '18.0.0.0/8': [64_500, 'EXAMPLE'] }))
  return dir
}

test('the data stay those of the moment when they were opened', async (t) => {
  const dir = await folder(t)
  const data = await TodaysData.open({ dir })
  assert.deepEqual(data.names, ['table', 'asn'])
  await writeFile(join(dir, 'table.csv'), 'network,business_name,domain\n17.0.0.0/8,Other,other.example\n')
  assert.equal(data.enrich(address('17.0.0.1'), '').companyId, 'fruit.example')
  assert.equal((await TodaysData.open({ dir })).enrich(address('17.0.0.1'), '').companyId, 'other.example')
})

test('a stored host name counts for its address alone', async (t) => {
  const data = await TodaysData.open({ dir: await folder(t) })
  const plain = data.enrich(address('18.0.0.1'), '')
  const named = data.enrich(address('18.0.0.1'), 'dsl-18-0-0-1.pool.example.net')
  assert.deepEqual([plain.noise, named.noise, named.data.hostname], [false, true, 'dsl-18-0-0-1.pool.example.net'])
  assert.deepEqual(data.enrich(address('18.0.0.1'), ''), plain)
})

test('an unreadable file, an empty folder, and a failed answer count as no data', async (t) => {
  const dir = await folder(t)
  const data = await TodaysData.open({ dir })
  assert.throws(() => data.enrich({ text: 'nonsense', v4: -1, v6: null as never }, ''), /nonsense cannot be judged/)
  await writeFile(join(dir, 'broken.mmdb'), 'nonsense')
  await assert.rejects(TodaysData.open({ dir }), StartupError)
  await assert.rejects(TodaysData.open({ dir: await temporaryFolder(t) }), StartupError)
})
