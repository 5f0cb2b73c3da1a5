/*
 * Memory and disk of an installation that runs each role as a service of its own, as Docker Compose does, with its Redis settings and the
 * embedded ClickHouse: at rest, while `EVENTS` (1,000,000) page views of 30 days arrive in requests of 100 (`NOISE`, 0.3 of them of noise),
 * while they wait for ClickHouse, and while pages are read. Then bytes of an event in each place. `LAYOUT=one` measures `npm start` instead.
 * src/operations/sizing/constants.ts has the results. Linux only. Sizes do not depend on how busy the machine is; speed is not measured.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { pino } from 'pino'
import { Registry } from 'prom-client'
import { ClickHouseCompanies } from '../src/companies/companies.ts'
import { ClickHouseHome } from '../src/companies/home.ts'
import { ROLES } from '../src/config/config.ts'
import { startEmbeddedClickHouse } from '../src/embedded/clickhouse/start.ts'
import { EnrichmentEngine } from '../src/enrichment/engine.ts'
import { decideDefaults, makeDefaults } from '../src/enrichment/files/defaults/make.ts'
import { type DemoVisitors, findVisitors } from '../src/operations/demo/organisations.ts'
import { Random } from '../src/run/random.ts'
import { UTC } from '../src/run/time-zone.ts'
import { connectReading, QuestionReader } from '../src/stores/clickhouse/reader.ts'
import { fetchClickHouse, tablesUrlOf } from '../test/support/fetch-clickhouse.ts'
import { processName } from './run/accounting.ts'
import { type Releases, withReleases } from './run/releases.ts'
import { sendLoad } from './support/load.ts'
import { cpuSeconds, descendants } from './support/processes.ts'
import { withTenants } from './support/tenants.ts'

const EVENTS = Number(process.env.EVENTS ?? 1_000_000)
const NOISE = Number(process.env.NOISE ?? 0.3)
const WAITING = Number(process.env.WAITING ?? 300_000)
const LINES = Number(process.env.LINES ?? 200_000)
const LAYOUT = process.env.LAYOUT ?? 'roles'
const DAYS = 30
const DAY_MS = 86_400_000
const PER_REQUEST = 100
const BODIES_AT_ONCE = 400
const CONNECTIONS = 16
const MB = 2 ** 20
const TENANT = 'sized'
/** CPU of all processes, as a share of a core, that counts as rest, and for how long. */
const REST = { share: 0.12, ms: 15_000 }
const PATHS = Array.from({ length: 300 }, (_, i) =>
  i === 0 ? '/' : `/${['product', 'docs', 'blog', 'pricing'][i % 4]}/an-article-about-number-${i}`,
)
const UNLIMITED = { rate: 1e9, burst: 1e9, daily_lookups: 1e9, monthly_accounts: 1e9 }
/** Those of docker-compose.yml. */
const REDIS_SETTINGS = {
  ...{ port: '0', save: '', appendonly: 'yes', appendfsync: 'always', maxmemory: '8gb', hz: '4', rdbcompression: 'no' },
  ...{ 'maxmemory-policy': 'noeviction', 'auto-aof-rewrite-min-size': '512mb', 'hash-max-listpack-entries': '128' },
}

/** The measured processes by name: main processes of containers, or of the stores. */
type Parts = Map<string, number>

interface Installation {
  readonly parts: Parts
  readonly api: string
  readonly redisUrl: string
  readonly clickhouseUrl: string
  readonly clickhousePid: number
  readonly archive: string
  readonly aof: string
}

