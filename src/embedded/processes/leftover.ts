import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'

const GONE_EVERY_MS = 20
const END_MS = 15_000

/** A process that is there: what tells it from a later one with the same id, and what it runs. */
interface Identity {
  /** Start of the process, in the words of the system. */
  readonly startedAt: string
  readonly commandLine: string
}

/** Notes a process of ours, for a later start to end should it be left over. */
export function noteProcess(file: string, pid: number): void {
  const identity = identityOf(pid)
  if (identity !== undefined) writeFileSync(file, `${pid} ${identity.startedAt}\n`, { mode: 0o600 })
}

export interface LeftoverOptions {
  /** Written by `noteProcess`; need not exist. */
  readonly file: string
  /** A part of the command line that only the process to end can have. */
  readonly commandPart: string
  /** What it is, in logs and errors. */
  readonly name: string
  readonly log: Logger
  readonly signal: AbortSignal
}

/**
 * Kills the noted process where it still runs, and resolves when it is gone. A process that started at another time, or runs
 * something else, has got the id since and is left alone. To be called by the owner of the folder that the process works
 * on, so that no living instance needs it.
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
    log.warn({ child_pid: pid }, `ending the ${name} that a killed instance left behind`)
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

/** Undefined when there is no such process, or it has ended and was not waited for. */
function identityOf(pid: number): Identity | undefined {
  try {
    return process.platform === 'linux' ? fromProc(pid) : fromPs(pid)
  } catch {
    return undefined
  }
}

function fromProc(pid: number): Identity | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  // The name, in parentheses, may hold anything.
  const [state, ...numbers] = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  if (state === 'Z') return undefined
  const startedAt = numbers[START_TIME]!
  return { startedAt, commandLine: readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ') }
}

/** Place of field 22, in ticks since the machine started, behind field 3 (proc_pid_stat(5)). */
const START_TIME = 22 - 4

function fromPs(pid: number): Identity {
  const column = (name: string) =>
    execFileSync('ps', ['-ww', '-o', `${name}=`, '-p', String(pid)], { encoding: 'utf8', env: { LC_ALL: 'C' } }).trim()
  return { startedAt: column('lstart'), commandLine: column('command') }
}
