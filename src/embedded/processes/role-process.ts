import { type ChildProcess, fork } from 'node:child_process'
import { StartupError } from '../../run/errors.ts'
import type { MetricSet } from '../../telemetry/metrics-server.ts'
import type { FromRole, StoreUrls, ToRole } from './role-protocol.ts'
import { exitReason, type RunningProcess } from './running-process.ts'

/** A process that runs roles. `url` is where its API listens, when ingress is among them. */
export interface RoleProcess extends RunningProcess {
  /** The metrics of its registry; none when it does not answer in time. */
  metrics(): Promise<MetricSet>
}

export interface RoleLaunch {
  /** Script that speaks the role protocol, with its arguments. */
  readonly script: string
  readonly args: readonly string[]
  readonly roles: readonly string[]
  readonly config: object
  /** The process loads while the stores start. */
  readonly stores: Promise<StoreUrls>
  readonly signal: AbortSignal
}

/** A process that is busy has something to tell; Prometheus waits 10 s by default. */
const METRICS_ANSWER_MS = 4_000
const STDERR = 2
/**
 * Half of V8's young generation, MiB, of a process that feeds uploads: the text of a chunk counts to it, and behind 16, the default,
 * it is collected twice as often; batch was slower by a tenth.
 */
const FEEDING_SEMI_SPACE_MIB = 32
/**
 * V8 begins with half a young generation of 1 MiB, and goes back to it at rest: it was collected every 3 s then, by several threads,
 * for what a process does that has nothing to do.
 */
const REST_SEMI_SPACE_MIB = 8
/**
 * What V8's old generation may grow by before it is collected, in percent of what was left of it. V8 counts buffers to it, and the
 * young generation as well, and by its own measure would begin behind every 8 MiB that are read from Redis: twice a second, for a
 * third of the time of a worker.
 */
const HEAP_GROWTH_PERCENT = 300

/**
 * Starts a role process and resolves when it is ready.
 * @throws StartupError with the reason that it gave, or its exit code
 */
export async function launchRole(launch: RoleLaunch): Promise<RoleProcess> {
  const child = fork(launch.script, [...launch.args], {
    execArgv: [
      ...process.execArgv,
      ...(launch.roles.includes('batch') ? [`--max-semi-space-size=${FEEDING_SEMI_SPACE_MIB}`] : []),
      `--min-semi-space-size=${REST_SEMI_SPACE_MIB}`,
      `--heap-growing-percent=${HEAP_GROWTH_PERCENT}`,
    ],
    // A session of its own: Ctrl-C is for the supervisor, which stops its children in order.
    detached: true,
    serialization: 'advanced',
    stdio: ['ignore', STDERR, STDERR, 'ipc'],
  })
  const exited = new Promise<string>((resolve) => {
    // It was not started. A signal that could not be sent is no end.
    child.on('error', (error) => child.pid === undefined && resolve(error.message))
    child.once('exit', (code, signal) => resolve(exitReason(code, signal)))
  })
  const kill = () => void child.kill('SIGKILL')
  launch.signal.addEventListener('abort', kill, { once: true })
  try {
    const readiness = untilReady(child, launch.roles, exited)
    // A rejection that comes before the stores are there is not unhandled.
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
    exited.then((reason) => reject(new StartupError(failure ?? `the ${roles.join('+')} process ended (${reason})`)))
  })
}

function neverReady(): never {
  throw new StartupError('a role process says that it is ready before it was told to start')
}

/** A message to a process that has just ended is of no use to anybody. */
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
