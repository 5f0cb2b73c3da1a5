import { spawn } from 'node:child_process'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { holdLeash } from '../run/leash.mjs'
import { takeLock, untilReleased } from '../run/socket-lock.mjs'
import { TREE_FILE } from './build.mjs'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

/**
 * Installs the packages of package-lock.json unless they are installed. Safe for several processes at once, and after a kill.
 * @param {{ withDev: boolean, root?: string, sayEveryMs?: number }} options `withDev`: development dependencies too;
 * `sayEveryMs`: interval of progress messages, because npm is silent for minutes on a slow network
 */
export async function ensurePackages({ withDev, root = ROOT, sayEveryMs = 10_000 }) {
  if (isInstalled(root, withDev)) return
  const lock = await takeInstallLock(root)
  try {
    // Another process may have installed them in the meantime.
    if (isInstalled(root, withDev)) return
    const progress = setInterval(sayProgress, sayEveryMs, root, withDev, Date.now())
    await install(root, withDev).finally(() => clearInterval(progress))
  } finally {
    await lock.release()
  }
  if (!isInstalled(root, withDev)) {
    throw new Error('npm has not installed all packages of package-lock.json: delete node_modules and try again')
  }
}

/** Whether every required package of the lock file is installed in its version. */
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
    // A truncated file counts as missing.
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

/** The shorter of two paths, because a socket's path has at most 104 bytes. npm runs scripts in the root. */
function installLock(root) {
  const path = join(root, '.ipid-install.sock')
  return [path, relative('', path)].sort((a, b) => a.length - b.length)[0]
}

function sayProgress(root, withDev, startedMs) {
  const paths = wantedPaths(readPackages(join(root, 'package-lock.json')) ?? {}, withDev)
  const there = paths.filter((path) => existsSync(join(root, path, 'package.json'))).length
  const seconds = Math.round((Date.now() - startedMs) / 1_000)
  say(`still installing packages after ${seconds} s: ${there} of ${paths.length} installed`)
}

/** Paths of the packages of a lock file, without optional ones. */
function wantedPaths(wanted, withDev) {
  return Object.entries(wanted)
    .filter(([path, entry]) => path !== '' && !entry.optional && !entry.devOptional && (withDev || !entry.dev))
    .map(([path]) => path)
}

async function install(root, withDev) {
  const options = ['--no-audit', '--no-fund', '--loglevel=error', ...(withDev ? ['--include=dev'] : [])]
  // Without this file, an interrupted installation is recognised and repeated.
  rmSync(join(root, TREE_FILE), { force: true })
  say('installing packages (a few minutes the first time)')
  if (await npmSucceeds(root, ['ci', ...options])) return
  // The lock file does not fit this npm or this registry.
  say('npm ci failed; trying npm install, which may choose other versions')
  // npm install accepts a truncated package as complete.
  rmSync(join(root, 'node_modules'), { recursive: true, force: true, maxRetries: 10 })
  if (await npmSucceeds(root, ['install', '--no-save', ...options])) return
  throw new Error('the packages cannot be installed: see the errors of npm above')
}

/** Runs npm, which prints its errors. The leash kills it with this process: the next start discards a partial installation. */
function npmSucceeds(root, args) {
  const [command, ...first] = npmCommand()
  return new Promise((resolve, reject) => {
    const child = spawn(command, [...first, ...args], { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
    const leash = child.pid === undefined ? undefined : holdLeash(child.pid, 0)
    child.once('error', (error) => reject(new Error(`npm cannot be run: ${error.message}`)))
    child.once('close', (code) => {
      leash?.release()
      resolve(code === 0)
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
