import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { PASSING } from '../../run/passing.ts'
import type { MetricSet } from '../../telemetry/metrics-server.ts'
import { KeptProcess } from './kept-process.ts'
import type { Variables } from './minimal-environment.ts'
import { launchRole, type RoleProcess } from './role-process.ts'
import type { StoreUrls } from './role-protocol.ts'
import type { RunningProcess } from './running-process.ts'

/** An existing store, or one to start. */
export type Store =
  | { readonly url: string }
  | {
      /** See `KeptProcessOptions.launch`; the process has a URL. */
      readonly launch: (signal: AbortSignal, previous: RunningProcess | undefined) => Promise<RunningProcess>
      /** Its future address, if known. Roles then start early, and wait as for a store that is down. */
      readonly address?: string
      /** The address for people and their tools, by the address for our own processes. Default: the same. */
      readonly analystUrlOf?: (url: string) => string
    }

interface RoleScript {
  readonly script: string
  readonly args: readonly string[]
  /** Variables of a process with these roles. Default: those of this one. */
  readonly envFor?: (roles: readonly string[]) => Variables
}

export interface SupervisorOptions {
  readonly redis: Store
  readonly clickhouse: Store
  readonly roleScript: RoleScript
  /** Roles of the processes that accept requests; may be empty. All processes listen on one port. */
  readonly ingressRoles: readonly string[]
  readonly ingressProcesses: number
  /** Roles of a process with its own listener; may be empty. */
  readonly dashboardRoles: readonly string[]
  /** Roles of the worker process; may be empty. */
  readonly workerRoles: readonly string[]
  /** The configuration of a process with these roles. The port is undefined for the first ingress process. */
  readonly configFor: (roles: readonly string[], ingressPort: number | undefined) => object
  readonly log: Logger
  /** Called when a process restarts after an unexpected end. */
  readonly onRestart?: (name: string) => void
}

/** Addresses of the running processes. */
export interface Addresses extends StoreUrls {
  /** The API; undefined without ingress. */
  readonly url: string | undefined
  /** The embedded ClickHouse for people and their tools; undefined with another one. */
  readonly analystUrl: string | undefined
  /** The dashboard; undefined without one. */
  readonly dashboardUrl: string | undefined
}

/** After this time, a start that waits for a store is logged. */
const SLOW_START_MS = 10_000

/** Time since the start of the stop, milliseconds, after which processes of each kind are killed. */
const STOP_INGRESS_MS = 3_000
const STOP_WORKER_MS = 6_500
const STOP_STORES_MS = 8_500

/**
 * Runs stores and role processes as children of this process. It starts stores while the roles load, then the roles, and
 * further ingress processes last. It restarts a child that ends unexpectedly. It stops ingress first, to end intake, then
 * workers, which drain, then stores.
 */
export class Supervisor {
  readonly #options: SupervisorOptions
  readonly #id = randomUUID()
  readonly #redis: KeptProcess<RunningProcess> | undefined
  readonly #clickhouse: KeptProcess<RunningProcess> | undefined
  readonly #ingress: KeptProcess<RoleProcess>[] = []
  readonly #workers: KeptProcess<RoleProcess>[] = []
  readonly #dashboards: KeptProcess<RoleProcess>[] = []
  /** Resolves when roles can start. */
  #stores: Promise<StoreUrls> = Promise.reject(new Error('not started'))
  #url: string | undefined
  #stopped: Promise<void> | undefined

  constructor(options: SupervisorOptions) {
    this.#options = options
    this.#stores.catch(() => {})
    this.#redis = this.#keepStore('redis', options.redis)
    this.#clickhouse = this.#keepStore('clickhouse', options.clickhouse)
    if (options.workerRoles.length > 0) {
      this.#workers.push(this.#keepRoles(options.workerRoles.join('+'), options.workerRoles))
    }
    if (options.dashboardRoles.length > 0) {
      this.#dashboards.push(this.#keepRoles('dashboard', options.dashboardRoles))
    }
    const count = options.ingressRoles.length > 0 ? options.ingressProcesses : 0
    for (let n = 1; n <= count; n++) {
      this.#ingress.push(this.#keepRoles(n === 1 ? 'ingress' : `ingress ${n}`, options.ingressRoles))
    }
  }

  /** Names of the supervised children. */
  get names(): readonly string[] {
    return this.#kept().map(({ name }) => name)
  }

