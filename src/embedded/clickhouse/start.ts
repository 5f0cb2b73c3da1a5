import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'
import { waitForFreePort } from '../processes/free-port.ts'
import { minimalEnvironment, type Variables } from '../processes/minimal-environment.ts'
import { exitReason, type RunningProcess } from '../processes/running-process.ts'
import { lowerSession } from '../processes/session-priority.ts'
import { findLibrary, type Library } from './library.ts'
import { analystUrlOf, ownUrlOf, type Passwords, randomPasswords } from './passwords.ts'
import { type ServerLimits, writeServerConfig } from './server-config.ts'
import { OwnServer, watchServer } from './server-watch.ts'
import { setAsideDefinitions } from './stray-definitions.ts'
import { PROCESS_SCRIPT, problemIn } from './try-library.ts'
import { walledCommand } from './wall.ts'

export interface EmbeddedClickHouseOptions {
  /** Data folder; created if missing. */
  readonly path: string
  /** Port on 127.0.0.1; 0 for any free one. */
  readonly port: number
  /** Port of ClickHouse's own protocol on 127.0.0.1. Default: closed. */
  readonly tcpPort?: number | undefined
  /** Default: random ones. */
  readonly passwords?: Passwords
  readonly log: Logger
  /** Environment; the process gets only a few harmless variables of it. */
  readonly env?: Variables
  /** Whether statements may reach files, programs and other servers. Default: false. */
  readonly external?: boolean
  /** False starts it without the wall, as on a kernel that has none. Default: true. */
  readonly wall?: boolean
  /** Default: 1 GiB and 10 minutes. */
  readonly limits?: ServerLimits
  /** Called with the process id right after the launch. */
  readonly onLaunch?: (pid: number) => void
  /** Called when the process ends unexpectedly. */
  readonly onExit?: (reason: string) => void
  /** Aborts the start and cleans up. */
  readonly signal?: AbortSignal
}

export interface EmbeddedClickHouse extends RunningProcess {
  /** `http://ipid-embedded:PASSWORD@127.0.0.1:PORT`, for ipid's own processes. */
  readonly url: string
  /** The same for the user of people and their tools. */
  readonly analystUrl: string
  /** Whether the kernel denies it other files and servers. */
  readonly walled: boolean
}

const LIMITS: ServerLimits = { memoryBytesMax: 2 ** 30, readSecondsMax: 600 }

/**
 * Processes that answer requests go first: an insert and a merge occupy a core each, for some 100 ms at a time. With it, the 99th
 * percentile of ingest halves on two cores. A lower priority would starve merges, and then the whole pipeline.
 */
const NICE = 5

/** After this time a start is logged. A damaged folder is repaired at the start, which takes its time. */
const SLOW_START_MS = 60_000
const READY_EVERY_MS = 15

/** Time for running statements to end; each of them is stored whole or not at all. */
const FINISH_MS = 3_000
const FINISH_EVERY_MS = 50

const STDERR_CHARACTERS_MAX = 65_536
/** Characters of the process's last output, in the log. */
const OUTPUT_CHARS_MAX = 4_096

/**
 * Starts the embedded ClickHouse as a child process that ends with this one.
 * @throws StartupError with the reason when it cannot serve
 */
export async function startEmbeddedClickHouse(options: EmbeddedClickHouseOptions): Promise<EmbeddedClickHouse> {
  const { signal, passwords = randomPasswords() } = options
  const found = findLibrary()
  const port = await waitForFreePort({ host: '127.0.0.1', portSetting: 'CLICKHOUSE_PORT', port: options.port }, 0)
  signal?.throwIfAborted()
  const config = prepare(options, { port, passwords })
  if (options.tcpPort !== undefined) {
    await waitForFreePort({ host: '127.0.0.1', portSetting: 'CLICKHOUSE_TCP_PORT', port: options.tcpPort }, 0)
  }
  const folder = resolve(options.path)
  // The scalar function `file()` first looks for the working folder, and refuses every path when it is gone.
  const removed = options.external ? undefined : join(folder, 'work')
  const child = launch(options, { config, found, work: removed ?? folder })
  if (child.pid !== undefined) options.onLaunch?.(child.pid)
  const errors = keepErrors(child)
  const exited = new Promise<string>((done) => {
    child.once('exit', (code, signal) => done(exitReason(code, signal)))
    child.once('error', (error) => done(error.message))
  })
  const kill = () => void child.kill('SIGKILL')
  const own = new OwnServer(port, passwords.own)
  signal?.addEventListener('abort', kill, { once: true })
  let walled: boolean
  try {
    signal?.throwIfAborted()
    walled = await readiness(own, child, exited, errors, options.log)
    await own.makeWorkspace(options.log)
    signal?.throwIfAborted()
  } catch (error) {
    kill()
    await exited
    throw error
  } finally {
    signal?.removeEventListener('abort', kill)
    if (removed !== undefined) rmSync(removed, { recursive: true, force: true })
  }
  const watch = watchServer(own, options.log, kill)
  void watch.start()
  let stopping = false
  void exited.then((reason) => {
    void watch.stop()
    if (stopping) return
    const output = errors().trim()
    if (output !== '')
      options.log.error({ output: output.slice(-OUTPUT_CHARS_MAX) }, 'last output of the embedded ClickHouse')
    options.onExit?.(reason)
  })
  return {
    pid: child.pid!,
    url: ownUrlOf(port, passwords),
    analystUrl: analystUrlOf(port, passwords),
    walled,
    exited,
    kill,
    stop: async () => {
      stopping = true
      // A server that hangs answers nothing.
      const late = setTimeout(kill, FINISH_MS)
      await watch.stop()
      const isIdle = async () => (await own.running()) === 0 || undefined
      await poll(isIdle, { everyMs: FINISH_EVERY_MS, deadlineMs: performance.now() + FINISH_MS }).catch(() => {})
      clearTimeout(late)
      kill()
      await exited
    },
  }
}