await withReleases(async (releases) => {
  const dir = await mkdtemp(join(tmpdir(), 'ipid-sizing-'))
  releases.add(() => rm(dir, { recursive: true, force: true, maxRetries: 5 }))
  const installed = LAYOUT === 'one' ? await startOne(dir, releases) : await startRoles(dir, releases)
  const { parts, api, redisUrl, clickhousePid } = installed
  const redis = new Redis(redisUrl.replace('unix://', ''))
  releases.add(async () => redis.disconnect())
  const query = async (sql: string) => {
    const answer = await fetchClickHouse(installed.clickhouseUrl, { database: 'ipid' }, { body: sql })
    if (!answer.ok) throw new Error(await answer.text())
    return (await answer.text()).trimEnd()
  }
  const apiKey = await withTenants({ redisUrl } as Parameters<typeof withTenants>[0], async (admin) => {
    await admin.createTenant(TENANT, { plan: 'custom', archive: true })
    return (await admin.createKey(TENANT)).key
  })

  const starting = watch(parts)
  await atRest(parts)
  report('peak of the start', await starting.end())
  report('at rest', memoryOf(parts))
  const visitors = await findAll(join(dir, 'enrich'))
  print(`${visitors.organisations.length} organisations, ${visitors.noise.length} networks of noise`)

  const info = async () => {
    const text = await redis.info('everything')
    const number = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1])
    return { memory: number('used_memory'), file: number('aof_current_size'), rss: number('used_memory_rss') }
  }
  const random = new Random(1)
  const send = async (events: number, watched: string) => {
    const watching = watch(parts)
    const made = pageViews(random, visitors, events)
    let kept = 0
    for (let done = false; !done; ) {
      const bodies: string[] = []
      while (bodies.length < BODIES_AT_ONCE && !done) {
        const batch: object[] = []
        while (batch.length < PER_REQUEST) {
          const next = made.next()
          if (next.done) break
          batch.push(next.value.event)
          if (!next.value.isNoise) kept++
        }
        if (batch.length > 0) bodies.push(JSON.stringify({ events: batch }))
        done = batch.length < PER_REQUEST
      }
      const { statuses } = await sendLoad(api, '/v1/ingest', apiKey, bodies, CONNECTIONS)
      if ([...statuses.keys()].some((status) => status !== 200))
        throw new Error(`answers ${JSON.stringify([...statuses])}`)
    }
    report(watched, await watching.end())
    return kept
  }
  const stored = async () => Number(await query('SELECT count() FROM events'))
  const untilStored = async (least: number) => {
    while ((await stored()) < least) await sleep(500)
  }

  const before = await info()
  const kept = await send(EVENTS, `while ${EVENTS} events arrive`)
  await untilStored(kept)
  const afterLoad = await info()
  await untilBuilt(query)
  await atRest(parts)
  report('at rest after it', memoryOf(parts))
  const claimed = await info()
  print(`events ${EVENTS}, stored ${kept}`)
  print(
    `redis memory of a claim: ${((claimed.memory - before.memory) / kept).toFixed(1)} B; rss ${Math.round(claimed.rss / MB)} MB`,
  )
  print(
    `append-only file of an event, stored with archive: ${((afterLoad.file - before.file) / EVENTS).toFixed(0)} B an event sent`,
  )
  await redis.bgrewriteaof()
  while (/aof_rewrite_(?:in_progress|scheduled):1/.test(await redis.info('persistence'))) await sleep(200)
  print(
    `append-only file after a rewrite: ${Math.round((await info()).file / MB)} MB, ${((await info()).file / kept).toFixed(1)} B a claim`,
  )

  await sizes(query, kept, 'as inserted')
  for (const table of ['events', 'entity_days', 'page_days']) await query(`OPTIMIZE TABLE ${table} FINAL`)
  await sizes(query, kept, 'merged')
  print(
    await query('SELECT count(), uniqExact(company_id), uniqExact(visit) FROM events').catch((error) => String(error)),
  )
  const archived = await bytesOf(installed.archive)
  print(`archive: ${(archived / EVENTS).toFixed(1)} B an event sent`)

  await upload(installed, apiKey, random, visitors, parts)
  await atRest(parts)

  const idle = await info()
  process.kill(clickhousePid, 'SIGSTOP')
  const waiting = await send(WAITING, 'while events wait for ClickHouse')
  await sleep(5_000)
  const full = await info()
  print(`redis memory of a waiting event and its claim: ${((full.memory - idle.memory) / waiting).toFixed(1)} B`)
  const total = (await redis.info('memory')).match(/used_memory_human.*/)?.[0]
  print(`redis: ${total}`)
  const catching = watch(parts)
  process.kill(clickhousePid, 'SIGCONT')
  await sleep(1_000)
  while (Number(await query('SELECT count() FROM events')) < kept + waiting) await sleep(500)
  report('while it catches up', await catching.end())
  await atRest(parts)
  const drained = await info()
  print(`redis memory of the claims alone: ${((drained.memory - idle.memory) / waiting).toFixed(1)} B`)

  const reading = watch(parts)
  const client = connectReading(installed.clickhouseUrl, 'bench')
  const reader = new QuestionReader(client)
  for (let round = 0; round < 3; round++) {
    await new ClickHouseHome(reader, async () => UTC).week(TENANT, Date.now())
    await new ClickHouseCompanies(
      reader,
      { now: Date.now },
      async () => [],
      async () => UTC,
    ).page(TENANT, { sort: 'heat' })
  }
  await client.close()
  report('while pages are read', await reading.end())
})

