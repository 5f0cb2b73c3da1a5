import { Command } from 'commander'
import type { Config } from '../../../config/config.ts'
import { countText, nounFor, numbered } from '../../../run/counted.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { type Cell, printJson, printLine, printPairs, printTable } from '../../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../../terminal/settings-options.ts'
import type { DamagedPart, InsertStatus, JobsStatus, SystemStatus, Verdict } from '../system-status.ts'
import { ageText, backupProblem, backupText, bytesText, daysText, exportsText, replayLine } from '../words.ts'

const EXIT_CODES: Readonly<Record<Verdict['level'], number>> = { ok: 0, warning: 1, stalled: 2 }

/**
 * `ipid status`: shows the status of the system, with a verdict in the first line. The exit code is 0 when it is ok, 1 for a warning, and 2
 * when it is stalled or nothing runs.
 */
export function statusCommand(context: CliContext, setExitCode: (code: number) => void): Command {
  const command = new Command('status').option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (options: { json?: boolean }) => {
    const config = configOf(context, command)
    setExitCode(EXIT_CODES.stalled)
    const status = await readSystem(config)
    setExitCode(EXIT_CODES[status.verdict.level])
    if (options.json) return printJson(context.stdout, status)
    printStatus(context.stdout, status)
  })
}

/** The status of the running instance, or of the stores in the settings. @throws StartupError when there is neither */
export async function readSystem(given: Config): Promise<SystemStatus> {
  const [
    { readingRedis },
    { clickhouseUrlOf, followed, instanceOf, redisUrlOf },
    { collectStatus, withoutRedis },
    roles,
  ] = await Promise.all([
    import('../../../terminal/stores.ts'),
    import('../../../terminal/instance.ts'),
    import('../collect.ts'),
    import('../role/sources.ts'),
  ])
  const instance = await instanceOf(given)
  const config = instance === undefined ? given : followed(given, instance)
  // Loading the code of the pipeline takes longer than all questions.
  const pipeline = instance?.pipeline ?? (await import('../../../../pipelines/ingest.ts')).ingest
  const redisUrl = await redisUrlOf(config)
  // REDIS_URL may be set without CLICKHOUSE_URL.
  const clickhouseUrl = await clickhouseUrlOf(config).catch(() => undefined)
  const limits = roles.stallLimits(config, pipeline)
  const { plans, dataDir } = config
  const sourcesOf = (redis: RedisClient) => roles.statusSources({ redis, clickhouseUrl, pipeline, plans, dataDir })
  return await readingRedis(redisUrl, (redis) => collectStatus(sourcesOf(redis), limits), {
    unreachable: (redis, reason) => collectStatus(withoutRedis(sourcesOf(redis), reason), limits),
  })
}

const ERRORS_SHOWN = 5
const TENANTS_SHOWN = 10

/** Prints a status as text. */
export function printStatus(out: NodeJS.WritableStream, status: SystemStatus): void {
  printLine(out, status.verdict.text)
  printLine(out, '')
  printTable(
    out,
    ['STREAM', 'LANE', 'GROUP', 'LAG', 'PENDING', 'EVENTS', 'OLDEST'],
    status.waiting.map(({ stream, lane, group, lag_entries, pending_entries, events, oldest_ms }) => {
      return [stream, lane, group, lag_entries, pending_entries, events, ageText(oldest_ms)]
    }),
  )
  printLine(out, '')
  printPairs(out, [
    ['batch jobs', jobsText(status.batch_jobs, ['line', 'lines'])],
    ['bulk jobs', jobsText(status.bulk_jobs, ['address', 'addresses'])],
    ...reenrichmentLines(status),
    ...exportLines(status),
    ...backupLines(status),
    ...daysLines(status),
    ['oldest unfinished', status.oldest && `${ageText(status.oldest.age_ms)}, ${status.oldest.where}`],
    ['last minute', minuteText(status)],
    ...status.inserts.map((insert): [string, Cell] => [`inserts ${insert.group}`, insertText(insert)]),
    ['Redis', redisText(status)],
    ['ClickHouse', clickhouseText(status)],
    ['quotas', quotasText(status)],
    ['dead letters', countText(status.dead_letters)],
  ])
  printDetails(out, status)
}

