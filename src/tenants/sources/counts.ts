import type { ClickHouseClient } from '@clickhouse/client'
import { addFiltered, type FilteredBy, filteredBy, NO_PAGE } from '../../../schemas/filtered.ts'
import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import { missingTable } from '../../stores/clickhouse/failures.ts'
import { HIDDEN } from '../../stores/clickhouse/tables.ts'
import { NO_COUNTS, NO_EVENTS, type SourceCounts, type SourceEvents } from './health.ts'

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Days whose rhythm counts. */
const RHYTHM_DAYS = 14
/** With fewer hours with events, a source has no rhythm yet. */
const HOURS_MIN = 24
/** Limit of sources and reasons of a tenant. More mean an incident that is not about a source. */
const ROWS_MAX = 10_000
/** Reasons of a source. */
const REASONS_MAX = 20

/** Reads the projection `source_hours`: its expressions must match character by character. */
const STORED = `
  SELECT
    source_id,
    sumIf(n, hour >= {today:UInt32}) AS today,
    sumIf(n, hour >= {yesterday:UInt32}) AS recent,
    toUnixTimestamp64Milli(max(last)) AS last_ms,
    minIf(least_ip, hour >= {yesterday:UInt32}) AS first_ip,
    maxIf(greatest_ip, hour >= {yesterday:UInt32}) AS last_ip,
    quantileBFloat16MergeIf(delay, hour >= {yesterday:UInt32}) AS delay_seconds,
    count() AS hours,
    arrayMax(arrayDifference(arraySort(groupArray(hour)))) AS pause_seconds
  FROM
  (
    SELECT
      source_id,
      toUnixTimestamp(toStartOfHour(received_at)) AS hour,
      count() AS n,
      max(received_at) AS last,
      min(ip) AS least_ip,
      max(ip) AS greatest_ip,
      quantileBFloat16State(dateDiff('second', timestamp, received_at)) AS delay
    FROM events
    WHERE tenant_id = {tenant:String} AND source_id > '' AND toStartOfHour(received_at) >= toDateTime({from:UInt32}, 'UTC')
    GROUP BY source_id, toStartOfHour(received_at)
  )
  GROUP BY source_id
  ORDER BY recent DESC
  LIMIT ${ROWS_MAX}`

/** Reads the projections `source_days` and `hidden_days`. */
const OTHERS = `
  SELECT
    source_id, status, reason, classification,
    sumIf(n, day = {today:Date32}) AS today,
    sum(n) AS recent
  FROM
  (
    SELECT source_id, day, status, reason, classification, sum(events) AS n
    FROM outcomes
    WHERE tenant_id = {tenant:String} AND source_id > '' AND day >= {yesterday:Date32}
    GROUP BY source_id, day, status, reason, classification
    UNION ALL
    SELECT
      source_id, toDate32(received_at) AS day, '${OUTCOME_STATUS.filtered}' AS status, hidden_reason AS reason,
      hidden_class AS classification, toInt64(count()) AS n
    FROM ${HIDDEN}
    WHERE tenant_id = {tenant:String} AND source_id > '' AND toDate32(received_at) >= {yesterday:Date32}
    GROUP BY source_id, day, hidden_reason, hidden_class
  )
  GROUP BY source_id, status, reason, classification
  HAVING recent != 0 OR today != 0
  ORDER BY recent DESC
  LIMIT ${ROWS_MAX}`

interface StoredRow {
  readonly source_id: string
  readonly today: number
  readonly recent: number
  readonly last_ms: number
  readonly first_ip: string
  readonly last_ip: string
  readonly delay_seconds: number | null
  readonly hours: number
  readonly pause_seconds: number
}

interface OutcomeRow {
  readonly source_id: string
  readonly status: string
  readonly reason: string
  readonly classification: string
  readonly today: number
  readonly recent: number
}

/**
 * Counts of all sources of a tenant that had events in the last 14 days, by source id. Exact but for the median, which has an error of
 * half a per cent.
 * @param client of the database `ipid`
 * @param signal ends it
 */
