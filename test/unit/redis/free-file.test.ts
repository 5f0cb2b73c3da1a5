import assert from 'node:assert/strict'
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { closeInPieces } from '../../../src/stores/redis/durability/free-file.ts'
import { heldPauses, settled } from '../../support/mock-timeouts.ts'

const MB = 2 ** 20

/** A file of 30 MB, an observer of its closing, and a timer that keeps the process alive meanwhile. */
function largeFile(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-free-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'old.aof')
  const looking = openSync(path, 'w+')
  t.after(() => closeSync(looking))
  ftruncateSync(looking, 30 * MB)
  // The pauses between checks do not.
  const held = setInterval(() => {}, 60_000)
  t.after(() => clearInterval(held))
  const sizes: number[] = []
  const pause = async () => void sizes.push(fstatSync(looking).size / MB)
  return { path, file: openSync(path, 'r'), looking, sizes, pause }
}

/**
 * The clock is read when the wait begins, and after each check that saw a name.
 * @param nowMs given the number of checks
 */
function countLooks(t: TestContext, nowMs: (count: number) => number): () => number {
  let count = -1
  t.mock.method(performance, 'now', () => nowMs(++count))
  return () => count
}

const onLinux = process.platform === 'linux' ? {} : { skip: 'no other system opens a file without a name' }

test('a removed file is freed in pieces, and closed', onLinux, async (t) => {
  const { path, file, sizes, pause } = largeFile(t)
  rmSync(path)
  await closeInPieces(file, pause)
  assert.deepEqual(sizes, [22, 14, 6])
  assert.throws(() => fstatSync(file), { code: 'EBADF' })
})

test('a file that is removed a little later is waited for', onLinux, async (t) => {
  const { path, file, sizes, pause } = largeFile(t)
  const looks = countLooks(t, (count) => {
    if (count === 2) rmSync(path)
    return 0
  })
  await closeInPieces(file, pause)
  assert.deepEqual([looks(), sizes], [2, [22, 14, 6]])
})

test('a file that keeps a name, as in a backup of links, is closed unchanged', async (t) => {
  const { path, file, looking, sizes, pause } = largeFile(t)
  const looks = countLooks(t, (count) => count * 400)
  const before = heldPauses()
  const closed = closeInPieces(file, pause)
  while (looks() < 1) await settled(1)
  await settled()
  assert.equal(heldPauses(), before, 'a process that ends does not wait for it')
  await closed
  assert.deepEqual([looks(), sizes], [3, []])
  assert.equal(statSync(path).size, 30 * MB)
  assert.throws(() => fstatSync(file), { code: 'EBADF' })
  assert.equal(fstatSync(looking).size, 30 * MB)
})
