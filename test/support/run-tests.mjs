import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Files of a room that run in one process, one after the other: a process takes longer to start than most tests take, and its files
 * share a ClickHouse and a Chromium. The rooms that take longest come first, so that the run does not end with one long process.
 */
const TOGETHER = new Map([
  ['chaos', 1],
  ['browser', 6],
  ['integration', 10],
  ['conformance', 4],
  ['example', 2],
  ['unit', 80],
])
/** Hooks around each test would also run around tests of other files, and a process has one engine. */
const ALONE = /^(?:before|after)Each\(|againWithNodeHttp\(/m

const IN_TURN = new URL('files-in-turn.mjs', import.meta.url).href

/** A test that hangs fails, after longer than any test, or all tests of a process, take on a busy machine. */
const TIMEOUT_MS = 1_800_000

/**
 * Runs the tests and returns the exit code of Node's test runner.
 * @param {readonly string[]} args test files or folders (none: all), and options of `node --test`
 */
export async function runTests(args) {
  const options = args.filter((arg) => arg.startsWith('-'))
  const paths = args.filter((arg) => !arg.startsWith('-'))
  const asked = paths.length === 0 ? [join(ROOT, 'test')] : paths.map((path) => resolve(path))
  const files = [...new Set(testFiles(asked))]
  const path = await pathWithRedis()
  // Tests that wait for a store or a process leave a core idle: with one file per core a third of the time is idle.
  const concurrency = Math.max(2, Math.ceil(availableParallelism() * 1.5))
  const dir = mkdtempSync(join(tmpdir(), 'ipid-tests-'))
  try {
    return await run(
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
        ...together(files, dir),
      ],
      path,
    )
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * Modules for Node's test runner, each of which runs one or several files. The runner sorts by name.
 * @param {readonly string[]} files
 * @param {string} dir where to write the modules
 * @returns {string[]}
 */
function together(files, dir) {
  if (files.length === 1) return [relative(ROOT, files[0])]
  const left = new Set(files)
  const parts = []
  for (const [room, most] of TOGETHER) {
    const those = files.filter((file) => file.startsWith(join(ROOT, 'test', room) + sep))
    const alone = those.filter((file) => ALONE.test(readFileSync(file, 'utf8')))
    const rest = those.filter((file) => !alone.includes(file))
    const count = Math.ceil(rest.length / most)
    // Neighbours are of one kind, and some kinds are slow: each part gets every n-th file.
    const inParts = Array.from({ length: count }, (_, part) => rest.filter((_, i) => i % count === part))
    for (const some of [...alone.map((file) => [file]), ...inParts]) {
      const path = join(dir, `${String(parts.length).padStart(2, '0')}-${room}.together.mjs`)
      const list = some.map((file) => ({ name: relative(ROOT, file), url: pathToFileURL(file).href }))
      writeFileSync(path, `import { runInTurn } from ${JSON.stringify(IN_TURN)}\nrunInTurn(${JSON.stringify(list)})\n`)
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

function run(command, args, path = process.env.PATH) {
  return new Promise((done, fail) => {
    const child = spawn(command, args, { cwd: ROOT, env: { ...process.env, PATH: path }, stdio: 'inherit' })
    // It ends its tests by itself; Ctrl-C reaches it like this process.
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.removeAllListeners(signal)
      process.on(signal, () => child.kill(signal))
    }
    child.once('error', fail)
    child.once('exit', (code, signal) => done(signal === null ? code : 130))
  })
}
