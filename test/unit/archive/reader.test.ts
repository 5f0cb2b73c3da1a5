import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ObjectStore } from '../../../src/archive/object-store.ts'
import { PartReader } from '../../../src/archive/reader.ts'

test('parts of many days are not looked for day by day', async () => {
  const keys = ['2025-12-31', '2026-01-01', '2026-11-22', '2027-01-01'].map(
    (day, at) => `tenant=t/day=${day}/source=ingest/run=${day}T01/part-${at}-000000-p0.ndjson.gz`,
  )
  let lists = 0
  const store = {
    async *list(prefix: string) {
      lists++
      for (const key of keys) if (key.startsWith(prefix)) yield { key, bytes: 1 }
    },
  } as unknown as ObjectStore
  const find = async (from: string, to: string) =>
    (await new PartReader(store).parts({ tenantId: 't', from, to })).map(({ key }) => key)
  assert.deepEqual(await find('2026-01-01', '2026-12-31'), keys.slice(1, 3))
  assert.equal(lists, 1)
  assert.deepEqual(await find('0001-01-01', '9999-12-31'), keys)
  assert.deepEqual(await find('2026-11-20', '2026-11-22'), keys.slice(2, 3))
})
