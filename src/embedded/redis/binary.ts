import { spawn } from 'node:child_process'
import { mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { installRedis } from './install.ts'

export interface RedisBinary {
  readonly path: string
  /** `7.0.15` */
  readonly version: string
}

interface SearchOptions {
  /** Folders to search, as in PATH. */
  readonly path: string
  /** Folders to search after `path`: a user's PATH may lack the folders of servers. */
  readonly moreFolders?: readonly string[]
}

interface FindRedisOptions extends SearchOptions {
  /** Folder for a link to a binary with another name. */
  readonly linkDir: string
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly signal?: AbortSignal
}

const NAMES = ['redis-server', 'valkey-server']

/** Debian and Ubuntu link the server's name to these binaries. Without the service's package, only the link is missing. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  'redis-check-rdb': 'redis-server',
  'valkey-check-rdb': 'valkey-server',
}

const MORE_FOLDERS = ['/usr/local/bin', '/usr/bin', '/usr/local/sbin', '/usr/sbin', '/opt/homebrew/bin']

/** The earliest major version of Redis that works. */
export const REDIS_MAJOR_MIN = 7

/**
 * Finds a Redis or Valkey server from version 7.0 on, or installs one with the package manager if that needs no input.
 * @throws StartupError with instructions
 */
export async function findRedisServer(options: FindRedisOptions): Promise<RedisBinary> {
  const before = await searchRedis(options)
  const found = before instanceof StartupError && (await installRedis(options)) ? await searchRedis(options) : before
  if (found instanceof StartupError) throw found
  return OTHER_NAMES[basename(found.path)] === undefined ? found : { ...found, path: link(found.path, options.linkDir) }
}

/**
 * Searches without a change to the machine.
 * @returns the server, whose file may have another name (`OTHER_NAMES`); the error with instructions when there is none
 */
export async function searchRedis(options: SearchOptions): Promise<RedisBinary | StartupError> {
  const tooOld: string[] = []
  const found = await search(options, tooOld)
  if (found !== undefined) return found
  return StartupError.of(
    tooOld.length === 0 ? 'No redis-server or valkey-server was found' : `${tooOld.at(-1)} is too old`,
    'install Redis 7.0 or newer (Debian, Ubuntu: apt-get install redis-tools; Fedora: dnf install valkey; ' +
      'Alpine: apk add redis; macOS: brew install redis), or set REDIS_URL to a running Redis',
  )
}

async function search(options: SearchOptions, tooOld: string[]): Promise<RedisBinary | undefined> {
  const { path: searchPath, moreFolders = MORE_FOLDERS } = options
  const folders = [...new Set([...searchPath.split(delimiter), ...moreFolders])].filter((folder) => folder !== '')
  for (const name of [...NAMES, ...Object.keys(OTHER_NAMES)]) {
    for (const folder of folders) {
      const path = join(folder, name)
      if (!isFile(path)) continue
      const version = await versionOf(path, OTHER_NAMES[name] ?? name)
      if (version === undefined) continue
      if (Number(version.split('.')[0]) >= REDIS_MAJOR_MIN) return { path, version }
      tooOld.push(`${path} (version ${version})`)
    }
  }
  return undefined
}

function link(path: string, dir: string): string {
  mkdirSync(dir, { recursive: true })
  const server = join(dir, OTHER_NAMES[basename(path)]!)
  rmSync(server, { force: true })
  symlinkSync(path, server)
  return server
}

/** @param name under which it runs: the binary acts as the program of its name */
async function versionOf(path: string, name: string): Promise<string | undefined> {
  const child = spawn(path, ['--version'], { argv0: name, timeout: 10_000, stdio: ['ignore', 'pipe', 'ignore'] })
  // A binary that cannot be run here counts as missing.
  child.once('error', () => {})
  const answer = await text(child.stdout).catch(() => '')
  return /\bv=(\d+\.\d+\.\d+)/.exec(answer)?.[1]
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
