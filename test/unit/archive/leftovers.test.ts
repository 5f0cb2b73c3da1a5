import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { StoreErasableArchive } from '../../../src/operations/erasure/erasable-archive.ts'
import { selectorOf } from '../../../src/operations/erasure/selector.ts'
import { FolderStore } from '../../../src/stores/objects/folder-store.ts'

test('an erasure removes the unfinished part of an archiver killed after it began', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'ipid-leftovers-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const store = new FolderStore(folder)
  const begunMs = Date.now() - 60_000
  const archive = new StoreErasableArchive(store)
  const partial = join(folder, '.partial')
  await store.put('other', Buffer.from('an object'))
  for (const selector of [selectorOf({ ip: '17.0.0.1' }), undefined]) {
    writeFileSync(join(partial, 'left'), '')
    const scope = { tenantId: 'demo', selector, beforeMs: begunMs }
    if (selector === undefined) await archive.removeTenant(scope)
    else await archive.remove(scope, async () => new Set())
    assert.deepEqual(readdirSync(partial), [])
  }
})
