import { INTAKE_MEMORY_SHARE_MAX } from '../../pipeline/declaration/pipeline.ts'
import { nounFor, numbered } from '../../run/counted.ts'
import { type StallLimits, stalledAt, stallText } from './stall.ts'
import type { DamagedPart, RedisStatus, SentinelStatus, SystemStatus, Verdict } from './system-status.ts'
import { ageText, backupProblem, bytesText, exportsText } from './words.ts'

/** Older errors do not matter any more. */
const FRESH_MS = 600_000

/** Sums up a status in one line: all problems, or the most important numbers when there are none. */
export function verdictOf(status: Omit<SystemStatus, 'verdict'>, limits: StallLimits, nowMs: number): Verdict {
  const stalled = stalledAt(status.waiting, limits)
  const warnings = warningsOf(status, nowMs)
  if (stalled !== undefined) {
    const text = `stalled: ${stallText(stalled)}`
    return { level: 'stalled', text: [text, ...warnings].join('; ') }
  }
  if (warnings.length > 0) return { level: 'warning', text: `warning: ${warnings.join('; ')}` }
  return { level: 'ok', text: `ok: ${summaryOf(status)}` }
}

function warningsOf(status: Omit<SystemStatus, 'verdict'>, nowMs: number): string[] {
  const { redis, data, inserts, dead_letters: dead, unknown, processes } = status
  const found: string[] = []
  if (unknown.length > 0) found.push(`cannot be read: ${unknown.join(', ')}`)
  if (redis !== null && redis.used_share > INTAKE_MEMORY_SHARE_MAX) {
    found.push(`Redis uses ${bytesText(redis.used_bytes)} of ${bytesText(redis.max_bytes)}, so intake is closed`)
  }
  found.push(...redisWarnings(redis))
  const absent = status.clickhouse?.missing_tables ?? []
  if (absent.length > 0) {
    const remedy = 'restart ipid to create missing tables again; ./ipid replay restores their rows from the archive'
    found.push(`ClickHouse lacks ${nounFor(absent.length, 'the table', 'the tables')} ${absent.join(', ')}: ${remedy}`)
  }
  for (const text of damageTexts(status.damage.parts)) found.push(text)
  const roles = new Set(processes.flatMap((process) => process.roles))
  const missing = processes.length === 0 ? [] : ['process', 'sink'].filter((role) => !roles.has(role))
  for (const role of missing) found.push(`no process has the role ${role}`)
  for (const { group, failures, refused = 0, refusal } of inserts) {
    if (failures > 0) found.push(`${numbered(failures, 'insert')} of ${group} failed`)
    const fate = refused > 0 ? `, ${numbered(refused, 'row')} became dead letters` : '; ipid tries again'
    if (refusal) found.push(`${group} refuses rows: ${refusal}${fate}`)
  }
  if (dead > 0) found.push(`${numbered(dead, 'dead letter')} ${nounFor(dead, 'waits', 'wait')} for retry or discard`)
  const exports = exportsText(status.exports)
  if (exports !== undefined) found.push(`exports: ${exports}`)
  const backup = status.backup === null ? undefined : backupProblem(status.backup)
  if (backup !== undefined) found.push(`backups: ${backup}`)
  const bad = data.filter(({ state }) => state === 'failed' || state === 'stale')
  for (const { name, state } of bad) found.push(`data set ${name} is ${state}`)
  const old = data.filter(({ too_old: tooOld }) => tooOld).map(({ name }) => name)
  if (old.length > 0) found.push(`${old.length === 1 ? 'a data set is' : 'data sets are'} old: ${old.join(', ')}`)
  const fresh = status.errors.filter(({ at, level }) => level !== 'warn' && nowMs - Date.parse(at) < FRESH_MS)
  if (fresh.length > 0) found.push(`last error: ${fresh[0]!.process}: ${fresh[0]!.message}`)
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

function summaryOf({ last_minute: minute, oldest, batch_jobs: jobs }: Omit<SystemStatus, 'verdict'>): string {
  const waits = oldest === null ? 'nothing waits' : `the oldest waits ${ageText(oldest.age_ms)} (${oldest.where})`
  const open = jobs.queued + jobs.running
  const lines =
    open === 0 ? [] : [`${numbered(open, 'batch job')} with ${numbered(jobs.lines_waiting, 'line')} to feed`]
  return [`${numbered(minute.stored, 'event')} stored in the last minute`, ...lines, waits].join('; ')
}
