import { INTAKE_MEMORY_SHARE_MAX } from '../../pipeline/declaration/pipeline.ts'
import { causeText } from '../../run/cause-text.ts'
import { nounFor, numbered } from '../../run/counted.ts'
import { isFull } from '../../run/free-space.ts'
import { DISK_FULL } from '../../stores/redis/write-refusal.ts'
import { type StallLimits, stallOf } from './stall.ts'
import type {
  DamagedPart,
  Fact,
  FactName,
  ProcessStatus,
  RedisStatus,
  SentinelStatus,
  SystemStatus,
  Verdict,
} from './system-status.ts'
import { ageText, backupProblem, bytesText, daysProblem, exportsText } from './words.ts'

/** Errors last as long as the minute whose work a status shows. A lasting problem has a fact of its own. */
const FRESH_MS = 60_000
/** Share of Redis' `maxmemory` that leaves time to act before intake closes. `IpidRedisMemory` in alerts.yml has the same. */
export const MEMORY_SHARE_HIGH = 0.7

/** Events wait longer only when a role is not started again. `IpidVerdict` in alerts.yml waits for 15 s more. */
const RESTART_MS = 20_000
/** The consumer group of the role `process` (pipelines/ingest.ts). The others are sinks. */
const WORKERS = 'process'

type Found = Omit<SystemStatus, 'verdict'>

/** A process that does not report any more, with the time since its last report. */
interface SilentProcess {
  readonly process: ProcessStatus
  readonly age_ms: number
}

/**
 * Sums up a status in one line: all facts, or the most important numbers when there are none.
 * @param silent the latest report first
 */
export function verdictOf(
  status: Found,
  silent: readonly SilentProcess[],
  limits: StallLimits,
  nowMs: number,
): Verdict {
  const facts = factsOf(status, silent, limits, nowMs)
  const level = facts[0]?.level ?? 'ok'
  const text = facts.length === 0 ? summaryOf(status) : facts.map((fact) => fact.text).join('; ')
  return { level, text: `${level}: ${text}`, facts }
}

/** Everything that an operator should know, the worst first. */
function factsOf(status: Found, silent: readonly SilentProcess[], limits: StallLimits, nowMs: number): Fact[] {
  const { redis } = status
  // Without Redis, nothing else can be said.
  const ofRedis =
    redis === null
      ? intakeFacts(new Error(reasonOf(status.unknown, 'Redis') ?? 'no answer'))
      : [...stops(status, redis, silent, limits), ...warnings(status, redis, nowMs)]
  const all = [...surroundings(status), ...ofRedis]
  return [...all.filter(({ level }) => level === 'stalled'), ...all.filter(({ level }) => level === 'warning')]
}

const stalled = (name: FactName, text: string): Fact => ({ name, level: 'stalled', text })
const warning = (name: FactName, text: string): Fact => ({ name, level: 'warning', text })

/**
 * Why no event can be taken: `GET /readyz` answers with these.
 * @param refusal why Redis takes no writes; an error: it does not answer; null or undefined: it takes them
 */
export function intakeFacts(refusal: string | Error | null | undefined): Fact[] {
  if (refusal instanceof Error) {
    const reason = causeText(refusal)
    return [stalled('redis-down', `Redis does not answer (${reason}): requests are answered 500`)]
  }
  if (!refusal) return []
  return [stalled('redis-refuses-writes', `Redis refuses writes: ${refusal}; requests are answered 500`)]
}

/** Why a part could not be read. */
function reasonOf(unknown: readonly string[], part: string): string | undefined {
  const start = `${part}: `
  return unknown.find((text) => text.startsWith(start))?.slice(start.length)
}

/** Reasons why events are not taken, or make no progress. */
function stops(status: Found, redis: RedisStatus, silent: readonly SilentProcess[], limits: StallLimits): Fact[] {
  const found = intakeFacts(redis.refuses_writes)
  // Without writes, processes cannot report.
  if (found.length === 0 && reasonOf(status.unknown, 'processes') === undefined)
    found.push(...absent(status, silent, limits))
  const { events, lines } = stallOf(status, limits)
  if (events !== undefined) found.push(stalled('events-stalled', events))
  if (lines !== undefined) found.push(stalled('lines-stalled', lines))
  return found
}

/** The facts that are known without Redis. */
function surroundings({ disks, unknown }: Found): Fact[] {
  const full = disks.filter(isFull).map(({ host, path, free_bytes: free, total_bytes: total }) => {
    const seen = `${bytesText(free)} of ${bytesText(total)} are free for ${path} on ${host}`
    return warning('disk-full', `${DISK_FULL}: ${seen}`)
  })
  const reason = reasonOf(unknown, 'ClickHouse')
  if (reason === undefined) return full
  return [...full, warning('clickhouse-down', `ClickHouse does not answer (${reason}): accepted events wait in Redis`)]
}

