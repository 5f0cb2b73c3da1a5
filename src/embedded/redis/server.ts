import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, readFileSync, renameSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import type { Logger } from 'pino'
import { StartupError } from '../../run/errors.ts'
import { holdLeash } from '../../run/leash.mjs'
import { Loop, poll } from '../../run/loop.ts'
import { appendOnlyLink } from '../../stores/redis/durability/append-only-file.ts'
import { removeHoles } from '../../stores/redis/durability/file-holes.ts'
import { lowerRewrites } from '../../stores/redis/durability/rewrite-priority.ts'
import { minimalEnvironment, type Variables } from '../processes/minimal-environment.ts'
import { exitReason, type RunningProcess } from '../processes/running-process.ts'

export interface EmbeddedRedisOptions {
  /** The server's binary. */
  readonly binary: string
  /** Folder of the append-only file and the log. */
  readonly dir: string
  /** Path of the unix socket, for this server only. */
  readonly socket: string
  /**
   * `everysec` and `no` set `appendfsync`. With `always`, Redis writes before it replies but does not fsync, so that it can
   * work on. Its clients fsync before they acknowledge (`stores/redis/durability/persisted.ts`).
   */
  readonly fsync: 'always' | 'everysec' | 'no'
  readonly maxMemoryBytes: number
  /** Our environment; the server gets a few variables of it. */
  readonly env: Variables
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Time for the server to shut down after this process has died. */
const LEASH_SECONDS = 5
const PROBE_EVERY_MS = 20
const LOADING_REPORT_MS = 10_000
const LEFTOVER_END_MS = 15_000
const LOG_MAX_BYTES = 4 * 2 ** 20
const LOG_CHECK_MS = 60_000

/**
 * Starts a private Redis server on a unix socket, with an append-only file. Resolves when it has loaded its data and answers.
 * It has no TCP port and reads no configuration file. It ends with this process in any case.
 * @throws StartupError with the last line of its log
 */
export async function startEmbeddedRedis(options: EmbeddedRedisOptions): Promise<RunningProcess> {
  await endLeftover(options)
  try {
    return await startServer(options)
  } catch (error) {
    options.signal.throwIfAborted()
    if (!mendFile(options)) throw error
    return await startServer(options)
  }
}

/** @returns whether it repaired the file */
function mendFile(options: EmbeddedRedisOptions): boolean {
  const dir = appendOnlyDir(options)
  try {
    const bytes = removeHoles(dir)
    if (bytes === 0) return false
    options.log.warn(
      { dir, bytes },
      "Redis' file had holes from a full disk, which are taken out; no command was in them",
    )
    return true
  } catch (error) {
    options.log.warn({ err: error, dir }, "Redis' file could not be mended, should it have holes from a full disk")
    return false
  }
}

async function startServer(options: EmbeddedRedisOptions): Promise<RunningProcess> {
  const logFile = join(options.dir, 'redis.log')
  rotate(logFile)
  linkFile(options)
  const env = minimalEnvironment(options.env)
  const child = spawn(options.binary, serverArguments(options, logFile), {
    cwd: options.dir,
    env,
    // Ctrl-C must only reach this process, which stops the server last.
    detached: true,
    stdio: 'ignore',
  })
  const exited = exitOf(child)
  if (child.pid === undefined) throw new StartupError(`cannot run ${options.binary}: ${await exited}`)
  const leash = holdLeash(child.pid, LEASH_SECONDS, env)
  const rotation = rotateAgain(logFile, options.log)
  void rotation.start()
  void exited.then(() => {
    leash.release()
    void rotation.stop()
  })
  try {
    await untilReady(options, exited, logFile)
  } catch (error) {
    child.kill('SIGKILL')
    await exited
    throw error
  }
  const rewrites = lowerRewrites({ pid: child.pid, dir: appendOnlyDir(options), log: options.log })
  void exited.then(() => rewrites.stop())
  return {
    pid: child.pid,
    url: `unix://${options.socket}`,
    exited,
    stop: async () => {
      child.kill('SIGTERM')
      await exited
    },
    kill: () => child.kill('SIGKILL'),
  }
}

function serverArguments(options: EmbeddedRedisOptions, logFile: string): string[] {
  return Object.entries({
    port: '0',
    unixsocket: options.socket,
    unixsocketperm: '700',
    dir: options.dir,
    logfile: logFile,
    daemonize: 'no',
    save: '',
    appendonly: 'yes',
    // With `no`, Redis still writes before it replies.
    appendfsync: options.fsync === 'always' ? 'no' : options.fsync,
    'aof-load-truncated': 'yes',
    // Redis's timer, 10 times a second by default, is most of its idle CPU.
    hz: '4',
    // A rewrite blocks replies during its fork, and copies modified pages. A start loads 500 MB in 1.1 s.
    'auto-aof-rewrite-min-size': '512mb',
    // Most data are hash values, which cannot be compressed.
    rdbcompression: 'no',
    'stop-writes-on-bgsave-error': 'no',
    maxmemory: String(options.maxMemoryBytes),
    'maxmemory-policy': 'noeviction',
    // Dedup buckets stay compact up to this size.
    'hash-max-listpack-entries': '128',
    'lazyfree-lazy-expire': 'yes',
  }).flatMap(([name, value]) => [`--${name}`, value])
}

/** Links the file before the server starts, so that clients know that they must fsync it. */
function linkFile(options: EmbeddedRedisOptions): void {
  const { socket, fsync } = options
  const link = appendOnlyLink(socket)
  if (fsync !== 'always') {
    rmSync(link, { force: true })
    return
  }
  // A rename is atomic: running clients always find the link.
  const next = `${link}.next`
  rmSync(next, { force: true })
  symlinkSync(appendOnlyDir(options), next)
  renameSync(next, link)
}

function appendOnlyDir({ dir }: EmbeddedRedisOptions): string {
  return join(resolve(dir), 'appendonlydir')
}

/** Resolves when the child has ended or could not be started. */
function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('exit', (code, signal) => resolve(exitReason(code, signal)))
  })
}

