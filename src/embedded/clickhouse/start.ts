import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { visible } from '../../run/visible-text.ts'
import { minimalEnvironment, type Variables } from '../processes/minimal-environment.ts'
import { exitReason, type RunningProcess } from '../processes/running-process.ts'
import { lowerSession } from '../processes/session-priority.ts'
import type { EngineLimits } from './access.ts'
import type { FromClickHouse, ProcessOptions, Ready, ToClickHouse } from './messages.ts'
import type { RefusedDefinition } from './stored-definitions.ts'
import { walledCommand } from './wall.ts'

export interface EmbeddedClickHouseOptions {
  /** Folder of the data; made when it is not there. */
  readonly path: string
  /** On 127.0.0.1; 0: any free one. */
  readonly port: number
  readonly log: Logger
  /** The process gets the few variables of it that are harmless; none when not given. */
  readonly env?: Variables
  /** Statements of ipid's sink and migrations carry it, and have slots of their own; when not given, none are. */
  readonly ownSecret?: string
  /** Whether statements may reach files, programs and other servers; false when not given. */
  readonly external?: boolean
  /** What the engine may take; 1 GiB and 10 minutes when not given. */
  readonly limits?: EngineLimits
  /** Size of one request, decoded; 256 MB when not given. */
  readonly bodyBytesMax?: number
  /** How long a reader may take nothing of its result, milliseconds; 30 s when not given. */
  readonly sendMsMax?: number
  /** Called with its id as soon as there is a process. */
  readonly onLaunch?: (pid: number) => void
  /** Called when it ends without having been asked to. */
  readonly onExit?: (reason: string) => void
  /** Ends the start, leaving nothing behind. */
  readonly signal?: AbortSignal
}

export interface EmbeddedClickHouse extends RunningProcess {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** Whether the kernel keeps it from files and servers that are not its own. */
  readonly walled: boolean
}

/**
 * Statements that run at a time: each holds one thread of libuv's pool while it works, and some are left for the rest.
 * What ipid itself asks, and plain inserts of others, have slots of their own, so that readers can hold up neither.
 */
const STATEMENTS = 16
const OWN_STATEMENTS = 8
const INSERTS = 4
const POOL_THREADS = STATEMENTS + OWN_STATEMENTS + INSERTS + 4

const LIMITS: EngineLimits = { memoryBytesMax: 2 ** 30, readSecondsMax: 600 }

/**
 * It gives way to who answers requests: an insert and a merge take a core each, some 100 ms at a time. Not by more: who never came
 * to merge would be held up in the end, and with it the whole pipeline.
 */
const NICE = 5

const KILL_AFTER_MS = 8_000

/** It says whether its log lines have colours. */
const COLOUR_VARIABLES = ['NO_COLOR', 'FORCE_COLOR']

/**
 * Starts the embedded ClickHouse as a process of its own, which ends with this one.
 * @throws StartupError with the reason when it cannot serve
 */
export async function startEmbeddedClickHouse(options: EmbeddedClickHouseOptions): Promise<EmbeddedClickHouse> {
  const child = launch(options)
  if (child.pid !== undefined) options.onLaunch?.(child.pid)
  const exited = new Promise<string>((done) => {
    child.once('exit', (code, signal) => done(exitReason(code, signal)))
    child.once('error', (error) => done(error.message))
  })
  const kill = () => void child.kill('SIGKILL')
  options.signal?.addEventListener('abort', kill, { once: true })
  let ready: Ready
  try {
    options.signal?.throwIfAborted()
    ready = await readiness(child, exited)
  } catch (error) {
    kill()
    await exited
    throw error
  } finally {
    options.signal?.removeEventListener('abort', kill)
  }
  child.on('message', (message: FromClickHouse) => {
    if (message.type === 'refused') reportRefused(message.definitions, ready.walled, options.log)
  })
  let stopping = false
  void exited.then((reason) => {
    if (!stopping) options.onExit?.(reason)
  })
  return {
    pid: child.pid!,
    url: ready.url,
    walled: ready.walled,
    exited,
    kill,
    stop: async () => {
      stopping = true
      await end(child, exited, kill)
    },
  }
}

function launch({
  path,
  port,
  log,
  env = {},
  ownSecret,
  external,
  limits,
  bodyBytesMax,
  sendMsMax,
}: EmbeddedClickHouseOptions): ChildProcess {
  const options: ProcessOptions = {
    path: resolve(path),
    port,
    logLevel: log.level,
    statements: STATEMENTS,
    ownStatements: OWN_STATEMENTS,
    inserts: INSERTS,
    limits: limits ?? LIMITS,
    external: external ?? false,
    ...(bodyBytesMax === undefined ? {} : { bodyBytesMax }),
    ...(sendMsMax === undefined ? {} : { sendMsMax }),
  }
  try {
    mkdirSync(options.path, { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartupError(`the embedded ClickHouse has no folder: ${(error as Error).message}`)
  }
  // All replace themselves by the next: threads inherit how nice they are, and the wall, before any line of the process runs.
  const child = fork(fileURLToPath(new URL('process.mjs', import.meta.url)), [JSON.stringify(options)], {
    execPath: 'nice',
    execArgv: ['-n', String(NICE), ...(options.external ? [] : walledCommand(options.path)), process.execPath],
    env: environmentFrom(env),
    // The engine takes an unknown table of `default` for a file in this folder.
    cwd: options.path,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Ctrl-C in a terminal is for the parent, which still needs it while it stops.
    detached: true,
  })
  if (child.pid !== undefined) lowerSession(child.pid, NICE)
  if (ownSecret !== undefined) child.send({ type: 'secret', secret: ownSecret } satisfies ToClickHouse, () => {})
  return child
}

/** libuv reads the size of its pool before any line of the process. */
function environmentFrom(env: Variables): Variables {
  return { ...minimalEnvironment(env, COLOUR_VARIABLES), UV_THREADPOOL_SIZE: String(POOL_THREADS) }
}

async function readiness(child: ChildProcess, exited: Promise<string>): Promise<Ready> {
  const message = once(child, 'message').then(([value]) => value as FromClickHouse)
  message.catch(() => {})
  const first = await Promise.race([message, exited])
  if (typeof first === 'string') throw new StartupError(`the embedded ClickHouse ended while it started: ${first}`)
  if (first.type === 'failed') throw new StartupError(first.message)
  if (first.type !== 'ready') throw new StartupError(`the embedded ClickHouse said ${first.type} before it was ready`)
  return first
}

/** Lines of one log entry: a folder may have thousands, and the log is what operators see. */
const REPORTED_MAX = 20

function reportRefused(definitions: readonly RefusedDefinition[], walled: boolean, log: Logger): void {
  const effect = walled ? 'the kernel keeps it from them' : 'it works until it is dropped'
  for (const { name, reason, drop } of definitions.slice(0, REPORTED_MAX)) {
    log.warn({ reason, drop }, visible(`the ${name} would be refused if it were created now; ${effect}: ${drop}`))
  }
  const more = definitions.length - REPORTED_MAX
  if (more > 0)
    log.warn({ more }, `${more} more definitions would be refused if they were created now: drop those named first`)
}

async function end(child: ChildProcess, exited: Promise<string>, kill: () => void): Promise<void> {
  const late = setTimeout(kill, KILL_AFTER_MS)
  if (child.connected) child.send({ type: 'stop' } satisfies ToClickHouse, () => {})
  await exited
  clearTimeout(late)
}