/** Each role as a process tree of its own, beside a Redis and a ClickHouse. */
async function startRoles(dir: string, releases: Releases): Promise<Installation> {
  const socket = join(dir, 'redis.sock')
  const redisArgs = Object.entries({ ...REDIS_SETTINGS, unixsocket: socket, dir }).flatMap(([name, value]) => [
    `--${name}`,
    value,
  ])
  const redis = spawn('redis-server', redisArgs, { stdio: 'ignore' })
  releases.add(() => ended(redis))
  while (!existsSync(socket)) await sleep(50)
  const log = pino({ level: 'silent' })
  const clickhouse = await startEmbeddedClickHouse({ path: join(dir, 'clickhouse'), port: 0, log })
  releases.add(() => clickhouse.stop())
  const parts: Parts = new Map([
    ['redis', redis.pid!],
    ['clickhouse', clickhouse.pid],
  ])
  const archive = join(dir, 'objects')
  const [redisUrl, clickhouseUrl] = [`unix://${socket}`, clickhouse.url]
  const env = { REDIS_URL: redisUrl, CLICKHOUSE_URL: clickhouseUrl, ARCHIVE_URL: `file://${archive}` }
  let api = ''
  for (const role of ROLES) {
    const { child, ready } = await launch(dir, role, { ...env, DATA_DIR: join(dir, role) }, ['--roles', role], releases)
    parts.set(role, child.pid!)
    if (role === 'ingress') api = ready.url
  }
  const aof = join(dir, 'appendonlydir')
  return { parts, api, redisUrl, clickhouseUrl, clickhousePid: clickhouse.pid, archive, aof }
}

/** As `npm start`. */
async function startOne(dir: string, releases: Releases): Promise<Installation> {
  const dataDir = join(dir, 'data')
  const { child, ready } = await launch(dir, 'all', { DATA_DIR: dataDir, REDIS_MAX_MEMORY: '8gb' }, [], releases)
  const parts: Parts = new Map([['main', child.pid!]])
  for (const { pid, title } of descendants(child.pid!)) {
    const name = processName(title)
    if (name !== 'main' && name !== 'compiler') parts.set(name, pid)
  }
  return {
    ...{ parts, api: ready.url, redisUrl: ready.redis_url, clickhouseUrl: tablesUrlOf(dataDir) },
    ...{
      clickhousePid: parts.get('clickhouse')!,
      archive: join(dataDir, 'archive'),
      aof: join(dataDir, 'redis/appendonlydir'),
    },
  }
}

