import { execFile } from 'node:child_process'
import { mkdirSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { basename, delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { installRedis } from './install.ts'

const run = promisify(execFile)

export interface RedisBinary {
  readonly path: string
  /** `7.0.15` */
  readonly version: string
}

interface FindRedisOptions {
  /** Folders to search, as in PATH. */
  readonly path: string
  /** Folder for a link to a binary with another name. */
  readonly linkDir: string
  /** Folders to search after `path`: a user's PATH may lack the folders of servers. */
  readonly moreFolders?: readonly string[]
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

const MAJOR_MIN = 7

/**
 * Finds a Redis or Valkey server from version 7.0 on, or installs one with the package manager if that needs no input.
 * @throws StartupError with instructions
 */
export async function findRedisServer(options: FindRedisOptions): Promise<RedisBinary> {
  const tooOld: string[] = []
  const found = (await search(options, tooOld)) ?? (await searchAfterInstall(options, tooOld))
  if (found !== undefined) return found
  const seen = tooOld.length === 0 ? 'No redis-server or valkey-server was found' : `${tooOld.at(-1)} is too old`
  throw new StartupError(
    `${seen}: install Redis 7.0 or newer (Debian, Ubuntu: apt-get install redis-tools; Fedora: dnf install valkey; ` +
      'Alpine: apk add redis; macOS: brew install redis), or set REDIS_URL to a running Redis',
  )
}

async function searchAfterInstall(options: FindRedisOptions, tooOld: string[]): Promise<RedisBinary | undefined> {
  if (!(await installRedis(options))) return undefined
  return await search(options, tooOld)
}

async function search(options: FindRedisOptions, tooOld: string[]): Promise<RedisBinary | undefined> {
  const { path: searchPath, moreFolders = MORE_FOLDERS } = options
  const folders = [...new Set([...searchPath.split(delimiter), ...moreFolders])].filter((folder) => folder !== '')
  for (const name of [...NAMES, ...Object.keys(OTHER_NAMES)]) {
    for (const folder of folders) {
      const path = join(folder, name)
      if (!isFile(path)) continue
      const server = OTHER_NAMES[name] === undefined ? path : link(path, options.linkDir)
      const version = await versionOf(server)
      if (version === undefined) continue
      if (Number(version.split('.')[0]) >= MAJOR_MIN) return { path: server, version }
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

async function versionOf(path: string): Promise<string | undefined> {
  try {
    const { stdout } = await run(path, ['--version'], { timeout: 10_000 })
    return /\bv=(\d+\.\d+\.\d+)/.exec(stdout)?.[1]
  } catch {
    // A binary that cannot be run here counts as missing.
    return undefined
  }
}

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile()
  } catch {
    return false
  }
}
