import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { delimiter, dirname, join, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compiledProgram } from './program.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const UNIT_TESTS = join(ROOT, 'test', 'unit')
/** By name the first: it takes longer than most others, and the runner sorts them. */
const IN_ONE_PROCESS = 'test/all-units.mjs'

/** A test that hangs fails, after longer than any test takes. */
const TIMEOUT_MS = 600_000

/**
 * Runs the tests and returns the exit code of Node's test runner.
 * @param {readonly string[]} args test files or folders (none: all), and options of `node --test`
 */
export async function runTests(args) {
  const options = args.filter((arg) => arg.startsWith('-'))
  const paths = args.filter((arg) => !arg.startsWith('-'))
  const [inOne, alone] = inOneProcess(
    testFiles(paths.length === 0 ? [join(ROOT, 'test')] : paths.map((path) => resolve(path))),
  )
  // Many tests start the program at once, and each would compile it.
  const [path] = await Promise.all([pathWithRedis(), compiledProgram()])
  // Tests that wait for a store or for a process leave a core to others: with as many as there are cores a third of their time is idle.
  const concurrency = Math.max(2, Math.ceil(availableParallelism() * 1.5))
  return await run(
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
      ...(inOne.length > 0 ? [IN_ONE_PROCESS] : []),
      ...alone.map((file) => relative(ROOT, file)),
    ],
    { ...process.env, PATH: path, UNIT_TESTS: JSON.stringify(inOne) },
  )
}

/**
 * A process of its own takes longer to start than most unit tests take: those of several files run in one, file by file.
 * @param {readonly string[]} files
 * @returns {[inOne: string[], alone: string[]]}
 */
function inOneProcess(files) {
  const inOne = files.filter((file) => file.startsWith(`${UNIT_TESTS}${sep}`))
  return inOne.length > 1 ? [inOne, files.filter((file) => !inOne.includes(file))] : [[], [...files]]
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
  const { findRedisServer } = await import('../embedded/redis/binary.ts')
  const path = process.env.PATH ?? ''
  const say = (text) => process.stderr.write(`ipid: ${text}\n`)
  const linkDir = join(ROOT, 'node_modules', '.cache', 'ipid')
  const redis = await findRedisServer({ path, linkDir, log: { info: say, warn: say } })
  return path.split(delimiter).includes(dirname(redis.path)) ? path : `${dirname(redis.path)}${delimiter}${path}`
}

function run(args, env) {
  return new Promise((done, fail) => {
    const child = spawn(process.execPath, args, { cwd: ROOT, env, stdio: 'inherit' })
    // The runner ends its tests by itself; Ctrl-C reaches it as it reaches this process.
    for (const signal of ['SIGINT', 'SIGTERM']) {
      process.removeAllListeners(signal)
      process.on(signal, () => child.kill(signal))
    }
    child.once('error', fail)
    child.once('exit', (code, signal) => done(signal === null ? code : 130))
  })
}
