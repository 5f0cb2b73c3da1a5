import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { askForUpdate, readAskedUpdate } from '../../../src/enrichment/files/update/asked-update.ts'
import { temporaryFolder } from '../../support/enrichment-data.ts'

const AT = '2026-11-26T11:00:00.000Z'

test('a read of the request file ends whatever has its name, and only a file is a request', async (t) => {
  const dir = await temporaryFolder(t)
  const path = join(dir, '.asked-update.json')
  const make: (() => unknown)[] = [
    () => mkdir(path),
    () => execFileSync('mkfifo', [path]),
    () => symlink('/dev/zero', path),
    () => symlink(path, path),
    () => writeFile(path, JSON.stringify({ askedAt: AT, more: 'x'.repeat(2_000_000) })),
    () => writeFile(path, '{"askedAt"'),
    () => writeFile(path, JSON.stringify({ askedAt: AT, outcome: { endedAt: AT, changed: [1], failures: [] } })),
    () => writeFile(path, JSON.stringify({ askedAt: AT, outcome: null })),
  ]
  for (const [i, put] of make.entries()) {
    await put()
    assert.equal(await readAskedUpdate(dir), undefined, `form ${i}`)
    await rm(path, { recursive: true })
  }
  await symlink('/dev/zero', path)
  await askForUpdate(dir, [], AT)
  assert.deepEqual(await readAskedUpdate(dir), { askedAt: AT }, 'a request takes its place')
})
