import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { availableParallelism, freemem, hostname, loadavg, release, totalmem, uptime } from 'node:os'
import { basename, resolve } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import type { ClickHouseClient } from '@clickhouse/client'
import { Command, InvalidArgumentError } from 'commander'
import type { Setting } from '../../../config/setting.ts'
import { SETTINGS } from '../../../config/settings.ts'
import { version } from '../../../config/version.ts'
import { causeText } from '../../../run/cause-text.ts'
import { timeLimit } from '../../../run/time-limit.ts'
import { connectClickHouse } from '../../../stores/clickhouse/client.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { printJson, printLine } from '../../../terminal/print.ts'
import { ALL_SETTINGS, addPipelineSettings, addSettings, rightConfigOf } from '../../../terminal/settings-options.ts'
import { examined } from '../../doctor/commands/doctor.ts'
import { subjectOf } from '../../doctor/subject.ts'
import { secretsOf, secretTextsOf, valuesByVariable } from '../../doctor/without-secrets.ts'
import { readSystem } from '../../status/commands/status.ts'
import { type ArchiveFile, writeArchive } from '../archive.ts'
import { Cleaner } from '../cleaner.ts'
import { journalOf } from '../journal.ts'
import { cleanLogLine } from '../log-lines.ts'
import { shownSettings } from '../settings.ts'
import { clickhouseSizes, redisSizes, statements } from '../stores.ts'

const LOG_LINES_MAX = 5_000
const LINE_CHARS_MAX = 20_000
/** How long a part may take. All parts are read at once, so this is about the time of the command. */
const PART_MS = 30_000
const ANSWER_MS = 10_000
const METRICS_BYTES_MAX = 8 * 2 ** 20
const LOG_BYTES_MAX = 32 * 2 ** 20
const NOT_RUNNING = 'no ipid is running on this DATA_DIR'

interface Options {
  readonly service: string
  readonly log?: string
  readonly json?: boolean
}

/**
 * `ipid support`: writes one archive for somebody who helps. It works while stores or the whole instance are down: the archive then says
 * what is missing and why. Changes nothing.
 */
export async function supportCommand(context: CliContext): Promise<Command> {
  const [{ ingest }, { settingsOf }] = await Promise.all([
    import('../../../../pipelines/ingest.ts'),
    import('../../../pipeline/declaration/pipeline.ts'),
  ])
  const ofPipeline = settingsOf(ingest)
  const command = new Command('support')
    .argument('[file]', 'the archive (default: ipid-support-TIME.tar.gz here)')
    .option('--service <name>', 'service of systemd whose log is read', serviceName, 'ipid')
    .option('--log <file>', 'file with the log of ipid, in place of the journal')
    .option('--json', 'print JSON')
  addPipelineSettings(command, ofPipeline)
  return addSettings(command, ALL_SETTINGS).action(async (file: string | undefined, options: Options) => {
    const now = new Date()
    const stamp = now.toISOString().replace(/[:-]|\.\d+/g, '')
    const path = resolve(file ?? `ipid-support-${stamp}.tar.gz`)
    const judged = { ...rightConfigOf(context, command), roles: undefined, ofPipeline }
    const { files, missing } = await gather(context, judged, options)
    const about = aboutText(now, files, missing)
    await writeArchive(path, `ipid-support-${stamp}`, [{ name: 'about.txt', content: about }, ...files])
    const names = files.map(({ name }) => name)
    if (options.json) return printJson(context.stdout, { file: path, parts: names, missing })
    printLine(context.stdout, `${path} has ${names.join(', ')}`)
    for (const { part, reason } of missing) printLine(context.stdout, `without ${part}: ${reason}`)
    printLine(context.stdout, `read it before you send it: tar xzf ${basename(path)}`)
  })
}

function serviceName(text: string): string {
  if (/^[\w@-]{1,64}$/.test(text)) return text
  throw new InvalidArgumentError('must be the name of a service')
}

/** A part that could not be read. */
interface Missing {
  readonly part: string
  readonly reason: string
}

type Judged = Parameters<typeof examined>[1]