/** Makes the data folder. @returns the path of the server's configuration */
function prepare(
  { path, tcpPort, external = false, log, limits = LIMITS }: EmbeddedClickHouseOptions,
  { port, passwords }: { readonly port: number; readonly passwords: Passwords },
): string {
  const folder = resolve(path)
  try {
    mkdirSync(join(folder, 'work'), { recursive: true, mode: 0o700 })
    setAsideDefinitions(folder, log)
    return writeServerConfig({ path: folder, port, tcpPort, passwords, external, limits })
  } catch (error) {
    throw new StartupError(`cannot prepare the folder of the embedded ClickHouse: ${(error as Error).message}`)
  }
}

interface LaunchParts {
  readonly config: string
  readonly found: Library
  /** Working folder. */
  readonly work: string
}

function launch(
  { path, tcpPort, external = false, wall = true, env = {} }: EmbeddedClickHouseOptions,
  { config, found, work }: LaunchParts,
): ChildProcess {
  const folder = resolve(path)
  // HTTP comes last, because an answer means that all is open.
  const listen = [...(tcpPort === undefined ? [] : ['TCP']), 'HTTP'].map((name) => `SYSTEM START LISTEN ${name}; `)
  const args = [
    ...['clickhouse', `--path=${folder}`, `--config-file=${config}`, '--log-level=error'],
    // Its standard input has no end while this process lives, so the statement keeps the program's session without using CPU.
    ...['--query', `${listen.join('')}SELECT * FROM file('-', LineAsString) FORMAT Null`],
  ]
  // Each command execs the next one. So priority and wall are set before the process starts its threads, which inherit them.
  const child = fork(PROCESS_SCRIPT, [JSON.stringify({ ...found, args })], {
    execPath: 'nice',
    execArgv: ['-n', String(NICE), ...(external || !wall ? [] : walledCommand(folder)), process.execPath],
    env: minimalEnvironment(env),
    cwd: work,
    stdio: ['pipe', 'ignore', 'pipe', 'ipc'],
    // Ctrl-C must only reach the parent, which needs this process until it has stopped.
    detached: true,
  })
  if (child.pid !== undefined) lowerSession(child.pid, NICE)
  return child
}

/** The last lines of the process, which have the reason when it fails. */
function keepErrors(child: ChildProcess): () => string {
  let text = ''
  child.stderr!.setEncoding('utf8').on('data', (piece: string) => {
    text = (text + piece).slice(-STDERR_CHARACTERS_MAX)
  })
  return () => text
}

/** Resolves when the server answers its owner, with whether it is walled. */
async function readiness(
  own: OwnServer,
  child: ChildProcess,
  exited: Promise<string>,
  errors: () => string,
  log: Logger,
): Promise<boolean> {
  let end: string | undefined
  void exited.then((reason) => {
    end = reason
  })
  const report = once(child, 'message').then(([message]) => message as { walled: boolean })
  report.catch(() => {})
  const isReady = async () => {
    if (end !== undefined) throw new StartupError(failureText(end, errors()))
    return (await own.answers()) || undefined
  }
  const slow = setTimeout(() => log.warn('the embedded ClickHouse is still starting'), SLOW_START_MS)
  await poll(isReady, { everyMs: READY_EVERY_MS }).finally(() => clearTimeout(slow))
  return (await report).walled
}

/** The reason in one line. */
function failureText(end: string, errors: string): string {
  const exception = /(?:DB::)?Exception: ([^\n]*?)(?:\. \(([A-Z_]+)\)|\n|$)/.exec(errors)
  const reason = exception?.[1] ?? problemIn(errors) ?? end
  return `the embedded ClickHouse ended while it started: ${reason}`
}
