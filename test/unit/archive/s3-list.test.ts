import assert from 'node:assert/strict'
import { test } from 'node:test'
import { UnavailableError } from '../../../src/run/errors.ts'
import { type ListPage, listAll } from '../../../src/stores/objects/s3-list.ts'

async function listed(...pages: ListPage[]) {
  const found = []
  for await (const { name, bytes } of listAll('s3://b/p', 'p/', async () => pages.shift()!)) found.push([name, bytes])
  return found
}

const A = { Key: 'p/a', Size: 5 }
const B = { Key: 'p/b', Size: 0 }

test('a list of several pages is read to its end', async () => {
  const first = { Contents: [A], IsTruncated: true, NextContinuationToken: 't', KeyCount: 1 }
  assert.deepEqual(await listed(first, { Contents: [B], IsTruncated: false, KeyCount: 1 }), [
    ['p/a', 5],
    ['p/b', 0],
  ])
  assert.deepEqual(await listed({ IsTruncated: false }), [])
})

test('an answer without IsTruncated is an error, never an empty list', async () => {
  // The page of a console, an empty body and another document of S3 all arrive like this.
  await assert.rejects(listed({}), (error) => error instanceof UnavailableError && /not a list/.test(error.message))
  await assert.rejects(listed({ Contents: [A] }), /not a list/)
  await assert.rejects(listed({ Contents: [A], IsTruncated: true, NextContinuationToken: 't' }, {}), /not a list/)
})

test('a page with fewer keys than it counts is refused', async () => {
  await assert.rejects(listed({ Contents: [A], IsTruncated: false, KeyCount: 2 }), /1 of 2 keys/)
  await assert.rejects(listed({ IsTruncated: false, KeyCount: 2 }), /0 of 2 keys/)
})

test('an object without a usable size is refused', async () => {
  for (const Size of [undefined, -5, 0.5, Number.NaN, Number.POSITIVE_INFINITY]) {
    await assert.rejects(listed({ Contents: [{ Key: 'p/a', Size }], IsTruncated: false }), /size of p\/a/)
  }
})
