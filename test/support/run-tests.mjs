import { spawn } from 'node:child_process'
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** The folders of `npm test`: they prove the product in under 5 minutes on two cores. `npm run test:all` runs every folder. */
const QUICK = ['unit', 'integration', 'tour']

/**
 * The processes of a room share its files, each one file after the other: a process takes longer to start than most tests take,
 * and its files share a ClickHouse and a Chromium. The number is the least files of a process. The rooms with long tests come first, so
 * that the run does not end with one long process.
 */
const ROOMS = new Map([
  ['chaos', 1],
  ['tour', 1],
  ['browser', 4],
  ['extended', 10],
  ['integration', 10],
  ['conformance', 4],
  ['example', 2],
  ['unit', 50],
])
/** Hooks around each test would also run around tests of other files, and a process has one engine. */
const ALONE = /^(?:before|after)Each\(|againWithNodeHttp\(/m

const IN_TURN = new URL('files-in-turn.mjs', import.meta.url).href

/** A test that hangs fails, after longer than any test, or all tests of a process, take on a busy machine. */
const TIMEOUT_MS = 1_800_000

/** Time for a signalled process to end, before SIGKILL. */
const END_WITHIN_MS = 10_000

/**
 * Runs tests. Their temporary files and processes end with the run, also after SIGINT; a process that outlives its test fails the run.
 * @param {readonly string[]} args test files or folders, and options of `node --test`
 * @param {{ all?: boolean }} [tier] all: without files or folders, every test instead of the quick ones
 * @returns {Promise<number>} the exit code
 */
export async function runTests(args, { all = false } = {}) {
  const options = args.filter((arg) => arg.startsWith('-'))
  const paths = args.filter((arg) => !arg.startsWith('-'))
  const folders = all ? [''] : QUICK
  const asked =
    paths.length === 0 ? folders.map((name) => join(ROOT, 'test', name)) : paths.map((path) => resolve(path))
  const files = [...new Set(testFiles(asked))]
  const path = await pathWithRedis()
  // Tests that wait for a store or a process leave a core idle: with one file per core a third of the time is idle.
  const concurrency = Math.max(2, Math.ceil(availableParallelism() * 1.5))
  const dir = temporaryFolder()
  try {
    const code = await run(
      process.execPath,
      [
        '--import',
        'tsx',
        '--import',
        './test/support/end.mjs',
        '--test',
        `--test-concurrency=${concurrency}`,
        `--test-timeout=${TIMEOUT_MS}`,
        '--test-reporter=spec',
        ...options,
        // A pattern for titles must also match the tests that load the files.
        ...(options.some((option) => option.startsWith('--test-name-pattern'))
          ? ['--test-name-pattern=^loads test/']
          : []),
        ...together(files, dir, concurrency),
      ],
      { PATH: path, TMPDIR: dir },
    )
    return (await endProcesses(dir)) && code === 0 ? 1 : code
  } finally {
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
}

/** The TMPDIR of a run. Its name leads to every process that a test started: each has a folder in it, in its environment or arguments. */
function temporaryFolder() {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-tests-'))
  // Compiled modules are kept from run to run.
  for (const name of [`tsx-${process.geteuid?.()}`, 'node-compile-cache']) {
    mkdirSync(join(tmpdir(), name), { recursive: true })
    symlinkSync(join(tmpdir(), name), join(dir, name))
  }
  return dir
}

/**
 * Ends the processes of a run that are left, and names them.
 * @param {string} dir the TMPDIR of the run
 * @returns {Promise<boolean>} whether there were any
 */
async function endProcesses(dir) {
  // Elsewhere nothing says which processes are of this run.
  if (process.platform !== 'linux') return false
  const { commandLine, processesNaming } = await import('./processes.ts')
  const left = processesNaming(dir)
  for (const pid of left) {
    process.stderr.write(
      `ipid: still running after the tests, ended now: ${pid} ${commandLine(pid).replaceAll('\0', ' ')}\n`,
    )
    signal(pid, 'SIGTERM')
  }
  const deadline = Date.now() + END_WITHIN_MS
  for (let running = left; running.length > 0; running = processesNaming(dir)) {
    if (Date.now() > deadline) for (const pid of running) signal(pid, 'SIGKILL')
    await sleep(50)
  }
  return left.length > 0
}

function signal(pid, name) {
  try {
    process.kill(pid, name)
  } catch (error) {
    if (error.code !== 'ESRCH') throw error
  }
}

/**
 * Modules for Node's test runner, each of which runs one or several files. The runner sorts by name.
 * @param {readonly string[]} files
 * @param {string} dir where to write the modules
 * @param {number} processesMax of a room
 * @returns {string[]}
 */
function together(files, dir, processesMax) {
  if (files.length === 1) return [relative(ROOT, files[0])]
  const left = new Set(files)
  const parts = []
  for (const [room, filesMin] of ROOMS) {
    const those = files.filter((file) => file.startsWith(join(ROOT, 'test', room) + sep))
    const alone = those.filter((file) => ALONE.test(readFileSync(file, 'utf8')))
    const rest = those.filter((file) => !alone.includes(file))
    const count = Math.min(processesMax, Math.ceil(rest.length / filesMin))
    for (const some of [...alone.map((file) => [file]), ...Array(count).fill(rest)]) {
      const path = join(dir, `${String(parts.length).padStart(2, '0')}-${room}.together.mjs`)
      const list = some.map((file) => ({ name: relative(ROOT, file), url: pathToFileURL(file).href }))
      // The processes of a room share its folder.
      const taken = join(dir, `taken-${some === rest ? room : parts.length}`)
      mkdirSync(taken, { recursive: true })
      const args = [list, taken].map((value) => JSON.stringify(value))
      writeFileSync(path, `import { runInTurn } from ${JSON.stringify(IN_TURN)}\nrunInTurn(${args})\n`)
      for (const file of some) left.delete(file)
      parts.push(path)
    }
  }
  return [...parts, ...[...left].map((file) => relative(ROOT, file))]
}

function testFiles(paths) {
  return paths.flatMap((path) => {
    if (!existsSync(path)) throw new Error(`there is no test ${path}`)
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path, { recursive: true })
    return names
      .filter((name) => name.endsWith('.test.ts') && !name.split(sep).includes('node_modules'))
      .map((name) => join(path, name))
      .sort()
  })
}

/** PATH, with the folder of a Redis server in it. */
export async function pathWithRedis() {
  const { findRedisServer } = await import('../../src/embedded/redis/binary.ts')
  const path = process.env.PATH ?? ''
  const say = (text) => process.stderr.write(`ipid: ${text}\n`)
  const linkDir = join(ROOT, 'node_modules', '.cache', 'ipid')
  const redis = await findRedisServer({ path, linkDir, log: { info: say, warn: say } })
  return path.split(delimiter).includes(dirname(redis.path)) ? path : `${dirname(redis.path)}${delimiter}${path}`
}

const BIN = join(ROOT, 'node_modules', '.bin')

/** Types, style, directions of imports and the list of mutants, each as a command and its arguments. */
const CHECKS = [
  [join(BIN, 'tsc'), ['--noEmit']],
  [join(BIN, 'tsc'), ['--noEmit', '-p', 'src/dashboard/pages']],
  [join(BIN, 'biome'), ['check', '.']],
  [process.execPath, ['--import', 'tsx', '--test', 'test/unit/imports.test.ts', 'test/unit/mutants.test.ts']],
]

/** Runs the checks, and returns the exit code of the first that fails, or 0. */
export async function runChecks() {
  for (const [command, args] of CHECKS) {
    const code = await run(command, args)
    if (code !== 0) return code
  }
  return 0
}

function run(command, args, env = {}) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, ...env }, stdio: 'inherit' })
    // The child ends its tests by itself; Ctrl-C reaches both processes.
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.removeAllListeners(signal)
      process.on(signal, () => child.kill(signal))
    }
    child.once('error', fail)
    child.once('exit', (code, signal) => done(signal === null ? code : 130))
  })
}
