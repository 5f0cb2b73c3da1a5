import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { processesNaming } from '../support/processes.ts'
import { until } from '../support/until.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  test(`${signal} to npm test ends the instances that tests started, and removes their folders`, async (t) => {
    const dir = mkdtempSync(join(tmpdir(), 'runner-'))
    t.after(() => rmSync(dir, { recursive: true, force: true }))
    const { NODE_TEST_CONTEXT: _, ...env } = process.env
    const args = ['src/bootstrap.mjs', 'test', 'test/support/endless-test.ts']
    const runner = spawn(process.execPath, args, {
      cwd: ROOT,
      env: { ...env, TMPDIR: dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    const collect = (text: string) => {
      printed += text
    }
    for (const stream of [runner.stdout, runner.stderr]) stream.setEncoding('utf8').on('data', collect)
    const ended = once(runner, 'exit')
    await until(() => {
      assert.equal(runner.exitCode, null, printed)
      return /ready \d+/.test(printed)
    })
    assert.ok(processesNaming(dir).length > 4, 'a runner, its test, and the processes of an instance')

    runner.kill(signal)
    assert.notEqual((await ended)[0], 0)
    assert.deepEqual(processesNaming(dir), [])
    assert.deepEqual(
      readdirSync(dir).filter((name) => name.startsWith('ipid-')),
      [],
    )
  })
}
