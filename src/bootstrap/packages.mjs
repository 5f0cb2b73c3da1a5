import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdLeash } from '../run/leash.mjs'
import { takeLock, untilReleased } from '../run/socket-lock.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/** npm writes this file after the last package, so a tree that has it is complete as far as npm knows. Relative to the root. */
export const TREE_FILE = join('node_modules', '.package-lock.json')

/**
 * Installs the packages that package-lock.json names, unless they are there already. Safe when several processes do it
 * at once, and after one of them was killed in the middle.
 * @param {{ withDev: boolean, root?: string, sayEveryMs?: number }} options `withDev`: what only tests need, too;
 * `sayEveryMs`: how often progress is printed, since npm is silent for minutes on a slow network
 */
export async function ensurePackages({ withDev, root = ROOT, sayEveryMs = 10_000 }) {
  if (isInstalled(root, withDev)) return
  const lock = await takeInstallLock(root)
  try {
    // Another process may have installed them while this one waited.
    if (isInstalled(root, withDev)) return
    const progress = setInterval(sayProgress, sayEveryMs, root, withDev, Date.now())
    await install(root, withDev).finally(() => clearInterval(progress))
  } finally {
    await lock.release()
  }
  if (!isInstalled(root, withDev)) {
    throw new Error('npm has not installed all packages of package-lock.json: remove node_modules and try again')
  }
}

/** Whether every package of the lock file is there, in its version. Optional ones of other platforms need not be. */
export function isInstalled(root, withDev) {
  const wanted = readPackages(join(root, 'package-lock.json'))
  const found = readPackages(join(root, TREE_FILE))
  if (found === undefined) return false
  if (wanted === undefined) return true
  return wantedPaths(wanted, withDev).every(
    (path) => found[path]?.version === wanted[path].version && existsSync(join(root, path, 'package.json')),
  )
}

function readPackages(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8')).packages
  } catch {
    // A file cut short is as good as none.
    return undefined
  }
}

async function takeInstallLock(root) {
  const path = installLock(root)
  for (;;) {
    const lock = await takeLock(path)
    if (lock !== undefined) return lock
    say('waiting for another process that installs the packages')
    await untilReleased(path)
  }
}

/** A socket's path ends at 104 bytes; npm runs scripts in the root, from where the path is short. */
function installLock(root) {
  const path = join(root, '.ipid-install.sock')
  return [path, relative('', path)].sort((a, b) => a.length - b.length)[0]
}

function sayProgress(root, withDev, startedMs) {
  const paths = wantedPaths(readPackages(join(root, 'package-lock.json')) ?? {}, withDev)
  const there = paths.filter((path) => existsSync(join(root, path, 'package.json'))).length
  const seconds = Math.round((Date.now() - startedMs) / 1_000)
  say(`still installing packages after ${seconds} s: ${there} of ${paths.length} are there`)
}

/** Where the packages of a lock file belong, but optional ones. */
function wantedPaths(wanted, withDev) {
  return Object.entries(wanted)
    .filter(([path, entry]) => path !== '' && !entry.optional && !entry.devOptional && (withDev || !entry.dev))
    .map(([path]) => path)
}

async function install(root, withDev) {
  const options = ['--no-audit', '--no-fund', '--loglevel=error', ...(withDev ? ['--include=dev'] : [])]
  // From here on an interrupted installation is seen as such.
  rmSync(join(root, TREE_FILE), { force: true })
  say('installing packages (a few minutes the first time)')
  const exact = await npm(root, ['ci', ...options])
  if (exact.code === 0) return
  // The lock file does not fit this npm or this registry.
  say(
    `npm ci failed, so npm install is tried, which may choose other versions; npm ci said:\n${firstLines(exact.said)}`,
  )
  // npm install takes a package that was cut short for a whole one.
  rmSync(join(root, 'node_modules'), { recursive: true, force: true, maxRetries: 10 })
  const { code, said } = await npm(root, ['install', '--no-save', ...options])
  if (code === 0) return
  throw new Error(`the packages cannot be installed; npm says:\n${firstLines(said)}`)
}

function firstLines(text) {
  return text.trim().split('\n').slice(0, 20).join('\n')
}

/** Runs npm and keeps what it says. */
function npm(root, args) {
  const [command, ...first] = npmCommand()
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] })
    const leash = child.pid === undefined ? undefined : holdLeash(child.pid, 0)
    // npm takes its time to end, and what it leaves half-way is thrown away by the next start.
    const end = () => child.kill('SIGKILL')
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
    })
    process.once('exit', end)
    child.once('error', (error) => reject(new Error(`npm cannot be run: ${error.message}`)))
    child.once('close', (code) => {
      leash?.release()
      process.removeListener('exit', end)
      resolve({ code: code ?? 1, said })
    })
  })
}

/** The npm that runs this script, or the one on PATH. */
function npmCommand() {
  const path = process.env.npm_execpath
  if (path !== undefined && basename(path) === 'npm-cli.js' && existsSync(path)) return [process.execPath, path]
  return ['npm']
}

function say(text) {
  process.stderr.write(`ipid: ${text}\n`)
}
