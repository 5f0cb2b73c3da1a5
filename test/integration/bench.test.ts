import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { processesNaming } from '../support/processes.ts'
import { until } from '../support/until.ts'

interface Bench {
  readonly child: ChildProcess
  /** Everything of it is here, or names it. */
  readonly dir: string
  readonly output: Promise<string>
  readonly code: Promise<number | null>
}

function startBench(t: TestContext, args: readonly string[]): Bench {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-test-bench-'))
  const child = spawn(process.execPath, ['src/bootstrap.mjs', 'bench', ...args, '--set', 'DEFAULT_DATA=off'], {
    env: { ...process.env, TMPDIR: dir },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.after(() => {
    for (const pid of processesNaming(dir)) process.kill(pid, 'SIGKILL')
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  let printed = ''
  child.stdout.on('data', (data) => {
    printed += data
  })
  const code = once(child, 'close').then(([code]) => code as number | null)
  return { child, dir, code, output: code.then(() => printed) }
}

function demandNothingLeft({ dir }: Bench): void {
  assert.deepEqual(processesNaming(dir), [])
  // What Node.js and tsx remember of sources is theirs.
  assert.deepEqual(
    readdirSync(dir).filter((name) => name.startsWith('ipid-')),
    [],
  )
}

test('npm run bench prints figures of a run whose rows were counted, and leaves nothing', async (t) => {
  const args = ['ingest-100', '--seconds', '1', '--runs', '1', '--connections', '2', '--no-bounds', '--json']
  const bench = startBench(t, [...args, '--loader', 'own'])
  assert.equal(await bench.code, 0)
  const { results } = JSON.parse(await bench.output)
  const [{ scenario, runs, figures, bounds }] = results
  assert.deepEqual([scenario, runs, bounds, results.length], ['ingest-100', 1, [], 1])
  for (const name of ['events/s', 'answered events/s', 'p50 ms', 'cpu ingress µs/event', 'peak clickhouse MB']) {
    assert.ok(figures[name].median > 0, name)
  }
  assert.ok(figures['answered events/s'].median >= figures['events/s'].median)
  assert.ok(figures['p99 ms'].median >= figures['p50 ms'].median)
  demandNothingLeft(bench)
})

test('npm run bench that is interrupted leaves nothing', async (t) => {
  const bench = startBench(t, ['idle', '--runs', '1'])
  await until(() => processesNaming(bench.dir).length > 3)
  bench.child.kill('SIGINT')
  assert.equal(await bench.code, 130)
  demandNothingLeft(bench)
})
