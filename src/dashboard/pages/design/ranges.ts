import { addDays, mondayOf } from '../../../run/time-zone.ts'
import { daysAgo } from '../lib/days.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.design.ranges

/** A span of days, both ends included, `YYYY-MM-DD`. */
export interface DayRange {
  readonly from: string
  readonly to: string
}

/** Spans that a person means without looking at a calendar. Weeks begin on Monday. */
export const RANGES = [
  ['today', texts.today],
  ['7d', texts.last7],
  ['30d', texts.last30],
  ['week', texts.thisWeek],
  ['last-week', texts.lastWeek],
  ['month', texts.thisMonth],
] as const

export type RangeName = (typeof RANGES)[number][0]

/** The days of a span. Every span but `last-week` ends today. */
export function daysOfRange(name: RangeName, nowMs = Date.now()): DayRange {
  const before = (days: number) => daysAgo(days, nowMs)
  const today = before(0)
  const monday = mondayOf(today)
  switch (name) {
    case 'today':
      return { from: today, to: today }
    case '7d':
      return { from: before(6), to: today }
    case '30d':
      return { from: before(29), to: today }
    case 'week':
      return { from: monday, to: today }
    case 'last-week':
      return { from: addDays(monday, -7), to: addDays(monday, -1) }
    case 'month':
      return { from: `${today.slice(0, 8)}01`, to: today }
  }
}

/** Whether a text names a span. */
export function isRangeName(text: string | null): text is RangeName {
  return RANGES.some(([name]) => name === text)
}
