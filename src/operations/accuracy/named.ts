import type { NamedAnswer } from '../../../schemas/dashboard/accuracy.ts'
import { type NamedCounts, NOT_NAMED_CLASSES, type NotNamed } from '../../../schemas/named.ts'
import { RULE_REASONS } from '../../../schemas/tenant-rules.ts'
import { DAY_MS, utcDay } from '../../pipeline/event/outcomes.ts'
import type { AskRows } from './ask-rows.ts'

/** Events of a UTC day of receipt. */
interface NamedRow {
  readonly day: string
  readonly is_named: 0 | 1
  /** `bot`, `rules`, or the class of the address; `''` for none. */
  readonly why: string
  readonly events: number
}

/**
 * Stored events come from the projection `named_days`, filtered ones from `daily_outcomes`. Both by the day of receipt: filtered events have no
 * other one. Reads a few rows a day, however many events there are.
 */
const NAMED_SQL = `
  SELECT toString(day) AS day, is_named, why, sum(n) AS events
  FROM
  (
    SELECT toDate32(received_at) AS day, company > 0 AS is_named, toString(classification) AS why, toInt64(count()) AS n
    FROM events
    WHERE tenant_id = {tenant:String} AND toDate32(received_at) >= {from:Date32} AND toDate32(received_at) <= {to:Date32}
    GROUP BY toDate32(received_at), company > 0, classification
    UNION ALL
    SELECT
      daily_outcomes.day AS day,
      0 AS is_named,
      multiIf(startsWith(reason, 'bot:'), 'bot', reason IN (${RULE_REASONS.map((reason) => `'${reason}'`).join()}), 'rules', classification) AS why,
      daily_outcomes.events AS n
    FROM daily_outcomes
    WHERE tenant_id = {tenant:String} AND status = 'filtered' AND daily_outcomes.day >= {from:Date32} AND daily_outcomes.day <= {to:Date32}
  )
  GROUP BY day, is_named, why`

const CLASSES: Readonly<Record<string, NotNamed>> = {
  isp: 'access',
  ...{ hosting: 'hosting', cloud: 'hosting', cdn: 'hosting' },
  ...{ vpn: 'vpn', bot: 'bot', reserved: 'reserved', rules: 'rules' },
}

const WEEK_DAYS = 7

/**
 * Counts the events whose company could be named. Rejects as `ask` does.
 * @param days of each span; the last one ends today
 */
export async function namedDays(ask: AskRows, tenant: string, days: number, nowMs: number): Promise<NamedAnswer> {
  const dayAgo = (ago: number) => utcDay(nowMs - ago * DAY_MS)
  const weekCount = Math.max(2, Math.ceil(days / WEEK_DAYS))
  const from = dayAgo(Math.max(2 * days, WEEK_DAYS * weekCount) - 1)
  const rows = await ask<NamedRow>(NAMED_SQL, { tenant, from, to: dayAgo(0) })
  /** @param first, last days ago */
  const span = (first: number, last: number) => countsOf(rows, dayAgo(first), dayAgo(last))
  const weeks = Array.from({ length: weekCount }, (_, i) => span(WEEK_DAYS * (i + 1) - 1, WEEK_DAYS * i))
  return { now: span(days - 1, 0), before: span(2 * days - 1, days), weeks: weeks.reverse() }
}

function countsOf(rows: readonly NamedRow[], from: string, to: string): NamedCounts {
  const others = Object.fromEntries(NOT_NAMED_CLASSES.map((name) => [name, 0])) as Record<NotNamed, number>
  let [named, all] = [0, 0]
  for (const { day, is_named, why, events } of rows) {
    if (day < from || day > to) continue
    all += events
    if (is_named) named += events
    else others[CLASSES[why] ?? 'unknown'] += events
  }
  return { from, to, events: all, named, share: all === 0 ? null : named / all, others }
}