async function launch(
  dir: string,
  name: string,
  own: Record<string, string>,
  args: readonly string[],
  releases: Releases,
) {
  const plans = join(dir, 'plans.json')
  const readyFile = join(dir, `${name}.json`)
  await writeFile(plans, JSON.stringify({ custom: UNLIMITED }))
  const ports = { PORT: '0', CLICKHOUSE_PORT: '0', ADMIN_PORT: '0', DASHBOARD_PORT: '0' }
  const env = { ...process.env, ...ports, PLANS_FILE: plans, LOG_LEVEL: 'warn', DASHBOARD_FAVICONS: 'off', ...own }
  const child = spawn(process.execPath, ['src/ipid.mjs', 'start', '--ready-file', readyFile, ...args], {
    ...{ env: { ...env, SECRETS_KEY: '0'.repeat(64) }, detached: true, stdio: ['ignore', 'ignore', 'inherit'] },
  })
  releases.add(() => ended(child))
  while (!existsSync(readyFile)) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`)
    await sleep(50)
  }
  return { child, ready: JSON.parse(await readFile(readyFile, 'utf8')) as { url: string; redis_url: string } }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGTERM')
  const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
  await gone
  clearTimeout(late)
}

/** Organisations and noise among the default data. */
async function findAll(dir: string): Promise<DemoVisitors> {
  await makeDefaults(dir)
  await decideDefaults(dir)
  const log = pino({ level: 'silent' })
  const engine = new EnrichmentEngine({ dir: undefined, defaultsDir: dir, log, metrics: new Registry() })
  await engine.start()
  const wanted = { organisations: 20_000, noise: 4_000 }
  const found = await findVisitors(new Random(1), (address) => engine.enrich(address), wanted)
  await engine.stop()
  return found
}

/** Page views as the script for web pages sends them, ordered by time: visits of one to nine pages, frequent visitors and seldom ones. */
function* pageViews(
  random: Random,
  { organisations, noise }: DemoVisitors,
  events: number,
): Generator<{ event: object; isNoise: boolean }> {
  const nowMs = Date.now()
  for (let made = 0, session = 0; made < events; session++) {
    const isNoise = random.next() < NOISE
    const among = isNoise ? noise : organisations
    const visitor = among[Math.floor(random.next() ** 2 * among.length)]!
    const ip = random.pick(visitor.addresses)
    const pages = 1 + Math.floor(random.next() ** 3 * 9)
    let atMs = nowMs - DAYS * DAY_MS * (1 - made / events)
    let referrer = random.next() < 0.5 ? 'https://www.google.com/' : undefined
    const utm = random.next() < 0.1 && {
      utm_source: 'newsletter',
      utm_medium: 'email',
      utm_campaign: `issue-${session % 20}`,
    }
    const email = random.next() < 0.05 && visitor.domain !== undefined && `visitor${session}@${visitor.domain}`
    for (let page = 0; page < pages && made < events; page++, made++) {
      const path = PATHS[Math.floor(random.next() ** 2 * PATHS.length)]!
      const url = `https://www.example.com${path}${page === 0 && utm ? '?utm_source=newsletter&utm_medium=email' : ''}`
      yield {
        isNoise,
        event: {
          ...{
            ip,
            event_id: randomUUID(),
            timestamp: new Date(atMs).toISOString(),
            event_type: 'page',
            session_id: 1_000_000 + session,
          },
          ...{ platform: 'web', url, ...(referrer && { referrer }), ...(page === 0 && utm) },
          properties: { title: `An article about ${path}`, screen: '1920x1080', language: 'en-US' },
          ...(email && { user_properties: { email } }),
        },
      }
      referrer = url
      atMs = Math.min(nowMs, atMs + random.between(8, 150) * 1_000)
    }
  }
}

async function upload(
  installed: Installation,
  apiKey: string,
  random: Random,
  visitors: DemoVisitors,
  parts: Parts,
): Promise<void> {
  const watching = watch(parts)
  const lines = [...pageViews(random, visitors, LINES)].map(({ event }) => `${JSON.stringify(event)}\n`)
  const headers = { 'x-api-key': apiKey, 'content-type': 'application/x-ndjson' }
  const answer = await fetch(`${installed.api}/v1/ingest/batch`, { method: 'POST', headers, body: lines.join('') })
  const { job_id: job } = (await answer.json()) as { job_id: string }
  for (;;) {
    const { status } = (await (await fetch(`${installed.api}/v1/ingest/batch/${job}`, { headers })).json()) as {
      status: string
    }
    if (status === 'completed') break
    if (status === 'failed') throw new Error('the upload failed')
    await sleep(200)
  }
  report(`while ${LINES} lines are uploaded`, await watching.end())
}

