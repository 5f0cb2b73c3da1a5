import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ARCHIVE_FORM } from '../../../schemas/forms.ts'
import { PartReader } from '../../../src/operations/replay/archive-reader.ts'
import type { ObjectStore } from '../../../src/stores/objects/object-store.ts'

test('parts of many days are not listed day by day', async () => {
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

test('a part is not read that differs from its index, is being erased, or is of a later form', async () => {
  const key = 'tenant=t/day=2026-11-22/source=ingest/run=2026-11-22T01/part-1-000000-p0.ndjson.gz'
  let index: object = {}
  const store = {
    async *list() {
      yield { key, bytes: 1 }
    },
    get: async (name: string) => Readable.from([gzipSync(name === key ? '{"a":1}\n{"a":2}\n' : JSON.stringify(index))]),
  } as unknown as ObjectStore
  const reader = new PartReader(store)
  const [part] = await reader.parts({ tenantId: 't', from: '2026-11-22', to: '2026-11-22' })
  const read = (lines: number, more = {}) => {
    index = { lane: 'live', lines, bytes: 1, entries: [[0, '1-0', 'p:1', lines]], ...more }
    return reader.read(part!)
  }
  assert.deepEqual(
    (await read(2)).map(({ lines }) => lines.map(({ text }) => text)),
    [['{"a":1}', '{"a":2}']],
  )
  await assert.rejects(read(3), /2 lines, and its index 3/)
  await assert.rejects(read(2, { form: ARCHIVE_FORM + 1 }), {
    name: 'NewerDataError',
    message: new RegExp(
      `^${key} in the archive has form ${ARCHIVE_FORM + 1}, but this ipid reads form ${ARCHIVE_FORM}: `,
    ),
  })
  await assert.rejects(read(2, { erasing: [0] }), /an erasure of lines in .* did not finish/)
})
