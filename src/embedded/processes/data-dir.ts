import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, realpathSync, type Stats, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '../../run/errors.ts'

/** The folders and files of an instance. */
export interface DataDir {
  readonly path: string
  /** Data of the embedded Redis. */
  readonly redis: string
  /** Data of the embedded ClickHouse. */
  readonly clickhouse: string
  /** `instance.json`, `clickhouse.pid`; and sockets unless their paths would be too long. Mode 0700. */
  readonly run: string
  readonly instanceFile: string
  /** Key of the first start, and the last sign-in link, of starts without a terminal. Mode 0600. */
  readonly firstKeyFile: string
  readonly signInFile: string
  /** Passwords of the users of the embedded ClickHouse. Mode 0600. */
  readonly clickhousePasswordsFile: string
  /** Records the process of the embedded ClickHouse. */
  readonly clickhousePidFile: string
  readonly lock: string
  readonly redisSocket: string
}

/** Paths of unix sockets have at most 104 bytes (macOS) or 108 (Linux). A lock briefly appends its process id. */
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
    firstKeyFile: join(path, 'first-api-key'),
    signInFile: join(run, 'sign-in-link'),
    clickhousePasswordsFile: join(path, 'clickhouse-passwords.json'),
    clickhousePidFile: join(run, 'clickhouse.pid'),
    lock: join(sockets, 'lock.sock'),
    redisSocket: join(sockets, 'redis.sock'),
  }
}

/**
 * Creates the folders, private to this user.
 * @throws StartupError when that fails, or another user can write to a folder
 */
export function makeDataDir(dir: string): DataDir {
  if (statOf(dir)?.isDirectory() === false) throw noFolder(dir)
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
 * The paths of a DATA_DIR for a command that trusts its contents. It need not exist.
 * @throws StartupError when another user can write to a folder, and so may have forged its contents
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
 * @returns the id of the owner; undefined when the folder does not exist
 * @throws StartupError when another user may have created the folder, or can change it
 */
function assertPrivate(path: string): number | undefined {
  const found = statOf(path)
  if (found?.isDirectory() === false) throw noFolder(path)
  if (found === undefined || userId() === undefined) return undefined
  // In Kubernetes, root owns the mount of a volume, and this user's group can write to it.
  const isTrusted = isOf(found, userId()) || isOf(found, ROOT) || (userId() === ROOT && !isForAll(dirname(path)))
  if (!isTrusted) throw foreign(path)
  if (isForAll(path)) throw openForAll(path, found)
  return found.uid
}

/** @throws StartupError when this user cannot read the folder */
function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (error) {
    const remedy = 'choose another DATA_DIR, or run ipid as the user who owns it'
    throw new StartupError(`cannot read the folder ${path}: ${(error as Error).message}`, { remedy })
  }
}

function isForAll(path: string): boolean {
  return (statSync(path).mode & 0o002) !== 0
}

function isOf(stats: Stats, user: number | undefined): boolean {
  return stats.isDirectory() && (userId() === undefined || stats.uid === user)
}

function noFolder(path: string): StartupError {
  return StartupError.of(`${path} is not a folder`, 'set DATA_DIR to a folder')
}

function foreign(folder: string): StartupError {
  return StartupError.of(`${folder} belongs to another user`, 'delete it, or choose another DATA_DIR')
}

function openForAll(path: string, found: Stats): StartupError {
  if (isOf(found, userId())) {
    return StartupError.of(`every user can write to ${path}`, 'chmod 700 it, or choose another DATA_DIR')
  }
  // This user cannot change the mode: a Docker volume, or a mount.
  const command = `chown ${userId()}:${process.getgid?.()} ${path} && chmod 700 ${path}`
  const inDocker = `docker run --rm -u 0 --entrypoint sh -v VOLUME:${path} IMAGE -c '${command}'`
  return StartupError.of(
    `every user can write to ${path}, which root owns`,
    `as root, run "${command}" (for a Docker volume: ${inDocker}), or choose another DATA_DIR`,
  )
}

/** Root is trusted, because it can change every folder. */
const ROOT = 0

/** Undefined on Windows. */
function userId(): number | undefined {
  return process.getuid?.()
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(`cannot create the folder ${folder}: ${(error as Error).message}`)
  }
}

function shortFolder(path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(tmpdir(), `ipid-${userId() ?? 0}-${hash}`)
}

/** Resolves links, so that a folder has the same sockets under all its paths. */
function realPath(dir: string): string {
  try {
    return realpathSync(dir)
  } catch {
    return resolve(dir)
  }
}
