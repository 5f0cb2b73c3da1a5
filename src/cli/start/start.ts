import { existsSync, rmSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Registry } from 'prom-client'
import { type Config, configOfRoles, environmentOfRoles, ROLES, type Role } from '../../config/config.ts'
import type { Setting } from '../../config/setting.ts'
import { SETTINGS } from '../../config/settings.ts'
import { createSignInUrl } from '../../dashboard/commands/sign-in.ts'
import { makeDataDir } from '../../embedded/processes/data-dir.ts'
import { waitForFreePort } from '../../embedded/processes/free-port.ts'
import { type Addresses, type Store, Supervisor } from '../../embedded/processes/supervisor.ts'
import { misspelt, variablesOf } from '../../operations/doctor/settings.ts'
import { readServers } from '../../operations/status/redis/servers.ts'
import { supervisorReporter } from '../../operations/status/role/process.ts'
import { redisWarnings } from '../../operations/status/verdict.ts'
import type { PipelineOutline } from '../../pipeline/declaration/pipeline.ts'
import { systemClock } from '../../run/clock.ts'
import { InputError } from '../../run/errors.ts'
import { writePrivateFile } from '../../run/private-file.ts'
import { connectRedis } from '../../stores/redis/connect.ts'
import { createLogger } from '../../telemetry/logger.ts'
import { MetricsServer } from '../../telemetry/metrics-server.ts'
import { RecentProblems } from '../../telemetry/problems.ts'
import { createSupervisorMetrics } from '../../telemetry/process-metrics.ts'
import type { CliContext, StopSignals } from '../../terminal/context.ts'
import { holdDataDir } from '../../terminal/data-dir-lock.ts'
import { embeddedClickHouse, embeddedRedis, type StoreSurroundings } from '../../terminal/embedded-stores.ts'
import { removeInstance, writeInstance } from '../../terminal/instance.ts'
import { printLine } from '../../terminal/print.ts'
import { readingRedis } from '../../terminal/stores.ts'
import { announce, keepSecrets, type Ready, readyObject } from './announce.ts'
import { createDemoTenant } from './demo-tenant.ts'
import { EnrichmentKeeper } from './enrichment-keeper.ts'
import { Health } from './health.ts'
import { awaitedStores, warnOfAwaitedStores } from './store-watch.ts'

interface StartOptions {
  readonly config: Config
  /** Undefined: all roles, and a tenant `demo` on the first start. */
  readonly roles: readonly Role[] | undefined
  readonly readyFile: string | undefined
  /** Print JSON instead of text. */
  readonly json: boolean
  readonly pipeline: PipelineOutline
  /** Settings that the pipeline declares. */
  readonly ownSettings: readonly Setting<unknown>[]
}

const ROLE_SCRIPT = fileURLToPath(new URL('../../ipid.mjs', import.meta.url))

const FORCED = 1
/** How long a stop waits for Redis to forget this process. */
const TELL_MS = 1_000

/**
 * Runs the service until it is stopped.
 * @returns the exit code: 0 when it stopped in order, even before it was ready
 * @throws StartupError with the reason when it cannot start
 */
export async function runStart(options: StartOptions, context: CliContext): Promise<number> {
  const signals = context.stopSignals()
  const readyFile = options.readyFile === undefined ? undefined : prepareReadyFile(options.readyFile)
  const problems = new RecentProblems()
  const pretty = context.stderr.isTTY === true
  const log = await createLogger({ level: options.config.logLevel, name: 'ipid', pretty, problems })
  const dir = makeDataDir(options.config.dataDir)
  const { lock, patienceMs } = await holdDataDir(dir)
  try {
    const run = new Run(options, { config: options.config, dir, log, patienceMs }, context, problems)
    return await run.untilStopped(signals, readyFile)
  } finally {
    await lock.release()
  }
}

/** One run of the service, from the lock on its DATA_DIR to its end. */
class Run {
  readonly #options: StartOptions
  readonly #surroundings: StoreSurroundings
  readonly #context: CliContext
  readonly #problems: RecentProblems
  readonly #registry = new Registry()
  readonly #health: Health
  /** Stops reporting this process to Redis. */
  #stopReporting: () => Promise<void> = async () => {}

  constructor(options: StartOptions, surroundings: StoreSurroundings, context: CliContext, problems: RecentProblems) {
    this.#options = options
    this.#problems = problems
    this.#surroundings = surroundings
    this.#context = context
    removeInstance(surroundings.dir)
    this.#health = new Health({ config: options.config, pipeline: options.pipeline, registry: this.#registry })
  }