function printDetails(out: NodeJS.WritableStream, status: SystemStatus): void {
  const { processes, data, errors, retention } = status
  printDamage(out, status)
  if (processes.length > 0) printLine(out, '')
  for (const { roles, host, pid, started_at: startedAt } of processes) {
    printLine(out, `process ${pid} on ${host}: ${roles.join(', ')}, since ${startedAt}`)
  }
  if (data.length > 0) {
    printLine(out, '')
    printTable(
      out,
      ['DATA SET', 'STATE', 'RECORDS', 'AGE', 'RECOGNISED AS'],
      data.map(({ name, state, records, age_days: days, recognised_as: as = null }) => {
        return [name, state, records, days === null ? '' : `${days} d`, as]
      }),
    )
    for (const { name, reason } of data) if (reason !== null) printLine(out, `  ${name}: ${reason}`)
  }
  if (errors.length > 0) printLine(out, '')
  for (const { at, level, process, message, times } of errors.slice(0, ERRORS_SHOWN)) {
    printLine(out, `${at} ${level} ${process}: ${message}${times > 1 ? ` (${numbered(times, 'time')})` : ''}`)
  }
  if (retention.length > 0) printLine(out, '')
  for (const { store, at, removed } of retention) {
    const [one, what] = store === 'archive' ? ['object of the archive', 'objects of the archive'] : ['row', 'rows']
    printLine(out, `retention: ${countText(removed)} old ${nounFor(removed, one, what)} removed at ${at}`)
  }
}

/** Prints missing rows and how to restore them. */
function printDamage(out: NodeJS.WritableStream, { damage: { parts, archived_tenants: tenants } }: SystemStatus): void {
  if (parts.length === 0) return
  printLine(out, '')
  const days = parts.flatMap(({ from, to }) => (from === null || to === null ? [] : [from, to])).sort()
  for (const { table, name, rows, from, to } of parts) {
    const which = from === null ? '' : `, received ${from === to ? from : `${from} to ${to}`}`
    printLine(out, `damaged part of ${table}: ${rows === null ? 'unknown' : numbered(rows, 'row')}${which}, in ${name}`)
  }
  if (days.length > 0) {
    const span = { from: days[0]!, to: days.at(-1)! }
    for (const tenant of tenants) printLine(out, `  to restore rows from the archive: ${replayLine(tenant, span)}`)
    if (tenants.length === 0) printLine(out, '  no tenant has an archive, so the rows cannot be restored')
  }
  const [{ table, name }] = parts as [DamagedPart]
  const drop = `ALTER TABLE ipid.${table} DROP DETACHED PART '${name}' SETTINGS allow_drop_detached = 1`
  printLine(out, `  after that, for each part: ./ipid sql --write "${drop}"`)
}

function jobsText(
  { uploading, queued, running, lines_waiting: waiting, oldest_ms: oldest }: JobsStatus,
  what: [one: string, many: string],
) {
  const uploads = uploading > 0 ? [`${uploading} being uploaded`] : []
  if (queued + running === 0) return uploads.join() || 'none'
  const open = `${running} running and ${queued} queued, ${numbered(waiting, ...what)} to go`
  return [open, ...uploads, `the oldest since ${ageText(oldest)}`].join(', ')
}

