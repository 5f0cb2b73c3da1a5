import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { loadPageFiles } from '../../../src/dashboard/server/page-files.ts'

test('pages are there, and it is said once, where nothing can be written', async (t) => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'ipid-pages-')))
  t.after(() => rmSync(root, { recursive: true }))
  for (const name of ['src', 'schemas', 'package.json', 'tsconfig.json']) symlinkSync(resolve(name), join(root, name))
  mkdirSync(join(root, 'node_modules'))
  // A file where the folder would be: nobody can write into it, not even who may do everything.
  writeFileSync(join(root, 'node_modules', '.cache'), '')
  const warned: unknown[] = []
  const { index, assets } = await loadPageFiles({ warn: (...words: unknown[]) => void warned.push(words) }, root)
  assert.equal(warned.length, 1)
  const named = [...index.plain.toString().matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name]) => name!)
  assert.deepEqual(
    named.map((name) => assets.get(name)?.type.split(';')[0]),
    ['text/css', 'text/javascript'],
  )
  assert.ok(named.every((name) => assets.get(name)!.plain.length > 1_000))

  const kept = await loadPageFiles({ warn: () => assert.fail('there it can be kept') })
  assert.deepEqual([...assets.keys()].map(bare).sort(), [...kept.assets.keys()].map(bare).sort(), 'the same files')
})

const bare = (name: string) => name.replace(/-\w{8}\./, '.')
