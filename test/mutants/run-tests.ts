import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Releases } from '../../bench/run/releases.ts'
import type { NoticingTests } from './mutant.ts'
import type { TestReport } from './verdict.ts'

export interface TestRun {
  readonly reports: readonly TestReport[]
  /** Whether it was ended at its time limit. */
  readonly cutOff: boolean
  /** Its output, for people. */
  readonly said: string
}

/** A slower test fails, in milliseconds; and so does a whole run. */
const TEST_MAX_MS = 120_000
const RUN_MAX_MS = 240_000
/** A condition that a mutant prevents is not waited for as long as on a busy machine. */
const WAIT_MS = 40_000
const OUTPUT_CHARS_MAX = 20_000

/** Runs tests of a checkout as `npm test` does, with its program built: the process of ClickHouse cannot build for itself. */
export async function runTests(root: string, tests: readonly NoticingTests[], releases: Releases): Promise<TestRun> {
  const path = join(root, 'reports.ndjson')
  await rm(path, { force: true })
  const isWhole = tests.some(([, ...titles]) => titles.length === 0)
  const titles = isWhole ? [] : tests.flatMap(([, ...names]) => names)
  await build(root)
  const child = spawn(
    process.execPath,
    [
      ...['--import', 'tsx', '--import', './test/support/end.mjs', '--test', `--test-timeout=${TEST_MAX_MS}`],
      ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
      ...['--test-reporter=./test/mutants/reporter.mjs', `--test-reporter-destination=${path}`],
      ...titles.map((title) => `--test-name-pattern=${escaped(title)}`),
      ...tests.map(([file]) => file),
    ],
    { cwd: root, env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'pipe'], detached: true },
  )
  const gone = once(child, 'close')
  const kill = () => {
    try {
      // It leads its own process group: the runner, files, and stores that they started.
      process.kill(-child.pid!, 'SIGKILL')
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
    }
  }
  const release = releases.add(async () => {
    kill()
    await gone
  })
  let said = ''
  const hear = (text: string) => {
    said = (said + text).slice(-OUTPUT_CHARS_MAX)
  }
  child.stdout.setEncoding('utf8').on('data', hear)
  child.stderr.setEncoding('utf8').on('data', hear)
  let cutOff = false
  const late = setTimeout(() => {
    cutOff = true
    kill()
  }, RUN_MAX_MS)
  await gone
  clearTimeout(late)
  await release()
  const lines = await readFile(path, 'utf8').catch(() => '')
  // A run that was cut off may have left half a line.
  const reports = lines.split('\n').slice(0, -1)
  return { reports: reports.map((line) => JSON.parse(line) as TestReport), cutOff, said }
}

const BUILD = "await (await import('./src/bootstrap/build.mjs')).built()"

async function build(root: string): Promise<void> {
  await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', BUILD], { cwd: root })
}

/** Not that of a test that runs this one. */
function cleanEnvironment(): NodeJS.ProcessEnv {
  const { NODE_TEST_CONTEXT, NODE_OPTIONS, ...rest } = process.env
  return { ...rest, TEST_WAIT_MS: String(WAIT_MS) }
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&')
}