  async untilStopped({ stop, force }: StopSignals, readyFile: string | undefined): Promise<number> {
    const supervisor = await this.#supervisor()
    const metrics = this.#metricsServer(supervisor)
    const keeper = this.#keeper()
    const { dir, log } = this.#surroundings
    const stopped = onAbort(stop).then(() => log.info('stopping'))
    const started = this.#start(supervisor, keeper, metrics, readyFile)
    const forced = onAbort(force)
    let failure: unknown
    try {
      await Promise.race([started, stopped])
      await stopped
    } catch (error) {
      if (!stop.aborted) failure = error
    }
    started.catch(() => {})
    const orderly = Promise.all([this.#stopReporting().then(() => supervisor.stop()), keeper.stop()]).then(() =>
      metrics.stop(),
    )
    if ((await Promise.race([orderly.then(() => 'orderly'), forced.then(() => 'forced')])) === 'forced') {
      supervisor.kill()
      await orderly
      return FORCED
    }
    removeInstance(dir)
    if (failure !== undefined) throw failure
    log.info('stopped')
    return 0
  }

  async #start(
    supervisor: Supervisor,
    keeper: EnrichmentKeeper,
    metrics: MetricsServer,
    readyFile: string | undefined,
  ): Promise<void> {
    await metrics.start()
    const data = keeper.start()
    // The supervisor reports a failure, since its roles wait for the data.
    data.catch(() => {})
    const started = new AbortController()
    const { config } = this.#options
    const judges = (this.#options.roles ?? ROLES).some((role) => role !== 'sink' && role !== 'archive')
    this.#warnOfUnreadFiles()
    void warnOfAwaitedStores(awaitedStores(config), this.#surroundings.log, started.signal)
    const addresses = await supervisor.start(judges ? data : undefined).finally(() => started.abort())
    this.#problems.ready()
    await this.#tellProblems(addresses)
    const ready = await this.#ready(addresses, metrics.url ?? '')
    const { pipeline, roles = ROLES } = this.#options
    writeInstance(this.#surroundings.dir, ready.instance, { config, roles, pipeline })
    await this.#warnOfRedis(addresses.redisUrl)
    const { stdout } = this.#context
    const files = stdout.isTTY ? undefined : keepSecrets(this.#surroundings.dir, ready)
    if (readyFile !== undefined) writePrivateFile(readyFile, `${JSON.stringify(readyObject(ready))}\n`)
    if (this.#options.json) printLine(stdout, JSON.stringify(readyObject(ready, files)))
    else announce(stdout, ready, files)
    const seconds = Math.round(performance.now() / 100) / 10
    this.#surroundings.log.info({ metrics: metrics.url, seconds }, 'ready')
  }

  /** Reports problems of this process, for example children that end, with the errors of all processes; and watches its health. */
  async #tellProblems(addresses: Addresses): Promise<void> {
    const { redisUrl } = addresses
    const client = connectRedis(redisUrl, { name: 'supervisor', kind: 'request', timeoutMs: TELL_MS })
    // The roles already log that Redis is down.
    client.on('error', () => {})
    const reporter = supervisorReporter(client, this.#problems, systemClock)
    this.#stopReporting = async () => {
      await reporter.stop()
      client.disconnect()
    }
    await reporter.start()
    this.#health.watch(addresses, client)
  }

  /** Without its file, a secret is silently missing. */
  #warnOfUnreadFiles(): void {
    const variables = variablesOf([...Object.values(SETTINGS), ...this.#options.ownSettings])
    for (const { seen, remedy } of misspelt(this.#context.env, variables)) {
      if (/^\w+_FILE /.test(seen)) this.#surroundings.log.warn(`${seen}: ${remedy}`)
    }
  }

  /** Warns about settings that an external Redis may lack. The private Redis always has them. */
  async #warnOfRedis(redisUrl: string): Promise<void> {
    if (this.#options.config.redisUrl === undefined) return
    const { log } = this.#surroundings
    try {
      for (const warning of redisWarnings(await readingRedis(redisUrl, readServers))) log.warn(warning)
    } catch (error) {
      log.debug({ err: error }, 'cannot read the durability settings of Redis')
    }
  }

  async #ready(addresses: Addresses, metricsUrl: string): Promise<Ready> {
    const { config, roles } = this.#options
    const created = roles === undefined ? await createDemoTenant(addresses.redisUrl, config) : undefined
    const dashboard = addresses.dashboardUrl === undefined ? undefined : (config.dashboardUrl ?? addresses.dashboardUrl)
    const instance = {
      ...(addresses.url === undefined ? {} : { url: addresses.url }),
      clickhouse_url: addresses.clickhouseUrl,
      ...(addresses.analystUrl === undefined ? {} : { analyst_url: addresses.analystUrl }),
      redis_url: addresses.redisUrl,
      pid: process.pid,
      metrics_url: metricsUrl,
      ...(dashboard === undefined ? {} : { dashboard }),
    }
    const signIn = dashboard === undefined ? undefined : await this.#signInUrl(addresses.redisUrl, dashboard)
    return { instance, created, metricsUrl, signIn }
  }

  /** A full Redis cannot store the link, but the service must start to drain it. */
  async #signInUrl(redisUrl: string, dashboard: string): Promise<string | undefined> {
    try {
      return await createSignInUrl(redisUrl, dashboard)
    } catch (error) {
      this.#surroundings.log.warn({ err: error }, 'cannot create a sign-in link; run "ipid dashboard" to try again')
      return undefined
    }
  }

  #keeper(): EnrichmentKeeper {
    const { config, log } = this.#surroundings
    return new EnrichmentKeeper({ config, script: ROLE_SCRIPT, env: this.#context.env, log })
  }

  async #supervisor(): Promise<Supervisor> {
    const { config } = this.#options
    const roles = this.#options.roles ?? ROLES
    const ingressRoles = roles.filter((role) => role === 'ingress')
    const dashboardRoles = roles.filter((role) => role === 'dashboard')
    const port = ingressRoles.length > 0 ? await this.#ingressPort() : config.port
    const metrics = createSupervisorMetrics(this.#registry)
    const dashboardPort = dashboardRoles.length > 0 ? await this.#dashboardPort() : config.dashboardPort
    const supervisor = new Supervisor({
      redis:
        config.redisUrl === undefined ? embeddedRedis(this.#surroundings, this.#context.env) : { url: config.redisUrl },
      clickhouse: this.#clickhouse(roles),
      roleScript: {
        ...{ script: ROLE_SCRIPT, args: ['role'] },
        envFor: (roles) => environmentOfRoles(this.#context.env, roles, this.#options.ownSettings),
      },
      ingressRoles,
      ingressProcesses: config.ingressProcesses,
      dashboardRoles,
      workerRoles: roles.filter((role) => role !== 'ingress' && role !== 'dashboard'),
      configFor: (roles, ingressPort) => ({
        ...configOfRoles(config, roles),
        port: ingressPort ?? port,
        dashboardPort,
      }),
      log: this.#surroundings.log,
      onRestart: (name) => metrics.restarted(name),
    })
    for (const name of supervisor.names) metrics.watched(name)
    return supervisor
  }

  #clickhouse(roles: readonly Role[]): Store {
    const { clickhouseUrl } = this.#options.config
    if (clickhouseUrl !== undefined) return { url: clickhouseUrl }
    return roles.includes('sink') ? embeddedClickHouse(this.#surroundings, this.#context.env) : { url: '' }
  }

  /** Fixes the port here, because all ingress processes share it and a restarted process must get the same one. */
  async #ingressPort(): Promise<number> {
    const { host, port, portShared } = this.#options.config
    if (portShared === 'on' && port !== 0) return port
    const listen = { hostSetting: 'HOST', host, portSetting: 'PORT', port }
    return await waitForFreePort(listen, this.#surroundings.patienceMs)
  }

  /** The default port may be taken: the user did not ask for it, so the dashboard moves to another one. */
  async #dashboardPort(): Promise<number> {
    const { dashboardHost: host, dashboardPort: port } = this.#options.config
    const { patienceMs } = this.#surroundings
    const listen = { hostSetting: 'DASHBOARD_HOST', host, portSetting: 'DASHBOARD_PORT', port }
    try {
      return await waitForFreePort(listen, patienceMs)
    } catch (error) {
      if (port !== DEFAULT_DASHBOARD_PORT || this.#context.env.DASHBOARD_PORT !== undefined) throw error
      const other = await waitForFreePort({ ...listen, port: 0 }, patienceMs)
      this.#surroundings.log.warn({ port }, 'the port of the dashboard is taken; it listens on another one')
      return other
    }
  }

  #metricsServer(supervisor: Supervisor): MetricsServer {
    const { config } = this.#options
    return new MetricsServer({
      host: config.adminHost,
      port: config.adminPort,
      // The default port may move: the user did not ask for it.
      mayMove: config.adminPort === DEFAULT_ADMIN_PORT && this.#context.env.ADMIN_PORT === undefined,
      gather: async () => {
        const [ofRoles, own] = await Promise.all([supervisor.metrics(), this.#registry.getMetricsAsJSON()])
        return [...ofRoles, own]
      },
      problems: () => supervisor.problems(),
      verdict: async () => {
        const { level, text } = await this.#health.verdict()
        return { isStalled: level === 'stalled', text }
      },
      log: this.#surroundings.log,
    })
  }
}

const DEFAULT_ADMIN_PORT = 9_090
const DEFAULT_DASHBOARD_PORT = 8_081

/** Removes the file of an earlier start, which does not describe this one. */
function prepareReadyFile(path: string): string {
  const absolute = resolve(path)
  if (!existsSync(dirname(absolute))) {
    throw new InputError(`--ready-file ${JSON.stringify(path)}: the folder does not exist`)
  }
  rmSync(absolute, { force: true })
  return absolute
}

function onAbort(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
