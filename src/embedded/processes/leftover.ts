import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'

const GONE_EVERY_MS = 20
const END_MS = 15_000

/** Distinguishes a process from a later one with the same id. */
interface Identity {
  /** Start time of the process, in the system's format. */
  readonly startedAt: string
  readonly commandLine: string
}

/** Records a process of ours, so that a later start can end it if it is left over. */
export function noteProcess(file: string, pid: number): void {
  const identity = identityOf(pid)
  if (identity !== undefined) writeFileSync(file, `${pid} ${identity.startedAt}\n`, { mode: 0o600 })
}

interface LeftoverOptions {
  /** Written by `noteProcess`; need not exist. */
  readonly file: string
  /** Text that only the command line of this process can contain. */
  readonly commandPart: string
  /** Name in logs and errors. */
  readonly name: string
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Kills the recorded process if it still runs, and resolves when it has ended. A process with another start time or command
 * has reused the id and is left alone. Only the owner of the process's folder may call it, so that no running instance needs
 * the process.
 * @throws StartupError when it does not end
 */
export async function endLeftover({ file, commandPart, name, log, signal }: LeftoverOptions): Promise<void> {
  const noted = /^(\d+) (.+)$/m.exec(readIfThere(file))
  if (noted === null) return
  const pid = Number(noted[1])
  const isThere = () => {
    const identity = identityOf(pid)
    return identity !== undefined && identity.startedAt === noted[2] && identity.commandLine.includes(commandPart)
  }
  if (isThere()) {
    log.warn({ child_pid: pid }, `ending the ${name} of a killed instance`)
    process.kill(pid, 'SIGKILL')
    const deadlineMs = performance.now() + END_MS
    const gone = await poll(async () => !isThere() || undefined, { everyMs: GONE_EVERY_MS, deadlineMs, signal })
    signal.throwIfAborted()
    if (!gone)
      throw new StartupError(`process ${pid}, a ${name} of this folder, does not end: end it, then start again`)
  }
  rmSync(file, { force: true })
}

function readIfThere(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

/** Undefined when the process does not exist or is a zombie. */
function identityOf(pid: number): Identity | undefined {
  try {
    return process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
  } catch {
    return undefined
  }
}

function fromProc(pid: number): Identity | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name in parentheses may contain any character.
  const [state, ...numbers] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z') return undefined
  const startedAt = numbers[START_TIME]!
  return { startedAt, commandLine: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }
}

/** Index of field 22 (ticks since boot) after field 3, see proc_pid_stat(5). */
const START_TIME = 22 - 4

function fromPs(pid: number): Identity {
  const column = (name: string) =>
    execFileSync('ps', ['-ww', '-o', `${name}=`, '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' } }).trim()
  return { startedAt: column('lstart'), commandLine: column('command') }
}
