/*
 * Kills each process of an instance with SIGKILL under a light, steady load, and measures the outage: from the kill (for main:
 * from its next start) to the first 200 of a later request, and to the time when the row of its event can be queried. On a busy
 * machine the new process spends most of that time waiting for a core; this time of its main thread is printed too.
 * ROUNDS=3, ROLES=ingress,worker,redis,clickhouse,main.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fetchClickHouse, tablesUrlOf } from '../test/support/fetch-clickhouse.ts'
import { freePort } from './support/free-port.ts'
import { descendants } from './support/processes.ts'

const SEND_EVERY_MS = 25
const LOOK_EVERY_MS = 25
const REQUEST_MS = 5_000
const STEADY_MS = Number(process.env.STEADY_MS ?? 11_000)
const ROUNDS = Number(process.env.ROUNDS ?? 3)
/** Command lines by role. */
const VICTIMS: Readonly<Record<string, string>> = {
  none: '',
  ingress: 'ipid ingress',
  worker: 'ipid process,sink',
  redis: 'redis-server',
  clickhouse: 'embedded/clickhouse',
  main: '',
}
const ROLES = (process.env.ROLES ?? Object.keys(VICTIMS).join()).split(',')

const dir = mkdtempSync(join(tmpdir(), 'ipid-recovery-'))
const readyFile = join(dir, 'ready.json')
writeFileSync(
  join(dir, 'plans.json'),
  JSON.stringify({ custom: { rate: 1e9, burst: 1e9, daily_lookups: 1e9, monthly_accounts: 1e9 } }),
)
const [port, clickhousePort, dashboardPort] = await Promise.all([freePort(), freePort(), freePort()])
const url = `http://127.0.0.1:${port}`

let main = await launch()
const ready = await untilReady()
const apiKey = ready.api_key
const tablesUrl = tablesUrlOf(join(dir, 'data'))
let sending = true
let round = 'warm'
let number = 0
/** Time of the round's first 200, milliseconds of `performance.now`. */
let firstAtMs: number | undefined
const senders = sendSteadily()

try {
  const results: ({ role: string } & Silence)[] = []
  await sleep(3_000)
  for (let n = 1; n <= ROUNDS; n++) {
    for (const role of ROLES) {
      results.push({ role, ...(await measure(role, `${role}${n}x`)) })
      const { answeredMs, storedMs, waitedMs } = results.at(-1)!
      process.stderr.write(
        `${role} ${n}: 200 after ${answeredMs} ms, stored after ${storedMs} ms, waited ${waitedMs} ms\n`,
      )
      await sleep(STEADY_MS)
    }
  }
  process.stdout.write(
    `killed      | next 200, ms: median, worst | next row, ms: median, worst | waited for a core, ms\n`,
  )
  for (const role of ROLES) {
    const own = results.filter((result) => result.role === role)
    const shown = (values: number[]) => {
      const sorted = values.sort((a, b) => a - b)
      return `${sorted[Math.floor(sorted.length / 2)]}, ${sorted.at(-1)}`
    }
    const [answers, rows] = [own.map(({ answeredMs }) => answeredMs), own.map(({ storedMs }) => storedMs)]
    const waits = shown(own.map(({ waitedMs }) => waitedMs))
    process.stdout.write(`${role.padEnd(11)} | ${shown(answers).padEnd(27)} | ${shown(rows).padEnd(27)} | ${waits}\n`)
  }
  const loads = loadavg().map((load) => load.toFixed(1))
  process.stdout.write(`load of the machine ${loads.join(', ')}; a row is stored up to a second after its answer\n`)
} finally {
  sending = false
  await senders
  main.kill('SIGTERM')
  if (main.exitCode === null && main.signalCode === null) await once(main, 'exit')
  rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
}

interface Silence {
  readonly answeredMs: number
  readonly storedMs: number
  /** Time that the new process waited for a core. */
  readonly waitedMs: number
}

async function measure(role: string, name: string): Promise<Silence> {
  if (role === 'main') {
    const gone = once(main, 'exit')
    main.kill('SIGKILL')
    await gone
    rmSync(readyFile, { force: true })
  } else if (role !== 'none') process.kill(pidOf(VICTIMS[role]!), 'SIGKILL')
  const startMs = performance.now()
  firstAtMs = undefined
  round = name
  if (role === 'main') main = await launch()
  const looked = async () => {
    const body = `SELECT count() FROM ipid.events WHERE startsWith(event_id, '${name}')`
    const signal = AbortSignal.timeout(REQUEST_MS)
    const answer = await fetchClickHouse(tablesUrl, {}, { body, signal }).catch(() => undefined)
    const text = await answer?.text().catch(() => '')
    return answer?.ok === true && text?.trim() !== '0'
  }
  while (!(await looked())) await sleep(LOOK_EVERY_MS)
  const storedMs = Math.round(performance.now() - startMs)
  const started =
    role === 'main' ? [main.pid!, pidOf(VICTIMS.ingress!)] : role === 'none' ? [] : [pidOf(VICTIMS[role]!)]
  const waitedMs = started.reduce((sum, pid) => sum + waitedForCoreMs(pid), 0)
  return { answeredMs: Math.round(firstAtMs! - startMs), storedMs, waitedMs: Math.round(waitedMs) }
}

/** Time that the main thread has waited for a core. */
function waitedForCoreMs(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/schedstat`, 'latin1').split(' ')[1]) / 1e6
}

async function sendSteadily(): Promise<void> {
  const open = new Set<Promise<void>>()
  while (sending) {
    const one = send(round).finally(() => open.delete(one))
    open.add(one)
    await sleep(SEND_EVERY_MS)
  }
  await Promise.all(open)
}

async function send(name: string): Promise<void> {
  const body = JSON.stringify({ events: [{ ip: '17.253.144.10', event_id: `${name}${number++}` }] })
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/json' }
  const signal = AbortSignal.timeout(REQUEST_MS)
  const answer = await fetch(`${url}/v1/ingest`, { method: 'POST', headers, body, signal }).catch(() => undefined)
  await answer?.arrayBuffer().catch(() => {})
  if (answer?.status === 200 && name === round) firstAtMs ??= performance.now()
}

async function launch(): Promise<ChildProcess> {
  return spawn(process.execPath, ['src/ipid.mjs', 'start', '--ready-file', readyFile], {
    env: {
      ...process.env,
      DATA_DIR: join(dir, 'data'),
      PORT: String(port),
      CLICKHOUSE_PORT: String(clickhousePort),
      DASHBOARD_PORT: String(dashboardPort),
      ADMIN_PORT: '0',
      PLANS_FILE: join(dir, 'plans.json'),
      LOG_LEVEL: process.env.LOG_LEVEL ?? 'fatal',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

async function untilReady(): Promise<{ api_key: string }> {
  while (!existsSync(readyFile)) {
    if (main.exitCode !== null) throw new Error(`ipid ended with ${main.exitCode}`)
    await sleep(50)
  }
  return JSON.parse(readFileSync(readyFile, 'utf8'))
}

/** Process id in this instance, by command line. */
function pidOf(command: string): number {
  const found = descendants(main.pid!).find(({ title }) => title.includes(command))
  if (found === undefined) throw new Error(`no process ${command} is running`)
  return found.pid
}
