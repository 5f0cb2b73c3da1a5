import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startTestClickHouse, type TestClickHouse } from '../../support/clickhouse.ts'
import { startInstance, type TestInstance } from '../../support/instance.ts'
import { takePort } from '../../support/ports.ts'
import { isAlive } from '../../support/processes.ts'
import { startTestRedis, type TestRedis } from '../../support/redis.ts'
import { type SentinelSet, startSentinelSet } from '../../support/sentinel.ts'
import { until } from '../../support/until.ts'
import type { CleanUp } from './clean-up.ts'
import { type ClusterNode, clusterUrl, startCluster } from './cluster.ts'
import { CuttingProxy } from './proxy.ts'
import { SmallDisk } from './small-disk.ts'

/** The parts of a service that the load and the judge need. */
export interface Surroundings {
  /** Base URLs of the API, in the order in which a request tries them. */
  readonly urls: () => readonly string[]
  /** Key of the tenant `demo`; undefined: there is none yet. */
  readonly apiKey: string | undefined
  /** Without any proxy. */
  readonly redisUrl: string
  readonly clickhouseUrl: string
  /** The instance that runs everything, if one does. */
  readonly instance?: TestInstance
  /** Ends it in order. Returns what went wrong, in words. */
  stop(): Promise<readonly string[]>
}

/** One ipid that runs everything. */
interface OneInstance extends Surroundings {
  readonly instance: TestInstance
}

/** With its own stores; all on a disk that can be filled, where one can be mounted. */
export interface Own extends OneInstance {
  readonly disk: SmallDisk | undefined
}

/**
 * External Redis and ClickHouse, with proxies before them; Redis on a disk that can be filled, where one can be mounted.
 */
export interface Proxied extends OneInstance {
  readonly redis: TestRedis
  readonly clickhouse: TestClickHouse
  readonly toRedis: CuttingProxy
  readonly toClickHouse: CuttingProxy
  readonly disk: SmallDisk | undefined
  /** A set of all roles but ingress, beside that of the instance. */
  readonly second: SecondSet
  /** Starts another one when that is gone; resolves when it is ready. */
  startSecondSet(): Promise<SecondSet>
}

export interface SecondSet {
  /** Ends it: by SIGTERM, or at once. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
}

/** With three servers of Redis, three Sentinels, and answers only for replicated writes. */
export interface Watched extends OneInstance {
  readonly set: SentinelSet
}

export interface Clustered extends OneInstance {
  readonly nodes: readonly ClusterNode[]
}

function ofInstance(instance: TestInstance) {
  return {
    instance,
    urls: () => [instance.ready.url],
    apiKey: instance.apiKey,
    async stop() {
      const { others, redis } = instance.pids()
      const wrong = (await instance.stop()) === 0 ? [] : ['the service did not end with 0']
      return [...wrong, ...[...others, ...redis].filter(isAlive).map((pid) => `process ${pid} is left`)]
    },
  }
}

const SETTINGS = { DEFAULT_DATA: 'off', CLAIM_IDLE_MS: '1000' }
/** Two processes insert, and feed, side by side. */
const SHARED = { SINK_SHARES: '2', FEEDER_SHARES: '4' }

/** A Prometheus finds the instance again after a restart. */
function ownSettings() {
  return { ...SETTINGS, ADMIN_PORT: String(takePort()) }
}

function withPort(url: string, port: number): string {
  const other = new URL(url)
  other.port = String(port)
  return other.href
}

export async function startOwn(cleanUp: CleanUp): Promise<Own> {
  const disk = await SmallDisk.mount(cleanUp)
  const instance = await startInstance(cleanUp, ownSettings(), disk?.path)
  return { ...ofInstance(instance), disk, redisUrl: instance.ready.redis_url, clickhouseUrl: instance.ready.tables_url }
}

export async function startProxied(cleanUp: CleanUp): Promise<Proxied> {
  const disk = await SmallDisk.mount(cleanUp)
  const [redis, clickhouse] = await Promise.all([startTestRedis(cleanUp, [], disk?.path), startTestClickHouse(cleanUp)])
  const [toRedis, toClickHouse] = [new CuttingProxy(), new CuttingProxy()]
  await toRedis.start({ path: redis.url.slice('unix://'.length) }, cleanUp)
  await toClickHouse.start({ host: '127.0.0.1', port: Number(new URL(clickhouse.url).port) }, cleanUp)
  const settings = {
    ...ownSettings(),
    ...SHARED,
    REDIS_URL: `redis://127.0.0.1:${toRedis.port}`,
    CLICKHOUSE_URL: withPort(clickhouse.url, toClickHouse.port),
  }
  const instance = await startInstance(cleanUp, settings)
  const startSecond = () => startSecondSet(instance, settings, cleanUp)
  return {
    ...ofInstance(instance),
    second: await startSecond(),
    redis,
    clickhouse,
    toRedis,
    toClickHouse,
    disk,
    redisUrl: redis.url,
    clickhouseUrl: clickhouse.url,
    startSecondSet: startSecond,
  }
}

/** A killed master is restarted before its replica takes over: the replica may lack writes, which would be lost. */
const NO_TAKEOVER_MS = 15_000

export async function startClustered(cleanUp: CleanUp): Promise<Clustered> {
  const nodes = await startCluster(cleanUp, { nodeTimeoutMs: NO_TAKEOVER_MS })
  const redisUrl = clusterUrl(nodes)
  const instance = await startInstance(cleanUp, { ...ownSettings(), ...SHARED, REDIS_URL: redisUrl })
  return { ...ofInstance(instance), nodes, redisUrl, clickhouseUrl: instance.ready.tables_url }
}

export async function startWatched(cleanUp: CleanUp): Promise<Watched> {
  const set = await startSentinelSet(cleanUp)
  const redisUrl = set.url('?waitReplicas=1')
  const instance = await startInstance(cleanUp, { ...ownSettings(), ...SHARED, REDIS_URL: redisUrl })
  return { ...ofInstance(instance), set, redisUrl, clickhouseUrl: instance.ready.tables_url }
}

async function startSecondSet(
  { dir }: TestInstance,
  settings: Readonly<Record<string, string>>,
  cleanUp: CleanUp,
): Promise<SecondSet> {
  const dataDir = await mkdtemp(join(tmpdir(), 'ipid-second-'))
  await cp(join(dir, 'enrich'), join(dataDir, 'enrich'), { recursive: true })
  const readyFile = join(dataDir, 'ready.json')
  const args = ['src/ipid.mjs', 'start', '--roles', 'process,sink,batch', '--ready-file', readyFile]
  const env = { PATH: process.env.PATH, HOME: dataDir, DATA_DIR: dataDir, ENRICH_DIR: join(dataDir, 'enrich') }
  const child = spawn(process.execPath, args, {
    env: { ...env, ...settings, LOG_LEVEL: 'error', PORT: '0', ADMIN_PORT: '0' },
    stdio: 'ignore',
  })
  const gone = once(child, 'exit')
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await gone
    await rm(dataDir, { recursive: true, force: true, maxRetries: 5 })
  }
  cleanUp.after(() => end('SIGKILL'))
  await until(() => existsSync(readyFile) || child.exitCode !== null)
  return { end }
}
