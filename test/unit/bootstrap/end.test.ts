import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const END = fileURLToPath(new URL('../../support/end.mjs', import.meta.url))
const BROKEN = `
import { after, test } from 'node:test'
after(() => console.log('cleaned up'))
test('broken', () => {
  setInterval(() => {}, 1_000)
  throw new Error('on purpose')
})
`

test('a file whose test fails ends, whatever the test left open', (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-end-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = join(dir, 'broken.test.mjs')
  writeFileSync(file, BROKEN)
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...env } = process.env
  const options = { env: { ...env, TEST_END_MS: '50' }, encoding: 'utf8', timeout: 60_000 } as const
  const { status, stdout } = spawnSync(process.execPath, ['--import', END, '--test', file], options)
  assert.equal(status, 1)
  for (const said of ['on purpose', 'cleaned up', 'still open behind the last test']) {
    assert.ok(stdout.includes(said), stdout)
  }
})
