import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scanPages } from '../../../src/stores/redis/nodes.ts'

/** Reads pages from a server that answers each cursor with the next of these; the last leads back to `loopTo`. */
async function read(cursors: readonly string[], loopTo: string): Promise<string[]> {
  const found: string[] = []
  let asked = 0
  const pages = scanPages(async (cursor) => {
    if (++asked > 100) assert.fail('the scan does not end')
    const at = cursor === '0' ? -1 : cursors.indexOf(cursor)
    return [cursors[at + 1] ?? loopTo, [`at ${cursor}`]]
  })
  for await (const page of pages) found.push(...page)
  return found
}

const CURSORS = Array.from({ length: 20 }, (_, n) => String(7 * n + 1))

test('a scan reads every page until the cursor is 0', async () => {
  assert.deepEqual(await read(CURSORS, '0'), ['at 0', ...CURSORS.map((cursor) => `at ${cursor}`)])
  assert.deepEqual(await read([], '0'), ['at 0'])
})

test('a scan whose cursor repeats fails, wherever the cycle begins', async () => {
  for (const cursor of CURSORS) await assert.rejects(read(CURSORS, cursor), /Redis repeats the cursor \d+ of a scan/)
  await assert.rejects(read(CURSORS, ''), /Redis repeats the cursor/)
})