/** Shuts down a server on our socket. It belongs to a killed instance and uses our data. */
async function endLeftover({ socket, log, signal }: EmbeddedRedisOptions): Promise<void> {
  const deadlineMs = performance.now() + LEFTOVER_END_MS
  let reported = false
  const isGone = async () => {
    if ((await probeRedis(socket)) === 'absent') return true
    if (!reported) log.warn({ socket }, 'shutting down the Redis server of a killed instance')
    reported = true
    await shutDownRedis(socket)
    return undefined
  }
  const gone = await poll(isGone, { everyMs: PROBE_EVERY_MS, deadlineMs, signal })
  signal.throwIfAborted()
  if (!gone) throw new StartupError(`a Redis server on ${socket} does not shut down: end it, then start again`)
  rmSync(socket, { force: true })
}

async function untilReady(
  { socket, log, signal }: EmbeddedRedisOptions,
  exited: Promise<string>,
  logFile: string,
): Promise<void> {
  let end: string | undefined
  void exited.then((reason) => {
    end = reason
  })
  let reportMs = performance.now() + LOADING_REPORT_MS
  const isReady = async () => {
    if ((await probeRedis(socket)) === 'ready') return true
    if (end !== undefined) throw new StartupError(`the Redis server ended (${end})${lastWords(logFile)}`)
    if (performance.now() > reportMs) {
      log.info('Redis is loading its data')
      reportMs += LOADING_REPORT_MS
    }
    return undefined
  }
  await poll(isReady, { everyMs: PROBE_EVERY_MS, signal })
  signal.throwIfAborted()
}

function lastWords(logFile: string): string {
  if (!existsSync(logFile)) return ''
  const line = readFileSync(logFile, 'utf8').trim().split('\n').at(-1) ?? ''
  return `: ${line.replace(/^\d+:\w+ .{20,30} [.*#-] /, '')}`
}

function rotateAgain(logFile: string, log: Logger): Loop {
  return new Loop({
    name: 'redis log',
    round: async () => {
      rotate(logFile)
      return LOG_CHECK_MS
    },
    failed: (error) => log.warn({ err: error, path: logFile }, "Redis' log cannot be renamed, so it grows"),
    delay: { minMs: LOG_CHECK_MS, maxMs: LOG_CHECK_MS },
  })
}

/** Redis opens its log for every line, so the file can be renamed at any time. */
function rotate(logFile: string): void {
  const size = statSync(logFile, { throwIfNoEntry: false })?.size ?? 0
  if (size > LOG_MAX_BYTES) renameSync(logFile, `${logFile}.1`)
}

/** `absent`: nothing listens. `busy`: a listener cannot serve yet, or does not answer. */
type RedisState = 'ready' | 'busy' | 'absent'

const ANSWER_MS = 1_000

/** Asks the Redis server on a unix socket whether it serves. Never rejects. */
export async function probeRedis(socket: string): Promise<RedisState> {
  const answer = await say(socket, 'PING')
  if (answer === undefined) return 'absent'
  return answer.startsWith('+PONG') ? 'ready' : 'busy'
}

/** Shuts down the Redis server on a unix socket; its append-only file remains. Never rejects. */
async function shutDownRedis(socket: string): Promise<void> {
  await say(socket, 'SHUTDOWN NOSAVE')
}

/** Sends one inline command. Returns the reply, `''` for none, undefined when nothing listens. */
function say(path: string, command: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let connected = false
    let answer = ''
    const socket = connect(path)
    socket.setEncoding('latin1')
    socket.setTimeout(ANSWER_MS, () => socket.destroy())
    socket.once('connect', () => {
      connected = true
      socket.write(`${command}\r\n`)
    })
    socket.on('data', (chunk) => {
      answer += chunk
      if (answer.includes('\n')) socket.destroy()
    })
    socket.on('error', (error: NodeJS.ErrnoException) => {
      // The backlog is full, so there is a listener.
      if (error.code === 'EAGAIN') connected = true
    })
    socket.once('close', () => resolve(connected ? answer : undefined))
  })
}
