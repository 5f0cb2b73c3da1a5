import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '../../run/errors.ts'

/** Where an instance keeps what it needs while it runs, and what others use to find it. */
export interface DataDir {
  readonly path: string
  /** Data of the embedded Redis. */
  readonly redis: string
  /** Data of the embedded ClickHouse. */
  readonly clickhouse: string
  /** `instance.json`, `clickhouse.pid`; sockets too, unless their paths would be too long. Mode 0700. */
  readonly run: string
  readonly instanceFile: string
  /** Notes the process of the embedded ClickHouse. */
  readonly clickhousePidFile: string
  readonly lock: string
  readonly redisSocket: string
}

/** Paths of unix sockets end at 104 bytes (macOS) or 108 (Linux); a lock adds its process id for a moment. */
const SOCKET_PATH_MAX_BYTES = 90

/** The paths of a DATA_DIR, which need not exist. */
export function dataDirAt(dir: string): DataDir {
  const path = realPath(dir)
  const run = join(path, 'run')
  const sockets = Buffer.byteLength(join(run, 'redis.sock')) <= SOCKET_PATH_MAX_BYTES ? run : shortFolder(path)
  return {
    path,
    redis: join(path, 'redis'),
    clickhouse: join(path, 'clickhouse'),
    run,
    instanceFile: join(run, 'instance.json'),
    clickhousePidFile: join(run, 'clickhouse.pid'),
    lock: join(sockets, 'lock.sock'),
    redisSocket: join(sockets, 'redis.sock'),
  }
}

/**
 * Makes the folders, readable for this user only.
 * @throws StartupError when that is impossible, or another user can write to a folder
 */
export function makeDataDir(dir: string): DataDir {
  makeFolder(dir)
  const paths = dataDirAt(dir)
  assertPrivate(paths.path)
  const sockets = dirname(paths.lock)
  for (const folder of [paths.run, sockets, paths.redis, paths.clickhouse]) makeFolder(folder)
  for (const folder of [paths.run, sockets]) {
    if (!isOf(lstatSync(folder), userId())) throw foreign(folder)
    chmodSync(folder, 0o700)
  }
  return paths
}

/**
 * The paths of a DATA_DIR for a command that believes what is in it. It need not exist.
 * @throws StartupError when another user can write to a folder: what is in it may be theirs
 */
export function trustedDataDir(dir: string): DataDir {
  const paths = dataDirAt(dir)
  const owner = assertPrivate(paths.path)
  for (const folder of [paths.run, dirname(paths.lock)]) {
    const found = lstatSync(folder, { throwIfNoEntry: false })
    if (found !== undefined && !isOf(found, userId()) && !isOf(found, owner)) throw foreign(folder)
  }
  return paths
}

/**
 * @returns the id of the owner; undefined when there is no such folder
 * @throws StartupError when somebody else may have put the folder there, or may change it
 */
function assertPrivate(path: string): number | undefined {
  const found = statOf(path)
  if (found === undefined || userId() === undefined) return undefined
  // Root owns the mount of a volume that the group of this user may write to, as Kubernetes makes it.
  const isTrusted = isOf(found, userId()) || isOf(found, ROOT) || (userId() === ROOT && !isForAll(dirname(path)))
  if (!isTrusted) throw foreign(path)
  if (isForAll(path)) throw openForAll(path, found)
  return found.uid
}

/** @throws StartupError when this user may not even look */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    throw new StartupError(`cannot read the folder ${path}: ${(error as Error).message}`)
  }
}

function isForAll(path: string): boolean {
  return (statSync(path).mode & 0o002) !== 0
}

function isOf(stats: Stats, user: number | undefined): boolean {
  return stats.isDirectory() && (userId() === undefined || stats.uid === user)
}

function foreign(folder: string): StartupError {
  return new StartupError(`${folder} is not a folder of this user: remove it, or choose another DATA_DIR`)
}

function openForAll(path: string, found: Stats): StartupError {
  if (isOf(found, userId())) {
    return new StartupError(`every user can write to ${path}: chmod 700 it, or choose another DATA_DIR`)
  }
  // This user may not change it: a volume of Docker, or a mount.
  const command = `chown ${userId()}:${process.getgid?.()} ${path} && chmod 700 ${path}`
  const inDocker = `docker run --rm -u 0 --entrypoint sh -v VOLUME:${path} IMAGE -c '${command}'`
  return new StartupError(
    `every user can write to ${path}, which root owns: as root, run "${command}" (for a Docker volume: ${inDocker}), or choose another DATA_DIR`,
  )
}

/** It can change every folder anyway. */
const ROOT = 0

/** Undefined on Windows. */
function userId(): number | undefined {
  return process.getuid?.()
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(`cannot make the folder ${folder}: ${(error as Error).message}`)
  }
}

function shortFolder(path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(tmpdir(), `ipid-${userId() ?? 0}-${hash}`)
}

/** The same folder has the same sockets, whichever way leads to it. */
function realPath(dir: string): string {
  try {
    return realpathSync(dir)
  } catch {
    return resolve(dir)
  }
}
