import { ChildProcess } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'

/*
 * Imported before each test file. It ends the process after its tests: a handle that a test left open would delay the
 * whole run until its time-out. It fails the tests of a file when a process that they started had an unhandled rejection.
 */

/** After the last test; `after` hooks stop instances meanwhile. */
const END_WITHIN_MS = Number(process.env.TEST_END_MS ?? 20_000)

/** Node runs a hook that is registered inside a test after that test; these run after the last test of the process. */
const ends = []

/**
 * Registers the function that stops a store shared by several tests.
 * @param {() => unknown} end
 */
export function atProcessEnd(end) {
  ends.push(end)
}

/** Stops the shared stores of a program that is no test. */
export async function stopShared() {
  await Promise.all(ends.splice(0).map((stop) => stop()))
}

if (/\.test\.\w+$|\.together\.mjs$/.test(process.argv[1] ?? '')) {
  // Otherwise a forked child runs the hook for TypeScript as well: 0.5 s of CPU for each process of an instance.
  process.execArgv = []
  after(async () => {
    const end = () => {
      process.stderr.write(`still open after the last test: ${process.getActiveResourcesInfo().join(', ')}\n`)
      process.exit(1)
    }
    setTimeout(end, END_WITHIN_MS).unref()
    await stopShared()
    assertNone()
  })
  const assertNone = noteRejections()
}

/**
 * Every Node.js process started from here, and its own children, notes its unhandled rejections. A test that sets `NODE_OPTIONS`
 * itself is left alone.
 * @returns throws when there was one
 */
function noteRejections() {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-rejections-'))
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'rejections')
  const importing = new URL(`note-rejections.mjs?to=${encodeURIComponent(path)}`, import.meta.url).href
  const { spawn } = ChildProcess.prototype
  ChildProcess.prototype.spawn = function (options) {
    const { file, envPairs } = options
    const isFree = envPairs !== undefined && !envPairs.some((pair) => pair.startsWith('NODE_OPTIONS='))
    if (file === process.execPath && isFree) envPairs.push(`NODE_OPTIONS=--import=${importing}`)
    return spawn.call(this, options)
  }
  return () => {
    if (existsSync(path)) throw new Error(`a process had an unhandled rejection: ${readFileSync(path, 'utf8')}`)
  }
}