/** Waits until all days but the newest have stored numbers. */
async function untilBuilt(query: (sql: string) => Promise<string>): Promise<void> {
  while (Number(await query('SELECT uniqExact(day) FROM entity_days')) < DAYS - 1) await sleep(1_000)
}

async function sizes(query: (sql: string) => Promise<string>, kept: number, when: string): Promise<void> {
  const rows = await query(`SELECT table, sum(rows), sum(bytes_on_disk), count() FROM system.parts
    WHERE active AND database = 'ipid' GROUP BY table ORDER BY 3 DESC LIMIT 8`)
  for (const row of rows.split('\n')) {
    const [table, count, bytes, parts] = row.split('\t')
    print(
      `${when}: ${table} ${count} rows, ${Math.round(Number(bytes) / MB)} MB in ${parts} parts, ${(Number(bytes) / kept).toFixed(1)} B a stored event`,
    )
  }
}

async function bytesOf(dir: string): Promise<number> {
  let bytes = 0
  for (const entry of await readdir(dir, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) bytes += (await stat(join(entry.parentPath, entry.name))).size
  }
  return bytes
}

/** Waits until the processes do next to nothing. */
async function atRest(parts: Parts): Promise<void> {
  const used = () =>
    treesOf(parts).reduce((sum, { pids }) => sum + pids.reduce((all, pid) => all + cpuSeconds(pid), 0), 0)
  for (let quietMs = 0; quietMs < REST.ms; ) {
    const [before, beganMs] = [used(), performance.now()]
    await sleep(1_000)
    const seconds = (performance.now() - beganMs) / 1_000
    quietMs = (used() - before) / seconds < REST.share ? quietMs + seconds * 1_000 : 0
  }
}

function treesOf(parts: Parts): { name: string; pids: number[] }[] {
  const isTree = LAYOUT !== 'one'
  return [...parts].map(([name, pid]) => ({
    name,
    pids: [pid, ...(isTree ? descendants(pid).map((each) => each.pid) : [])],
  }))
}

/** Megabytes by part: the memory of its processes alone, and once the files that they map, of which most are the program. */
function memoryOf(parts: Parts): Map<string, { own: number; files: number }> {
  return new Map(
    treesOf(parts).map(({ name, pids }) => {
      const each = pids.map(rollup)
      return [
        name,
        { own: each.reduce((sum, { own }) => sum + own, 0), files: Math.max(...each.map(({ files }) => files)) },
      ]
    }),
  )
}

function rollup(pid: number): { own: number; files: number } {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1')
    const mb = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) / 1_024
    return { own: mb('Anonymous'), files: mb('Rss') - mb('Anonymous') }
  } catch {
    return { own: 0, files: 0 }
  }
}

/** Looks at memory twice a second, and keeps the most of each part. */
function watch(parts: Parts) {
  const most = new Map<string, { own: number; files: number }>()
  let isDone = false
  const looking = (async () => {
    while (!isDone) {
      for (const [name, { own, files }] of memoryOf(parts)) {
        const so = most.get(name) ?? { own: 0, files: 0 }
        most.set(name, { own: Math.max(so.own, own), files: Math.max(so.files, files) })
      }
      await sleep(500)
    }
  })()
  return {
    async end() {
      isDone = true
      await looking
      return most
    },
  }
}

function report(what: string, memory: ReadonlyMap<string, { own: number; files: number }>): void {
  const texts = [...memory].map(([name, { own, files }]) => `${name} ${Math.round(own)}+${Math.round(files)}`)
  const all = [...memory.values()].reduce((sum, { own }) => sum + own, 0)
  print(`${what}, MB of its own + of files: ${texts.join(', ')}; own memory of all ${Math.round(all)}`)
}

function print(text: string): void {
  process.stdout.write(`${text}\n`)
}
