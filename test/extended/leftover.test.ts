import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { endLeftover, noteProcess } from '../../src/embedded/processes/leftover.ts'

const log = pino({ level: 'silent' })

async function sleeper(t: TestContext, mark: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ['--eval', 'console.log(1); setInterval(() => {}, 1e6)', mark])
  t.after(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  return child
}

function setUp(t: TestContext) {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-leftover-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  const file = join(dir, 'process.pid')
  const end = (commandPart: string) =>
    endLeftover({ file, commandPart, name: 'sleeper', log, signal: new AbortController().signal })
  return { file, end }
}

test('a noted process is ended, also one that hangs, and the note is removed', async (t) => {
  const { file, end } = setUp(t)
  const child = await sleeper(t, 'of-this-folder')
  const exited = once(child, 'exit')
  noteProcess(file, child.pid!)
  child.kill('SIGSTOP')
  await end('of-this-folder')
  assert.deepEqual(await exited, [null, 'SIGKILL'])
  assert.ok(!existsSync(file))
  await end('of-this-folder')
})

test('a process that has since got the same id is left alone', async (t) => {
  const { file, end } = setUp(t)
  const child = await sleeper(t, 'of-another-folder')
  noteProcess(file, child.pid!)
  await end('of-this-folder')
  assert.equal(child.signalCode, null)
  noteProcess(file, child.pid!)
  writeFileSync(file, readFileSync(file, 'utf8').replace(/ .*/, ' 1'))
  await end('of-another-folder')
  process.kill(child.pid!, 0)
  noteProcess(file, child.pid!)
  const exited = once(child, 'exit')
  await end('of-another-folder')
  await exited
})
