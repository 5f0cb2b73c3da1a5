import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fetchClickHouse, tablesUrlOf } from './fetch-clickhouse.ts'
import { copySchema } from './made-data.ts'
import { takePort } from './ports.ts'
import { commandLine, processesNaming } from './processes.ts'
import { until } from './until.ts'

/** The content of the ready file. */
export interface Ready {
  readonly url: string
  readonly clickhouse_url: string
  /** ClickHouse as the instance itself uses it. */
  readonly tables_url: string
  readonly redis_url: string
  readonly metrics_url: string
  readonly pid: number
  readonly tenant_id?: string
  readonly api_key?: string
}

/** The processes of an instance beside the main one, by a part of their command lines. */
export const VICTIMS = ['ipid process,sink', 'ipid ingress', 'redis-server', 'embedded/clickhouse'] as const

/** A whole ipid, as `ipid start` runs it, in its own folder and on free ports that it keeps. */
export interface TestInstance {
  readonly dir: string
  readonly dataDir: string
  ready: Ready
  readonly apiKey: string
  readonly child: ChildProcess
  /** Running processes of this instance by kind. */
  pids(): { main: number; redis: number[]; others: number[] }
  /** Sends a signal to a running process, SIGKILL unless another is named, and returns its id; fails when there is none. */
  kill(victim: (typeof VICTIMS)[number], signal?: NodeJS.Signals): number
  /** `kill -9` of the main process unless it has ended, then the same start again. */
  restart(): Promise<void>
  /** Sends SIGTERM; resolves with the exit code. */
  stop(): Promise<number | null>
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<Response>
  /** Rows of a query as text, columns separated by tabs; '' when ClickHouse does not answer. */
  query(sql: string): Promise<string>
  /** Everything printed to standard error so far. */
  stderr(): string
}

/** Organisations for tests: a business and a cloud; everything else is unknown. */
const TABLE = `network,business_name,org_name,domain,industry,industry_category,classification,country_code
17.0.0.0/8,Example Fruit,Example Fruit Inc.,fruit.example,Hardware,Technology,business,US
18.0.0.0/8,Example School,Example School,school.example,Education,Education,education,US
3.0.0.0/8,Example Cloud,Example Cloud,cloud.example,Hosting,Technology,cloud,US
`

/** Writes the organisations of tests, and a plan without limits. Returns the settings that name them. */
export async function writeTestData(dir: string): Promise<Record<string, string>> {
  const settings = { ENRICH_DIR: join(dir, 'enrich'), PLANS_FILE: join(dir, 'plans.json') }
  await mkdir(settings.ENRICH_DIR)
  writeFileSync(join(settings.ENRICH_DIR, 'organisations.csv'), TABLE)
  const unlimited = { rate: 1e6, burst: 1e6, daily_lookups: 1e6, monthly_accounts: 1e6 }
  writeFileSync(settings.PLANS_FILE, JSON.stringify({ custom: unlimited }))
  return settings
}

/**
 * Starts one; it is stopped and its folder removed after the test.
 * @param env settings beside those that keep the instance private
 * @param under the parent of its folder
 */
export async function startInstance(
  t: { after(hook: () => Promise<void>): void },
  env: Record<string, string> = {},
  under = tmpdir(),
): Promise<TestInstance> {
  const dir = await mkdtemp(join(under, 'ipid-test-'))
  const dataDir = join(dir, 'data')
  const readyFile = join(dir, 'ready.json')
  const data = await writeTestData(dir)
  if (env.CLICKHOUSE_URL === undefined) await copySchema(join(dataDir, 'clickhouse'))
  const [port, clickhousePort, dashboardPort] = [takePort(), takePort(), takePort()].map(String)
  const ports = { PORT: port, CLICKHOUSE_PORT: clickhousePort, ADMIN_PORT: '0', DASHBOARD_PORT: dashboardPort }
  let printed = ''
  const launch = async (): Promise<{ child: ChildProcess; ready: Ready }> => {
    rmSync(readyFile, { force: true })
    const child = spawn(process.execPath, ['src/ipid.mjs', 'start', '--ready-file', readyFile], {
      env: {
        PATH: process.env.PATH,
        HOME: dir,
        DATA_DIR: dataDir,
        ...data,
        LOG_LEVEL: 'warn',
        // No site of a company is asked.
        DASHBOARD_FAVICONS: 'off',
        ...ports,
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child.stderr!.on('data', (bytes) => {
      printed += String(bytes)
    })
    await until(() => {
      if (child.exitCode !== null) throw new Error(`ipid ended with ${child.exitCode}: ${printed}`)
      return existsSync(readyFile)
    })
    return { child, ready: { ...JSON.parse(readFileSync(readyFile, 'utf8')), tables_url: tablesUrlOf(dataDir) } }
  }
  let { child, ready } = await launch()
  const apiKey = ready.api_key!
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
    return child.exitCode
  }
  t.after(async () => {
    await stop()
    for (const pid of processesNaming(dir)) process.kill(pid, 'SIGKILL')
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  })
  return {
    dir,
    dataDir,
    apiKey,
    get ready() {
      return ready
    },
    get child() {
      return child
    },
    pids() {
      const all = processesNaming(dir).filter((pid) => pid !== child.pid)
      const redis = all.filter((pid) => commandLine(pid).includes('redis-server'))
      return { main: child.pid!, redis, others: all.filter((pid) => !redis.includes(pid)) }
    },
    kill(victim, signal = 'SIGKILL') {
      const pid = processesNaming(dir).find((found) => commandLine(found).includes(victim))
      if (pid === undefined) throw new Error(`no process ${victim} runs`)
      process.kill(pid, signal)
      return pid
    },
    async restart() {
      if (child.exitCode === null && child.signalCode === null) {
        const gone = once(child, 'exit')
        child.kill('SIGKILL')
        await gone
      }
      const next = await launch()
      child = next.child
      ready = next.ready
    },
    stop,
    post: (path, body, headers = {}) =>
      fetch(`${ready.url}${path}`, {
        method: 'POST',
        headers: { 'x-api-key': apiKey, 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    async query(sql) {
      const answer = await fetchClickHouse(ready.tables_url, { database: 'ipid' }, { body: sql }).catch(() => undefined)
      return answer?.ok ? (await answer.text()).trimEnd() : ''
    },
    stderr: () => printed,
  }
}