async function gather(
  { env }: CliContext,
  judged: Judged,
  { service, log }: Options,
): Promise<{ readonly files: readonly ArchiveFile[]; readonly missing: readonly Missing[] }> {
  const { config, ofPipeline } = judged
  const { subject } = await subjectOf({ config, env, roles: undefined })
  const { running } = subject
  const settings: readonly Setting<unknown>[] = [...Object.values(SETTINGS), ...ofPipeline]
  const { whole, urls } = secretTextsOf(settings, env, valuesByVariable(config))
  const ofRunning = [running?.redis_url, running?.clickhouse_url, running?.analyst_url]
  const cleaner = new Cleaner(secretsOf(env, [...ofRunning, ...urls], whole))
  cleaner.name('host', hostname())
  const redisUrl = running?.redis_url ?? config.redisUrl
  const clickhouseUrl = running?.clickhouse_url || config.clickhouseUrl
  const missing: Missing[] = []
  const read = async <T>(part: string, ask: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await within(PART_MS, ask())
    } catch (error) {
      missing.push({ part, reason: causeText(error) })
      return undefined
    }
  }
  const [status, doctor, metrics, redis, tables, slow, lines] = await Promise.all([
    read('status.json', () => readSystem(config)),
    read('doctor.json', () => examined(env, judged)),
    read('metrics.txt', () => readMetrics(running?.metrics_url)),
    read('redis.json', () => withRedisAt(redisUrl)),
    read('tables.json', () => withClickHouse(clickhouseUrl, clickhouseSizes)),
    read('statements.json', () => withClickHouse(clickhouseUrl, statements)),
    read('log.txt', () => (log === undefined ? journalOf(service, LOG_LINES_MAX, env.PATH) : lastLines(log))),
  ])
  // Names first, because the texts of every part may have them.
  for (const tenant of redis?.tenants ?? []) cleaner.name('tenant', tenant)
  for (const { name } of status?.exports.worst ?? []) cleaner.name('export', name)
  cleaner.json(status)
  const message = (text: string) => cleaner.message(text)
  const { clickhouse, redis: redisStatus } = status ?? {}
  const versions = { ...(await ownVersions()), clickhouse: clickhouse?.version, redis: redisStatus?.version }
  const files: ArchiveFile[] = [
    // Not cleaned: the version of ClickHouse has the form of an address.
    fileOf('versions.json', versions),
    fileOf('settings.json', cleaner.json(shownSettings(subject.config, ofPipeline))),
    ...(status === undefined ? [] : [fileOf('status.json', cleaner.json(status, message))]),
    ...(doctor === undefined ? [] : [fileOf('doctor.json', cleaner.json(doctor, message))]),
    ...(redis === undefined ? [] : [fileOf('redis.json', cleaner.json(redis.sizes))]),
    ...(tables === undefined ? [] : [fileOf('tables.json', cleaner.json(tables))]),
    ...(slow === undefined ? [] : [fileOf('statements.json', cleaner.json(slow))]),
    ...(metrics === undefined ? [] : [{ name: 'metrics.txt', content: cleanMetrics(metrics, cleaner) }]),
  ]
  if (lines !== undefined) {
    const clean = lines.map((line) => cleanLogLine(line.slice(0, LINE_CHARS_MAX), cleaner))
    files.push({ name: 'log.txt', content: `${clean.join('\n')}\n` })
  }
  return { files, missing: missing.map(({ part, reason }) => ({ part, reason: cleaner.text(reason) })) }
}

function fileOf(name: string, value: unknown): ArchiveFile {
  return { name, content: `${JSON.stringify(value, undefined, 1)}\n` }
}

/** Rejects when the result takes longer. Does not stop the work then: the process ends soon. */
async function within<T>(ms: number, result: Promise<T>): Promise<T> {
  const limit = timeLimit(ms)
  const late = new Promise<never>((_, reject) => {
    limit.addEventListener('abort', () => reject(new Error(`no answer within ${ms / 1_000} s`)), { once: true })
  })
  return await Promise.race([result, late])
}

async function readMetrics(url: string | undefined): Promise<string> {
  if (url === undefined) throw new Error(NOT_RUNNING)
  const answer = await fetch(url, { headers: { connection: 'close' }, signal: timeLimit(ANSWER_MS) })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`GET /metrics answers ${answer.status}`)
  return text.slice(0, METRICS_BYTES_MAX)
}

/** Labels with the name of a tenant have a number, as everywhere. */
function cleanMetrics(text: string, cleaner: Cleaner): string {
  const named = text.replaceAll(
    /\btenant(?:_id)?="([^"]*)"/g,
    (_, tenant: string) => `tenant="${cleaner.name('tenant', tenant)}"`,
  )
  return named
    .split('\n')
    .map((line) => cleaner.text(line))
    .join('\n')
}

/** Sizes, and the names of all tenants, which other parts may mention. */
async function withRedisAt(
  url: string | undefined,
): Promise<{ readonly sizes: object; readonly tenants: readonly string[] }> {
  if (url === undefined) throw new Error(NOT_RUNNING)
  const { readingRedis, tenantAdmin } = await import('../../../terminal/stores.ts')
  return await readingRedis(
    url,
    async (client) => {
      const tenants = await tenantAdmin(client, { plans: new Map() }).listTenants()
      return { sizes: await redisSizes(client), tenants: tenants.map(({ id }) => id) }
    },
    { connectMs: ANSWER_MS },
  )
}

async function withClickHouse(
  url: string | undefined,
  ask: (client: ClickHouseClient) => Promise<object>,
): Promise<object> {
  if (url === undefined) throw new Error(NOT_RUNNING)
  const client = connectClickHouse(url, { application: 'support', requestTimeoutMs: ANSWER_MS })
  try {
    return await ask(client)
  } finally {
    await client.close()
  }
}

/** The last lines of a file, of a bounded part at its end. */
async function lastLines(path: string): Promise<string[]> {
  const { size } = await stat(path)
  const start = Math.max(0, size - LOG_BYTES_MAX)
  const text = await textOf(createReadStream(path, { start }))
  // The first line may be the end of one.
  const lines = text.split('\n').slice(start > 0 ? 1 : 0)
  return lines.filter((line) => line !== '').slice(-LOG_LINES_MAX)
}

async function ownVersions(): Promise<object> {
  const { platform, arch, version: node, report } = process
  const { glibcVersionRuntime: glibc } = (report.getReport() as { header: { glibcVersionRuntime?: string } }).header
  return {
    ...{ ipid: version(), node, platform, arch, glibc, kernel: release() },
    ...{ cores: availableParallelism(), memory_bytes: totalmem(), free_memory_bytes: freemem() },
    ...{ machine_up_seconds: Math.round(uptime()), load: loadavg() },
  }
}

function aboutText(now: Date, files: readonly ArchiveFile[], missing: readonly Missing[]): string {
  return [
    `Written by ipid ${version()} at ${now.toISOString()}.`,
    'Secrets, keys and tokens, addresses of machines, people and sites, and texts of tenants are left out.',
    'Tenants, exports and machines have a number, which is the same in all files.',
    '',
    ...files.map(({ name, content }) => `${name}: ${Buffer.byteLength(content)} bytes`),
    ...missing.map(({ part, reason }) => `${part}: missing: ${reason}`),
    '',
  ].join('\n')
}
