import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { BatchJob } from '../../schemas/api/batch.ts'
import { createDemoTenant } from '../../src/cli/start/demo-tenant.ts'
import { readConfig } from '../../src/config/config.ts'
import { Supervisor } from '../../src/embedded/processes/supervisor.ts'
import { type Pipeline, settingsOf } from '../../src/pipeline/declaration/pipeline.ts'
import { startTestClickHouse, type TestClickHouse } from './clickhouse.ts'
import { silent } from './pipeline.ts'
import { takePort } from './ports.ts'
import { processesNaming } from './processes.ts'
import { startTestRedis } from './redis.ts'

const SCRIPT = fileURLToPath(new URL('../../src/ipid.mjs', import.meta.url))

/** 17/8 is a business, 3/8 a cloud. */
const TABLE = `network,business_name,org_name,domain,classification
17.0.0.0/8,Example Fruit,Example Fruit Inc.,fruit.example,business
3.0.0.0/8,Example Cloud,Example Cloud,cloud.example,cloud
`

/** All roles of a pipeline as processes, on their own stores. */
export interface TestRoles {
  readonly clickhouse: TestClickHouse
  /** The test's folder, which holds DATA_DIR. */
  readonly dir: string
  post(path: string, body: unknown): Promise<Response>
  /** Uploads lines; resolves with the id of the job. */
  upload(lines: readonly string[]): Promise<string>
  job(id: string): Promise<BatchJob | undefined>
  /** Value of a counter over all processes, and all of its label sets that hold these labels. */
  counter(name: string, labels: Readonly<Record<string, string>>): Promise<number>
  /** `kill -9` of the process that runs everything but ingress; it is restarted. */
  killWorker(): void
  /** The same for the process that takes requests. */
  killIngress(): void
}

/**
 * @param moduleUrl of a `RoleModule` that exports its pipeline
 * @param settingsIn the settings of the pipeline's parts, by their variables
 */
export async function startRoles(
  t: TestContext,
  moduleUrl: string,
  settingsIn: (dir: string) => Readonly<Record<string, string>> = () => ({}),
): Promise<TestRoles> {
  const [redis, clickhouse] = await Promise.all([startTestRedis(t), startTestClickHouse(t)])
  const dir = await mkdtemp(join(tmpdir(), 'ipid-roles-'))
  t.after(() => rm(dir, { recursive: true, force: true }))
  writeFileSync(join(dir, 'organisations.csv'), TABLE)
  // Passed to the processes, so that they can be found: see `processesNaming`.
  process.env.TEST_ROLES_DIR = dir
  const unlimited = { rate: 1e6, burst: 1e6, daily_lookups: 1e6, monthly_accounts: 1e6 }
  writeFileSync(join(dir, 'plans.json'), JSON.stringify({ custom: unlimited }))
  const settings = {
    PORT: String(takePort()),
    ENRICH_DIR: dir,
    PLANS_FILE: join(dir, 'plans.json'),
    LOG_LEVEL: 'silent',
  }
  const { pipeline } = (await import(moduleUrl)) as { pipeline: Pipeline }
  const env = { ...settings, DATA_DIR: dir, CLAIM_IDLE_MS: '500', ...settingsIn(dir) }
  const config = readConfig(env, {}, undefined, { settings: settingsOf(pipeline) })
  const supervisor = new Supervisor({
    redis,
    clickhouse,
    roleScript: { script: SCRIPT, args: ['role', moduleUrl] },
    ingressRoles: ['ingress'],
    ingressProcesses: 1,
    dashboardRoles: [],
    workerRoles: ['process', 'sink', 'batch', 'archive'],
    configFor: (_roles, port) => ({ ...config, port: port ?? config.port }),
    log: silent,
  })
  t.after(async () => {
    await supervisor.stop()
  })
  const { url } = await supervisor.start()
  const { api_key: key } = (await createDemoTenant(redis.url, config))!
  const headers = { 'x-api-key': key }
  const post = (path: string, body: unknown) =>
    fetch(`${url}${path}`, { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) })
  const kill = (title: string) => {
    const pid = processesNaming(dir).find((found) => readFileSync(`/proc/${found}/cmdline`, 'latin1').includes(title))
    if (pid === undefined) throw new Error(`no ${title} runs`)
    process.kill(pid, 'SIGKILL')
  }
  return {
    clickhouse,
    dir,
    post,
    async upload(lines) {
      const answer = await post('/v1/ingest/batch', lines.join('\n'))
      return ((await answer.json()) as { job_id: string }).job_id
    },
    async job(id) {
      const answer = await fetch(`${url}/v1/ingest/batch/${id}`, { headers })
      return answer.status === 200 ? ((await answer.json()) as BatchJob) : undefined
    },
    async counter(name, labels) {
      const metrics = (await supervisor.metrics()).flat().filter((metric) => metric.name === name)
      const values = metrics.flatMap((metric) => metric.values)
      const wanted = Object.entries(labels)
      const found = values.filter((value) => wanted.every(([label, text]) => value.labels[label] === text))
      return found.reduce((sum, { value }) => sum + value, 0)
    },
    killWorker: () => kill('ipid process'),
    killIngress: () => kill('ipid ingress'),
  }
}