/**
 * Roles that no process has. Processes report every 5 s, so one that was killed and is started again at once is not missed. One that stops in
 * order withdraws its report, so a restart of the roles `process` and `sink` is a warning until events have waited for them.
 */
function absent(status: Found, silent: readonly SilentProcess[], limits: StallLimits): Fact[] {
  const { processes, batch_jobs: batch, bulk_jobs: bulk, waiting } = status
  if (processes.length === 0) return [stalled('no-process', 'no process of ipid has reported in the last 20 s')]
  const roles = new Set(processes.flatMap((process) => process.roles))
  const hasJobs = [batch, bulk].some(({ queued, running }) => queued + running > 0)
  const isArchive = (group: string) => group in limits.slackMs
  const hasPayloads = waiting.some(({ group, oldest_ms: ms }) => ms > 0 && isArchive(group))
  const needed = ['ingress', 'process', 'sink', ...(hasJobs ? ['batch'] : []), ...(hasPayloads ? ['archive'] : [])]
  const isWaitedFor = (isOfRole: (group: string) => boolean) =>
    waiting.some(({ group, oldest_ms: ms }) => ms > RESTART_MS && isOfRole(group))
  const areEventsWaiting: Readonly<Record<string, () => boolean>> = {
    process: () => isWaitedFor((group) => group === WORKERS),
    sink: () => isWaitedFor((group) => group !== WORKERS && !isArchive(group)),
  }
  const named = new Set<SilentProcess>()
  return needed.flatMap((role) => {
    if (roles.has(role)) return []
    const last = silent.find(({ process }) => process.roles.includes(role))
    const cause = last === undefined || named.has(last) ? '' : `; ${silenceText(last)}`
    if (last !== undefined) named.add(last)
    const text = `no process has the role ${role}`
    if (role === 'ingress') return stalled('role-missing', `${text}: events are refused${cause}`)
    const stopsEvents = areEventsWaiting[role]
    const isStalled = stopsEvents !== undefined && (last !== undefined || stopsEvents())
    if (isStalled) return stalled('role-missing', `${text}: accepted events wait${cause}`)
    // Without the others, jobs and the archive wait: they count as stalled when they have waited too long.
    return warning('role-missing', `${text}${cause}`)
  })
}

function silenceText({ process: { pid, host, roles }, age_ms: ageMs }: SilentProcess): string {
  return `process ${pid} on ${host} (${roles.join(', ')}) has not reported for ${ageText(ageMs)}`
}

function warnings(status: Found, redis: RedisStatus, nowMs: number): Fact[] {
  const { data, inserts, dead_letters: dead, unknown, last_minute: minute } = status
  const found: Fact[] = []
  const add = (name: FactName, text: string) => void found.push(warning(name, text))
  // Quotas are counted in ClickHouse, whose own failure is reported already.
  const isDown = reasonOf(unknown, 'ClickHouse') !== undefined
  const others = unknown.filter((text) => !/^(?:ClickHouse|quotas): /.test(text) || !isDown)
  if (others.length > 0) add('unknown', `cannot be read: ${others.join(', ')}`)
  if (minute.failed > 0) {
    add('requests-fail', `${minute.failed} of ${numbered(minute.requests, 'request')} failed in the last minute`)
  }
  for (const { name, skew_ms: skew } of status.clocks) {
    add('clock', `the clock of ${name} is ${ageText(Math.abs(skew))} ${skew < 0 ? 'behind' : 'ahead of'} that of Redis`)
  }
  if (redis.used_share > MEMORY_SHARE_HIGH) {
    const isClosed = redis.used_share > INTAKE_MEMORY_SHARE_MAX
    const effect = isClosed ? 'so intake is closed' : `and intake closes at ${INTAKE_MEMORY_SHARE_MAX * 100} %`
    add('redis-full', `Redis uses ${bytesText(redis.used_bytes)} of ${bytesText(redis.max_bytes)}, ${effect}`)
  }
  for (const { name, seen, why } of redisRisks(redis)) {
    // Then Redis refuses writes, which is reported already.
    if (name !== 'too-few-replicas') add('redis-risk', `${seen}${why}`)
  }
  const missing = status.clickhouse?.missing_tables ?? []
  if (missing.length > 0) {
    const remedy = 'restart ipid to create missing tables again; ./ipid replay restores their rows from the archive'
    const tables = nounFor(missing.length, 'the table', 'the tables')
    add('tables-missing', `ClickHouse lacks ${tables} ${missing.join(', ')}: ${remedy}`)
  }
  for (const text of damageTexts(status.damage.parts)) add('rows-lost', text)
  for (const { group, failures, refused = 0, refusal } of inserts) {
    if (failures > 0) add('inserts-fail', `${numbered(failures, 'insert')} of ${group} failed`)
    const fate = refused > 0 ? `, ${numbered(refused, 'row')} became dead letters` : '; ipid tries again'
    if (refusal) add('rows-refused', `${group} refuses rows: ${refusal}${fate}`)
  }
  if (dead > 0)
    add('dead-letters', `${numbered(dead, 'dead letter')} ${nounFor(dead, 'waits', 'wait')} for retry or discard`)
  const exports = exportsText(status.exports)
  if (exports !== undefined) add('exports', `exports: ${exports}`)
  const backup = status.backup === null ? undefined : backupProblem(status.backup)
  if (backup !== undefined) add('backups', `backups: ${backup}`)
  const days = status.days === null ? undefined : daysProblem(status.days)
  if (days !== undefined) add('days-stale', days)
  const bad = data.filter(({ state }) => state === 'failed' || state === 'stale')
  for (const { name, state } of bad) add('data-set', `data set ${name} is ${state}`)
  const old = data.filter(({ too_old: tooOld }) => tooOld).map(({ name }) => name)
  if (old.length > 0) add('data-set', `${old.length === 1 ? 'a data set is' : 'data sets are'} old: ${old.join(', ')}`)
  const [last] = status.errors.filter(({ at, level }) => level !== 'warn' && nowMs - Date.parse(at) < FRESH_MS)
  if (last !== undefined)
    add('last-error', `last error, at ${last.at.slice(11, 19)} UTC: ${last.process}: ${last.message}`)
  return found
}

