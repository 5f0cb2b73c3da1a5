import { type ChildProcess, fork } from 'node:child_process'
import { StartupError } from '../../run/errors.ts'
import type { MetricSet } from '../../telemetry/metrics-server.ts'
import type { Variables } from './minimal-environment.ts'
import type { FromRole, StoreUrls, ToRole } from './role-protocol.ts'
import { exitReason, type RunningProcess } from './running-process.ts'

/** A process that runs roles. `url` is the address of its API, if ingress is among them. */
export interface RoleProcess extends RunningProcess {
  /** The metrics of its registry; empty when it does not answer in time. */
  metrics(): Promise<MetricSet>
}

interface RoleLaunch {
  /** Script that implements the role protocol. */
  readonly script: string
  readonly args: readonly string[]
  /** Default: the variables of this process. */
  readonly env?: Variables | undefined
  readonly roles: readonly string[]
  readonly config: object
  /** The process loads while the stores start. */
  readonly stores: Promise<StoreUrls>
  readonly signal: AbortSignal
}

/** A busy process may answer late. Prometheus waits 10 s by default. */
const METRICS_ANSWER_MS = 4_000
const STDERR = 2
/**
 * Semi-space of V8's young generation, MiB, in a process that feeds uploads. The text of a chunk counts towards it. With the
 * default of 16 there are twice as many collections, and batch is slower by a tenth.
 */
const FEEDING_SEMI_SPACE_MIB = 32
/**
 * V8 starts with a semi-space of 1 MiB and shrinks to it when idle. An idle process then ran a collection every 3 s, with
 * several threads.
 */
const REST_SEMI_SPACE_MIB = 8
/**
 * Growth of V8's old generation before a collection, in percent of the last live size. V8 counts buffers towards it, so by default a
 * process that reads streams would collect after every 8 MiB from Redis: twice a second, for a third of its time.
 */
const HEAP_GROWTH_PERCENT = 300
/** Of processes that read no streams. After 300,000 lookups an ingress has 300 MB; with 300 percent it has 530 MB. */
const ANSWERING_HEAP_GROWTH_PERCENT = 40
const READS_STREAMS: ReadonlySet<string> = new Set(['process', 'sink', 'batch', 'archive'])

/**
 * Starts a role process and resolves when it is ready.
 * @throws StartupError with the reason from the process, or its exit code
 */
export async function launchRole(launch: RoleLaunch): Promise<RoleProcess> {
  const readsStreams = launch.roles.some((role) => READS_STREAMS.has(role))
  const heapGrowthPercent = readsStreams ? HEAP_GROWTH_PERCENT : ANSWERING_HEAP_GROWTH_PERCENT
  const child = fork(launch.script, [...launch.args], {
    execArgv: [
      ...process.execArgv,
      ...(launch.roles.includes('batch') ? [`--max-semi-space-size=${FEEDING_SEMI_SPACE_MIB}`] : []),
      `--min-semi-space-size=${REST_SEMI_SPACE_MIB}`,
      `--heap-growing-percent=${heapGrowthPercent}`,
    ],
    // Ctrl-C must only reach the supervisor, which stops its children in order.
    detached: true,
    ...(launch.env && { env: { ...launch.env } }),
    serialization: 'advanced',
    stdio: ['ignore', STDERR, STDERR, 'ipc'],
  })
  const exited = new Promise<string>((resolve) => {
    // Without a pid the process did not start. Other errors are signals that could not be sent.
    child.on('error', (error) => child.pid === undefined && resolve(error.message))
    child.once('exit', (code, signal) => resolve(exitReason(code, signal)))
  })
  const kill = () => void child.kill('SIGKILL')
  launch.signal.addEventListener('abort', kill, { once: true })
  try {
    const readiness = untilReady(child, launch.roles, exited)
    // Avoids an unhandled rejection before the stores are ready.
    readiness.catch(() => {})
    const stores = await Promise.race([launch.stores, readiness.then((): never => neverReady())])
    launch.signal.throwIfAborted()
    tell(child, { type: 'start', roles: launch.roles, config: launch.config, stores })
    const url = await readiness
    return runningRole(child, url, exited)
  } catch (error) {
    kill()
    await exited
    throw error
  } finally {
    launch.signal.removeEventListener('abort', kill)
  }
}

function runningRole(child: ChildProcess, url: string | undefined, exited: Promise<string>): RoleProcess {
  return {
    pid: child.pid!,
    url,
    exited,
    stop: async () => {
      tell(child, { type: 'stop' })
      await exited
    },
    kill: () => void child.kill('SIGKILL'),
    metrics: () => askMetrics(child),
  }
}

function untilReady(
  child: ChildProcess,
  roles: readonly string[],
  exited: Promise<string>,
): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    let failure: string | undefined
    child.on('message', (message: FromRole) => {
      if (message.type === 'ready') resolve(message.url)
      else if (message.type === 'failed') failure = message.reason
    })
    void exited.then((reason) =>
      reject(new StartupError(failure ?? `the ${roles.join('+')} process ended (${reason})`)),
    )
  })
}

function neverReady(): never {
  throw new StartupError('a role process reported ready before it was started')
}

/** Ignores the error of a message to a process that has just ended. */
function tell(child: ChildProcess, message: ToRole): void {
  if (child.connected) child.send(message, () => {})
}

let lastMetricsId = 0

function askMetrics(child: ChildProcess): Promise<MetricSet> {
  const id = ++lastMetricsId
  return new Promise((resolve) => {
    const finish = (metrics: MetricSet) => {
      clearTimeout(timer)
      child.removeListener('message', onMessage)
      resolve(metrics)
    }
    const onMessage = (message: FromRole) => {
      if (message.type === 'metrics' && message.id === id) finish(message.metrics)
    }
    const timer = setTimeout(finish, METRICS_ANSWER_MS, [])
    child.on('message', onMessage)
    tell(child, { type: 'metrics', id })
  })
}
