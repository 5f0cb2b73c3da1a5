import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

function temporaryDir(t: TestContext): string {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-launcher-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

test('the launcher runs from any folder, and through a symbolic link', (t) => {
  const dir = temporaryDir(t)
  symlinkSync(join(ROOT, 'ipid'), join(dir, 'linked'))
  const { status, stdout, stderr } = spawnSync('./linked', ['--help'], { cwd: dir, encoding: 'utf8' })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  assert.match(stdout, /^Usage: ipid \[options\] \[command\]/)
})

test('the launcher of a clone without packages says to run npm start once', (t) => {
  const dir = temporaryDir(t)
  cpSync(join(ROOT, 'ipid'), join(dir, 'ipid'))
  for (const part of ['ipid.mjs', 'bootstrap', 'run']) {
    cpSync(join(ROOT, 'src', part), join(dir, 'src', part), { recursive: true })
  }
  const { status, stdout, stderr } = spawnSync(join(dir, 'ipid'), ['status'], { encoding: 'utf8' })
  assert.deepEqual({ status, stdout }, { status: 1, stdout: '' })
  assert.equal(stderr, `ipid: its packages are not installed: run "npm start" once in ${dir}/\n`)
})

test('the launcher tells its version without packages and without a build', (t) => {
  const dir = temporaryDir(t)
  for (const part of ['ipid', 'package.json', 'src/ipid.mjs']) cpSync(join(ROOT, part), join(dir, part))
  const { status, stdout, stderr } = spawnSync(join(dir, 'ipid'), ['--version'], { encoding: 'utf8' })
  const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string }
  assert.deepEqual({ status, stdout, stderr }, { status: 0, stdout: `${version}\n`, stderr: '' })
})

test('the launcher on a machine without Node.js says that it is missing', (t) => {
  const dir = temporaryDir(t)
  // This PATH has only the launcher's own tool.
  symlinkSync('/usr/bin/readlink', join(dir, 'readlink'))
  const { status, stderr } = spawnSync('/bin/sh', [join(ROOT, 'ipid')], { env: { PATH: dir }, encoding: 'utf8' })
  assert.equal(status, 1)
  assert.match(stderr, /^ipid: needs Node\.js 20\.12 or newer/)
})
