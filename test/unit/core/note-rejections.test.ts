import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../../support/backup.ts'

test('a process of a test notes its unhandled rejections, those of its children too, and ends as before', async (t) => {
  const path = join(makeFolder(t), 'rejections')
  const script = new URL('../../support/note-rejections.mjs', import.meta.url)
  script.searchParams.set('to', path)
  const child = "Promise.reject(new Error('of the child'))"
  const program = `
    const { spawnSync } = await import('node:child_process')
    const { status } = spawnSync(process.execPath, ['-e', ${JSON.stringify(child)}])
    if (status !== 1) process.exit(3)
    void Promise.reject(new Error('of the parent'))`
  const started = spawn(process.execPath, ['--input-type=module', '-e', program], {
    env: { NODE_OPTIONS: `--import=${script.href}` },
    stdio: 'ignore',
  })
  const [code] = await once(started, 'exit')
  assert.equal(code, 1)
  assert.match(readFileSync(path, 'utf8'), /Error: of the child[\s\S]*Error: of the parent/)
})