  /**
   * Resolves when all processes are ready. Rejects with the reason of the first that cannot start, or of `stop`.
   * @param rolesWaitFor roles load in parallel, and start when it resolves
   */
  async start(rolesWaitFor?: Promise<unknown>): Promise<Addresses> {
    const { redis, clickhouse } = this.#options
    const redisUrl = startStore(redis, this.#redis)
    const clickhouseUrl = startStore(clickhouse, this.#clickhouse)
    const address = 'address' in clickhouse ? clickhouse.address : undefined
    this.#stores = Promise.all([redisUrl, address ?? clickhouseUrl, rolesWaitFor]).then(
      ([redisUrl, clickhouseUrl]) => ({ redisUrl, clickhouseUrl }),
    )
    const [first, ...others] = this.#ingress
    const roles = [...this.#workers, ...(first ? [first] : []), ...this.#dashboards].map((kept) => kept.start())
    const [{ redisUrl: redisAddress }, clickhouseAddress] = await Promise.all([this.#stores, clickhouseUrl, ...roles])
    // They share the port of the first one.
    await Promise.all(others.map((kept) => kept.start()))
    const stores = { redisUrl: redisAddress, clickhouseUrl: clickhouseAddress }
    const analystUrl = 'analystUrlOf' in clickhouse ? clickhouse.analystUrlOf?.(clickhouseAddress) : undefined
    const dashboardUrl = this.#dashboards[0]?.current?.url
    return { ...stores, analystUrl, url: this.#url, dashboardUrl }
  }

  /** Stops everything in order within about 9 seconds, and kills processes that take longer. May be called at any time. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  /** Sends SIGKILL to all children. */
  kill(): void {
    for (const kept of this.#kept()) kept.kill()
  }

  /** The metrics of every role process that answers. */
  async metrics(): Promise<MetricSet[]> {
    return await Promise.all(
      [...this.#ingress, ...this.#workers, ...this.#dashboards].map((kept) => kept.current?.metrics() ?? []),
    )
  }

  /** Why the children are not all at work, one line each; empty when they run and answer. Also before the start has ended. */
  async problems(): Promise<string[]> {
    const roles = [...this.#ingress, ...this.#workers, ...this.#dashboards]
    const answers = await Promise.all(roles.map(async ({ current }) => (await current?.metrics())?.length !== 0))
    return [
      ...this.#kept()
        .filter(({ current }) => current === undefined)
        .map(({ name }) => `${name} does not run`),
      ...roles.filter((_, i) => !answers[i]).map(({ name }) => `${name} does not answer`),
    ]
  }

  async #stop(): Promise<void> {
    const startedAtMs = performance.now()
    const within = (limitMs: number, processes: readonly Kept[]) =>
      stopAll(processes, startedAtMs + limitMs, this.#options.log)
    await within(STOP_INGRESS_MS, [...this.#ingress, ...this.#dashboards])
    await within(STOP_WORKER_MS, this.#workers)
    await within(STOP_STORES_MS, [this.#clickhouse, this.#redis].filter(isThere))
  }

  #kept(): Kept[] {
    return [...this.#ingress, ...this.#dashboards, ...this.#workers, ...[this.#clickhouse, this.#redis].filter(isThere)]
  }

  #keepStore(name: string, store: Store): KeptProcess<RunningProcess> | undefined {
    if ('url' in store) return undefined
    const { log, onRestart } = this.#options
    return new KeptProcess({ name, launch: store.launch, log, onRestart: () => onRestart?.(name) })
  }

  #keepRoles(name: string, roles: readonly string[]): KeptProcess<RoleProcess> {
    const { roleScript, configFor, log, onRestart } = this.#options
    const { script, args, envFor } = roleScript
    return new KeptProcess<RoleProcess>({
      name,
      launch: async (signal) => {
        const port = this.#url === undefined ? undefined : Number(new URL(this.#url).port)
        const config = { ...configFor(roles, port), processName: `${this.#id}/${name}` }
        const launch = { script, args, env: envFor?.(roles), roles, config, stores: this.#stores, signal }
        const waiting = setInterval(
          () => log.warn({ process: name, ...PASSING }, `process ${name} is still starting`),
          SLOW_START_MS,
        )
        const process = await launchRole(launch).finally(() => clearInterval(waiting))
        if (roles === this.#options.ingressRoles) this.#url ??= process.url
        log.info({ process: name, child_pid: process.pid, url: process.url }, 'process is ready')
        return process
      },
      log,
      onRestart: () => onRestart?.(name),
    })
  }
}

async function startStore(store: Store, kept: KeptProcess<RunningProcess> | undefined): Promise<string> {
  if ('url' in store) return store.url
  const { url } = await kept!.start()
  return url!
}

type Kept = Pick<KeptProcess<RunningProcess>, 'name' | 'current' | 'stop' | 'kill'>

async function stopAll(processes: readonly Kept[], deadlineMs: number, log: Logger): Promise<void> {
  const late = new AbortController()
  await Promise.all(
    processes.map(async (kept) => {
      const stopped = kept.stop()
      const leftMs = Math.max(0, deadlineMs - performance.now())
      const deadline = sleep(leftMs, 'late', { signal: late.signal }).catch(() => {})
      if ((await Promise.race([stopped, deadline])) === 'late') {
        log.error({ process: kept.name }, `process ${kept.name} did not end in time; killing it`)
        kept.kill()
        await stopped
      }
    }),
  )
  late.abort()
}

function isThere<T>(value: T | undefined): value is T {
  return value !== undefined
}