/** One text for each table. */
function damageTexts(parts: readonly DamagedPart[]): string[] {
  return [...new Set(parts.map(({ table }) => table))].map((table) => {
    const lost = parts.filter((part) => part.table === table)
    const rows = lost.reduce((sum, part) => sum + (part.rows ?? 0), 0)
    const from = lost.map((part) => part.from ?? '').sort()[0]
    const to = lost
      .map((part) => part.to ?? '')
      .sort()
      .at(-1)
    const which = from === '' ? '' : ` of ${from} to ${to}`
    const count = lost.some((part) => part.rows === null) ? 'rows' : numbered(rows, 'row')
    return `ClickHouse lost ${count}${which}: it set aside ${numbered(lost.length, 'damaged part')} of ${table}`
  })
}

/** Warns about settings of Redis that may lose accepted events. */
export function redisWarnings(redis: SystemStatus['redis']): string[] {
  return redis === null ? [] : redisRisks(redis).map(({ seen, why }) => `${seen}${why}`)
}

/** A state of Redis that may lose accepted events, or stops requests. The warning is `seen` and `why` in one sentence. */
interface RedisRisk {
  readonly name: 'no-file' | 'evicts' | 'too-few-replicas' | 'no-replica' | 'answers-alone'
  readonly seen: string
  readonly why: string
}

export function redisRisks(redis: RedisStatus): RedisRisk[] {
  const found: RedisRisk[] = []
  if (!redis.append_only) {
    found.push({
      name: 'no-file',
      seen: 'Redis has no append-only file',
      why: ': a restart of it loses accepted events',
    })
  }
  if (redis.evicts) {
    found.push({ name: 'evicts', seen: 'Redis evicts keys when it is full', why: ', which loses accepted events' })
  }
  const { sentinel, replication = sentinel } = redis
  if (replication !== undefined && replication.replicas < replication.wait_replicas) {
    const needed = numbered(replication.wait_replicas, 'replica')
    const seen = `Redis has ${replication.replicas} of the ${needed} that a write needs`
    return [...found, { name: 'too-few-replicas', seen, why: ': requests are refused' }]
  }
  return sentinel === undefined ? found : [...found, ...sentinelRisks(sentinel)]
}

function sentinelRisks({ replicas, wait_replicas: needed, refuses_alone: refusesAlone }: SentinelStatus): RedisRisk[] {
  if (replicas === 0) {
    return [{ name: 'no-replica', seen: 'Redis has no replica', why: ': nothing takes over from its master' }]
  }
  if (needed > 0 || refusesAlone) return []
  return [
    {
      name: 'answers-alone',
      seen: 'Redis answers before a replica has a write',
      why: ': a fail-over may lose accepted events (waitReplicas of REDIS_URL)',
    },
  ]
}

function summaryOf({ last_minute: minute, oldest, batch_jobs: jobs }: Found): string {
  const waits = oldest === null ? 'nothing waits' : `the oldest waits ${ageText(oldest.age_ms)} (${oldest.where})`
  const open = jobs.queued + jobs.running
  const lines =
    open === 0 ? [] : [`${numbered(open, 'batch job')} with ${numbered(jobs.lines_waiting, 'line')} to feed`]
  return [`${numbered(minute.stored, 'event')} stored in the last minute`, ...lines, waits].join('; ')
}
