import { createHash } from 'node:crypto'
import { chmodSync, lstatSync, mkdirSync, realpathSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { StartupError } from '../../core/run/errors.ts'

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
 * @throws StartupError when that is impossible, or a folder is another user's
 */
export function makeDataDir(dir: string): DataDir {
  makeFolder(dir)
  const paths = dataDirAt(dir)
  const sockets = dirname(paths.lock)
  for (const folder of [paths.run, sockets, paths.redis, paths.clickhouse]) makeFolder(folder)
  for (const folder of [paths.run, sockets]) {
    checkOwner(folder)
    chmodSync(folder, 0o700)
  }
  return paths
}

function makeFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(`cannot make the folder ${folder}: ${(error as Error).message}`)
  }
}

/** A folder in the shared temporary folder may have been put there by somebody else. */
function checkOwner(folder: string): void {
  const stats = lstatSync(folder)
  if (stats.isDirectory() && (process.getuid === undefined || stats.uid === process.getuid())) return
  throw new StartupError(`${folder} is not a folder of this user: remove it, or choose another DATA_DIR`)
}

function shortFolder(path: string): string {
  const hash = createHash('sha256').update(path).digest('hex').slice(0, 16)
  return join(tmpdir(), `ipid-${process.getuid?.() ?? 0}-${hash}`)
}

/** The same folder has the same sockets, whichever way leads to it. */
function realPath(dir: string): string {
  try {
    return realpathSync(dir)
  } catch {
    return resolve(dir)
  }
}
