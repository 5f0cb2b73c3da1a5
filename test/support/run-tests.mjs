import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * A process of its own takes longer to start than most tests take: those of several files run in one, file by file. So many files of a
 * room, at most.
 */
const TOGETHER = new Map([
  ['unit', Number.POSITIVE_INFINITY],
  ['integration', 8],
])
/** What a file does while it is loaded it would do beside the tests of others. */
const AT_LOADING = /^(?![ \t/*]).*\bawait\b|^(?:before|after)Each\(/m

/** A test that hangs fails, after longer than any test, or all those of a process, take. */
const TIMEOUT_MS = 600_000

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
  // Tests that wait for a store or for a process leave a core to others: with as many as there are cores a third of their time is idle.
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
        ...together(files, dir),
      ],
      path,
    )
  } finally {
    rmSync(dir, { recursive: true, force: true })
  }
}

/**
 * What Node's test runner is to run: files, and modules of several, which it begins with, since it sorts by name.
 * @param {readonly string[]} files
 * @param {string} dir where the modules are written
 * @returns {string[]}
 */
export function together(files, dir) {
  const parts = []
  const alone = new Set(files)
  for (const [room, most] of TOGETHER) {
    const those = files.filter(
      (file) => file.startsWith(join(ROOT, 'test', room) + sep) && !AT_LOADING.test(readFileSync(file, 'utf8')),
    )
    const count = Math.max(1, Math.ceil(those.length / most))
    if (those.length < 2) continue
    for (let part = 0; part < count; part++) {
      // Those beside each other are of one kind, and some kinds take long.
      const some = those.filter((_, i) => i % count === part)
      const path = join(dir, `${room}-${String(part + 1).padStart(2, '0')}.together.mjs`)
      // One module imports them all, so that they are loaded before the first test begins: with what is loaded behind it, the last one
      // may be over before the next is there.
      writeFileSync(path, some.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)}\n`).join(''))
      for (const file of some) alone.delete(file)
      parts.push(path)
    }
  }
  return [...parts, ...[...alone].map((file) => relative(ROOT, file))]
}

function testFiles(paths) {
  return paths.flatMap((path) => {
    if (!existsSync(path)) throw new Error(`there is no test ${path}`)
    if (!statSync(path).isDirectory()) return [path]
    const names = readdirSync(path, { recursive: true })
    return names
      .filter((name) => name.endsWith('.test.ts'))
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
    // It ends its tests by itself; Ctrl-C reaches it as it reaches this process.
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.removeAllListeners(signal)
      process.on(signal, () => child.kill(signal))
    }
    child.once('error', fail)
    child.once('exit', (code, signal) => done(signal === null ? code : 130))
  })
}
