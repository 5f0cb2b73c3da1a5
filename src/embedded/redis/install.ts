import { type ExecFileOptions, execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Logger } from 'pino'

const run = promisify(execFile)

interface InstallRedisOptions {
  /** Folders to search for package managers, as in PATH. */
  readonly path: string
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly signal?: AbortSignal
}

interface PackageManager {
  readonly command: string
  readonly asRoot: boolean
  /** Arguments of the command for each attempt, until one succeeds. */
  readonly attempts: readonly (readonly string[][])[]
}

/** Another install may hold the lock for a while, as on a machine that has just started. */
const APT_INSTALL = ['install', '-y', '-q', '--no-install-recommends', '-o', 'DPkg::Lock::Timeout=120', 'redis-tools']

/** None of these packages starts a service. `redis-tools` has the server's binary without its service. */
const MANAGERS: readonly PackageManager[] = [
  {
    command: 'apt-get',
    asRoot: true,
    attempts: [[APT_INSTALL], [['update', '-q'], APT_INSTALL]],
  },
  { command: 'dnf', asRoot: true, attempts: [[['install', '-y', 'valkey']], [['install', '-y', 'redis']]] },
  { command: 'apk', asRoot: true, attempts: [[['add', '--no-cache', 'redis']], [['add', '--no-cache', 'valkey']]] },
  { command: 'brew', asRoot: false, attempts: [[['install', 'redis']]] },
]

const TIMEOUT_MS = 300_000

/** Tries the machine's package managers. @returns whether one of them succeeded */
export async function installRedis(options: InstallRedisOptions): Promise<boolean> {
  for await (const { manager, prefix } of usableManagers(options)) {
    options.log.info(`no Redis server found; installing one with ${manager.command}`)
    if (await tryAttempts(manager, prefix, options)) return true
  }
  return false
}

/** The package manager with which `installRedis` would begin; undefined when it cannot install anything. */
export async function firstManager(options: InstallRedisOptions): Promise<string | undefined> {
  for await (const { manager } of usableManagers(options)) return manager.command
  return undefined
}

async function* usableManagers(options: InstallRedisOptions) {
  for (const manager of MANAGERS) {
    if (!(await exists(manager.command, options))) continue
    const prefix = manager.asRoot ? await rootPrefix(options) : []
    if (prefix === undefined) options.log.warn(`cannot run ${manager.command} without a password`)
    else yield { manager, prefix }
  }
}

async function tryAttempts(
  manager: PackageManager,
  prefix: readonly string[],
  options: InstallRedisOptions,
): Promise<boolean> {
  for (const commands of manager.attempts) {
    try {
      for (const args of commands) await execute([...prefix, manager.command, ...args], options)
      return true
    } catch (error) {
      options.signal?.throwIfAborted()
      options.log.warn(`${manager.command} failed: ${lastLine(error)}`)
    }
  }
  return false
}

async function exists(command: string, options: InstallRedisOptions): Promise<boolean> {
  try {
    await execute([command, '--version'], options)
    return true
  } catch (error) {
    options.signal?.throwIfAborted()
    return (error as NodeJS.ErrnoException).code !== 'ENOENT'
  }
}

/** The prefix of a command that runs it as root; undefined when that would need a password. */
async function rootPrefix(options: InstallRedisOptions): Promise<string[] | undefined> {
  const noninteractive = ['env', 'DEBIAN_FRONTEND=noninteractive']
  if (process.getuid?.() === 0) return noninteractive
  try {
    await execute(['sudo', '-n', 'true'], options)
    return ['sudo', '-n', ...noninteractive]
  } catch {
    options.signal?.throwIfAborted()
    return undefined
  }
}

async function execute(command: readonly string[], options: InstallRedisOptions): Promise<void> {
  const settings: ExecFileOptions = {
    env: { PATH: options.path, HOMEBREW_NO_AUTO_UPDATE: '1', LC_ALL: 'C' },
    timeout: TIMEOUT_MS,
    signal: options.signal,
    maxBuffer: 16 * 2 ** 20,
  }
  const child = run(command[0]!, command.slice(1), settings)
  child.child.stdin?.end()
  await child
}

function lastLine(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  const lines = (stderr?.trim() || message).split('\n')
  return lines.findLast((line) => line.startsWith('E: ')) ?? lines.at(-1)!
}
