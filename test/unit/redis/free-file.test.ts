import assert from 'node:assert/strict'
import { closeSync, fstatSync, ftruncateSync, mkdtempSync, openSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { closeInPieces } from '../../../src/redis/free-file.ts'

const MB = 2 ** 20

/** A file of 30 MB, and who looks at it as it is closed. */
function largeFile(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-free-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'old.aof')
  const looking = openSync(path, 'w+')
  t.after(() => closeSync(looking))
  ftruncateSync(looking, 30 * MB)
  const sizes: number[] = []
  const pause = async () => void sizes.push(fstatSync(looking).size / MB)
  return { path, file: openSync(path, 'r'), looking, sizes, pause }
}

const onLinux = process.platform === 'linux' ? {} : { skip: 'no other system opens a file without a name' }

test('a file that was removed is freed in pieces, and closed', onLinux, async (t) => {
  const { path, file, sizes, pause } = largeFile(t)
  rmSync(path)
  await closeInPieces(file, pause)
  assert.deepEqual(sizes, [22, 14, 6])
  assert.throws(() => fstatSync(file), { code: 'EBADF' })
})

test('one that is removed somewhat later is waited for', onLinux, async (t) => {
  const { path, file, sizes, pause } = largeFile(t)
  await closeInPieces(file, async () => {
    await pause()
    if (sizes.length === 2) rmSync(path)
  })
  assert.deepEqual(sizes, [30, 30, 22, 14, 6])
})

test('one that keeps a name, as in a backup of links, is closed as it is', async (t) => {
  const { path, file, looking, sizes, pause } = largeFile(t)
  await closeInPieces(file, pause)
  assert.ok(sizes.length > 10 && sizes.every((size) => size === 30), String(sizes))
  assert.equal(statSync(path).size, 30 * MB)
  assert.throws(() => fstatSync(file), { code: 'EBADF' })
  assert.equal(fstatSync(looking).size, 30 * MB)
})
