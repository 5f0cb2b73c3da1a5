import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchClickHouse, tablesUrlOf } from '../../test/support/fetch-clickhouse.ts'

/** A whole ipid on free ports, with its own folder and an unlimited plan. */
export interface Instance {
  readonly url: string
  readonly clickhouseUrl: string
  /** `unix://…` */
  readonly redisUrl: string
  readonly apiKey: string
  readonly pid: number
  /** Its `DATA_DIR`. */
  readonly dataDir: string
  /** Runs a query and returns its rows as text, columns separated by tabs. */
  query(sql: string): Promise<string>
  /** May be called more than once. */
  stop(): Promise<void>
}

interface InstanceOptions {
  /** Checkout to run. Default: this one. */
  readonly root?: string
  /** Called right after the launch with a function that stops it. */
  readonly onLaunch?: (stop: () => Promise<void>) => void
}

const READY_WITHIN_MS = 120_000
const STOPPED_WITHIN_MS = 20_000
const UNLIMITED = { rate: 1e9, burst: 1e9, daily_lookups: 1e9, monthly_accounts: 1e9 }

/** @param env settings in addition to those that keep the instance private */
export async function startInstance(
  env: Record<string, string> = {},
  { root = process.cwd(), onLaunch }: InstanceOptions = {},
): Promise<Instance> {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-bench-'))
  const dataDir = join(dir, 'data')
  const plans = join(dir, 'plans.json')
  const readyFile = join(dir, 'ready.json')
  await writeFile(plans, JSON.stringify({ custom: UNLIMITED }))
  const child = spawn(process.execPath, ['src/ipid.mjs', 'start', '--ready-file', readyFile], {
    cwd: root,
    env: {
      ...process.env,
      DATA_DIR: dataDir,
      PORT: '0',
      CLICKHOUSE_PORT: '0',
      ADMIN_PORT: '0',
      DASHBOARD_PORT: '0',
      PLANS_FILE: plans,
      LOG_LEVEL: 'warn',
      // No site of a company is asked.
      DASHBOARD_FAVICONS: 'off',
      ...env,
    },
    // Ctrl-C must only reach this process, which stops the instance.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const stop = async () => {
    await endChild(child)
    await rm(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  onLaunch?.(stop)
  try {
    const ready = await readReady(child, readyFile)
    const tablesUrl = tablesUrlOf(dataDir)
    return {
      url: ready.url,
      clickhouseUrl: tablesUrl,
      redisUrl: ready.redis_url,
      apiKey: ready.api_key,
      pid: ready.pid,
      dataDir,
      async query(sql) {
        const answer = await fetchClickHouse(tablesUrl, { database: 'ipid' }, { body: sql })
        if (!answer.ok) throw new Error(await answer.text())
        return (await answer.text()).trimEnd()
      },
      stop,
    }
  } catch (error) {
    await stop()
    throw error
  }
}

interface Ready {
  readonly url: string
  readonly clickhouse_url: string
  readonly redis_url: string
  readonly api_key: string
  readonly pid: number
}

/** Stops a child, and kills it if it does not end. */
async function endChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS)
  await gone
  clearTimeout(late)
}

async function readReady(child: ChildProcess, path: string): Promise<Ready> {
  const deadline = performance.now() + READY_WITHIN_MS
  while (!existsSync(path)) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`ipid ended with ${child.exitCode}`)
    if (performance.now() > deadline) throw new Error('ipid was not ready in time')
    await sleep(50)
  }
  return JSON.parse(await readFile(path, 'utf8'))
}
