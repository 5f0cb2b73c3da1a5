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
  /** Data folder; created if missing. */
  readonly path: string
  /** Port on 127.0.0.1; 0 for any free one. */
  readonly port: number
  readonly log: Logger
  /** Environment; the process gets only a few harmless variables of it. */
  readonly env?: Variables
  /** The secret by which ipid's sink and migrations get reserved slots. Default: none. */
  readonly ownSecret?: string
  /** Whether statements may reach files, programs and other servers. Default: false. */
  readonly external?: boolean
  /** Default: 1 GiB and 10 minutes. */
  readonly limits?: EngineLimits
  /** Limit of a decoded request. Default: 256 MB. */
  readonly bodyBytesMax?: number
  /** How long a reader of a result may stall, milliseconds. Default: 30 s. */
  readonly sendMsMax?: number
  /** Called with the process id right after the launch. */
  readonly onLaunch?: (pid: number) => void
  /** Called when the process ends unexpectedly. */
  readonly onExit?: (reason: string) => void
  /** Aborts the start and cleans up. */
  readonly signal?: AbortSignal
}

export interface EmbeddedClickHouse extends RunningProcess {
  /** `http://127.0.0.1:PORT` */
  readonly url: string
  /** Whether the kernel denies it other files and servers. */
  readonly walled: boolean
}

/**
 * Parallel statements. Each occupies a thread of libuv's pool; a few threads are left for other work. ipid's own statements and
 * plain inserts of clients have separate slots, so that reads block neither.
 */
const STATEMENTS = 16
const OWN_STATEMENTS = 8
const INSERTS = 4
const POOL_THREADS = STATEMENTS + OWN_STATEMENTS + INSERTS + 4

const LIMITS: EngineLimits = { memoryBytesMax: 2 ** 30, readSecondsMax: 600 }

/**
 * Processes that answer requests go first: an insert and a merge occupy a core each, for some 100 ms at a time. A lower priority
 * would starve merges, and then the whole pipeline.
 */
const NICE = 5

const KILL_AFTER_MS = 8_000

/** They control colours in the log. */
const COLOUR_VARIABLES = ['NO_COLOR', 'FORCE_COLOR']

/**
 * Starts the embedded ClickHouse as a child process that ends with this one.
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
    throw new StartupError(`cannot create the folder of the embedded ClickHouse: ${(error as Error).message}`)
  }
  // Each command execs the next one. So priority and wall are set before the process starts its threads, which inherit them.
  const child = fork(fileURLToPath(new URL('process.mjs', import.meta.url)), [JSON.stringify(options)], {
    execPath: 'nice',
    execArgv: ['-n', String(NICE), ...(options.external ? [] : walledCommand(options.path)), process.execPath],
    env: environmentFrom(env),
    // For an unknown table of `default`, the engine looks for a file in this folder.
    cwd: options.path,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Ctrl-C must only reach the parent, which needs this process until it has stopped.
    detached: true,
  })
  if (child.pid !== undefined) lowerSession(child.pid, NICE)
  if (ownSecret !== undefined) child.send({ type: 'secret', secret: ownSecret } satisfies ToClickHouse, () => {})
  return child
}

/** Sets the size of libuv's pool, which libuv reads before any line of the process runs. */
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

/** Definitions to log. A folder may have thousands. */
const REPORTED_MAX = 20

function reportRefused(definitions: readonly RefusedDefinition[], walled: boolean, log: Logger): void {
  const effect = walled ? 'the kernel denies it any effect' : 'it works until it is dropped'
  for (const { name, reason, drop } of definitions.slice(0, REPORTED_MAX)) {
    log.warn({ reason, drop }, visible(`the ${name} would be refused today; ${effect}: ${drop}`))
  }
  const more = definitions.length - REPORTED_MAX
  if (more > 0) log.warn({ more }, `${more} more definitions would be refused today: first drop the ones above`)
}

async function end(child: ChildProcess, exited: Promise<string>, kill: () => void): Promise<void> {
  const late = setTimeout(kill, KILL_AFTER_MS)
  if (child.connected) child.send({ type: 'stop' } satisfies ToClickHouse, () => {})
  await exited
  clearTimeout(late)
}