export async function readSourceCounts(
  client: ClickHouseClient,
  tenantId: string,
  nowMs: number,
  signal?: AbortSignal,
): Promise<ReadonlyMap<string, SourceCounts>> {
  const [today, yesterday] = [utcDay(nowMs), utcDay(nowMs - DAY_MS)]
  const seconds = (day: string) => Date.parse(day) / 1_000
  const rows = async <T>(query: string, parameters: Readonly<Record<string, string | number>>): Promise<T[]> => {
    const result = await client.query({
      query,
      query_params: { tenant: tenantId, ...parameters },
      format: 'JSONEachRow',
      ...(signal && { abort_signal: signal }),
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0 },
    })
    return await result.json<T>()
  }
  try {
    const [stored, others] = await Promise.all([
      rows<StoredRow>(STORED, {
        from: seconds(utcDay(nowMs - (RHYTHM_DAYS - 1) * DAY_MS)),
        today: seconds(today),
        yesterday: seconds(yesterday),
      }),
      rows<OutcomeRow>(OTHERS, { today, yesterday }),
    ])
    return countsOf(stored, others)
  } catch (error) {
    throw missingTable(error) ?? error
  }
}

const STATUS: Readonly<Record<string, keyof SourceEvents>> = {
  [OUTCOME_STATUS.filtered]: 'filtered',
  [OUTCOME_STATUS.noPage]: 'filtered',
  [OUTCOME_STATUS.noIp]: 'noIp',
  [OUTCOME_STATUS.invalidIp]: 'invalidIp',
  [OUTCOME_STATUS.rejected]: 'rejected',
  duplicates: 'repeats',
}

function countsOf(stored: readonly StoredRow[], others: readonly OutcomeRow[]): Map<string, SourceCounts> {
  const found = new Map<string, SourceCounts>()
  for (const row of stored) {
    found.set(row.source_id, {
      ...NO_COUNTS,
      today: { ...NO_EVENTS, stored: row.today },
      recent: { ...NO_EVENTS, stored: row.recent },
      lastEventMs: row.last_ms,
      longestPauseMs: row.hours < HOURS_MIN ? undefined : Math.max(HOUR_MS, row.pause_seconds * 1_000),
      onlyFrom: row.recent > 0 ? commonOf(row.first_ip, row.last_ip) : undefined,
      delayMs: row.recent > 0 ? (row.delay_seconds ?? 0) * 1_000 : undefined,
    })
  }
  // Those with most events come first.
  for (const row of others) {
    const counts = found.get(row.source_id) ?? NO_COUNTS
    const name = STATUS[row.status] ?? 'other'
    const { reason, recent: events } = row
    found.set(row.source_id, {
      ...counts,
      today: { ...counts.today, [name]: counts.today[name] + row.today },
      recent: { ...counts.recent, [name]: counts.recent[name] + events },
      ...(name === 'rejected' && {
        rejectedReasons: [...counts.rejectedReasons, { reason, events }].slice(0, REASONS_MAX),
      }),
      ...(name === 'filtered' && withFiltered(counts, byOf(row), row)),
    })
  }
  return found
}

function byOf({ status, reason, classification }: OutcomeRow): FilteredBy {
  return status === OUTCOME_STATUS.noPage ? NO_PAGE : filteredBy(reason, classification)
}

function withFiltered({ filteredToday, filteredRecent }: SourceCounts, by: FilteredBy, { today, recent }: OutcomeRow) {
  const added = { filteredToday: { ...filteredToday }, filteredRecent: { ...filteredRecent } }
  addFiltered(added.filteredToday, by, today)
  addFiltered(added.filteredRecent, by, recent)
  return added
}

/**
 * The address, or the network, of all texts between two texts of addresses; undefined: there are several. Texts sort by their first
 * characters, so what the first and the last one begin with, all others do.
 */
export function commonOf(first: string, last: string): string | undefined {
  if (first === last) return first
  const v6 = first.includes(':')
  const parts = (text: string) => text.split(v6 ? ':' : '.').slice(0, 3)
  const [common, others] = [parts(first), parts(last)]
  if (common.length < 3 || common[1] === '' || common.join() !== others.join()) return undefined
  return v6 ? `${common.filter((part) => part !== '').join(':')}::/48` : `${common.join('.')}.0/24`
}