/** The job that runs, or else the one that waits longest. */
function reenrichmentLines({ reenrichments: { open, jobs } }: SystemStatus): [string, Cell][] {
  const [job] = jobs
  if (job === undefined) return []
  const left = job.seconds_left === null ? '' : `, about ${ageText(job.seconds_left * 1_000)} left`
  const state =
    job.status === 'waiting'
      ? `waiting since ${ageText(job.age_ms)}`
      : `${Math.floor(job.share * 100)} % done, ${numbered(job.changed_events, 'event')} to change${left}`
  const problem = job.problem === null ? '' : `; tried again: ${job.problem}`
  const others = open > 1 ? `; ${numbered(open - 1, 'other')} open` : ''
  return [['rules applied to the past', `tenant ${job.tenant_id}: ${state}${problem}${others}`]]
}

function exportLines({ exports }: SystemStatus): [string, Cell][] {
  if (exports.count === 0) return []
  const [worst] = exports.worst
  const error = worst?.error ? `; ${worst.error}` : ''
  return [['exports', `${countText(exports.count)}, ${exportsText(exports) ?? 'none failed or late'}${error}`]]
}

function backupLines({ backup }: SystemStatus): [string, Cell][] {
  if (backup === null) return []
  const problem = backupProblem(backup)
  return [['last backup', `${backupText(backup)}${problem === undefined ? '' : `; ${problem}`}`]]
}

function daysLines({ days }: SystemStatus): [string, Cell][] {
  return days === null || (days.stale === 0 && !days.waits) ? [] : [['closed days', daysText(days)]]
}

function minuteText({ last_minute: minute }: SystemStatus): string {
  const { live_events: live, batch_lines: lines, processed, stored, dead, requests, refused } = minute
  const events = `${numbered(live, 'live event')}, ${numbered(lines, 'line')}; ${countText(processed)} processed`
  const stop = `${countText(stored)} stored, ${countText(dead)} dead`
  return `${events}, ${stop}; ${numbered(requests, 'request')}, ${countText(refused)} of them 429`
}

function insertText({ inserts, rows, failures, refused = 0, avg_ms: avgMs, max_ms: maxMs }: InsertStatus): string {
  const size = inserts === 0 ? 0 : Math.round(rows / inserts)
  const times = `${ageText(avgMs)} each, ${ageText(maxMs)} at most`
  return `${countText(inserts)} in the last minute, of ${numbered(size, 'row')}; ${times}; ${failures} failed${refused > 0 ? `; ${numbered(refused, 'row')} refused` : ''}`
}

function quotasText({ quotas }: SystemStatus): Cell {
  if (quotas === null) return null
  const { daily_lookups: lookups, monthly_accounts: accounts } = quotas.passed
  if (lookups + accounts === 0) return 'no tenant has used up a quota'
  const who = quotas.highest.filter(({ used, limit }) => used >= limit).map(({ tenant_id: tenant }) => tenant)
  const names = [...new Set(who)].slice(0, TENANTS_SHOWN).join(', ')
  return `lookups of the day used up by ${lookups}, accounts of the month passed by ${numbered(accounts, 'tenant')}: ${names}`
}

function redisText({ redis }: SystemStatus): Cell {
  if (redis === null) return null
  const limit = redis.max_bytes === 0 ? 'no limit' : `${bytesText(redis.max_bytes)}`
  const share = redis.max_bytes === 0 ? '' : ` (${Math.round(redis.used_share * 100)} %)`
  const { sentinel } = redis
  const master = sentinel === undefined ? '' : `; master ${sentinel.master}, ${numbered(sentinel.replicas, 'replica')}`
  return `${redis.version}, ${bytesText(redis.used_bytes)} of ${limit}${share}${master}`
}

function clickhouseText({ clickhouse }: SystemStatus): Cell {
  if (clickhouse === null) return null
  const { version, memory_bytes: bytes, memory_max_bytes: max, missing_tables: missing } = clickhouse
  return `${version}, ${bytesText(bytes)}${max > 0 ? ` of ${bytesText(max)}` : ''} of memory${missing.length > 0 ? `; lacks ${missing.join(', ')}` : ''}`
}
