import type { CompanyDay } from '../../../../schemas/dashboard/company.ts'
import { TEXTS } from '../texts/texts.ts'
import { daysBetween } from './days.ts'
import { number } from './format.ts'

const texts = TEXTS.lib.usualWeek

const WEEK_DAYS = 7
const WEEKS_MAX = 4

/**
 * Compares the last seven days of a company with its usual week: the average of up to four weeks before them. Returns undefined for
 * fewer than two weeks.
 * @param from first day; a day without an entry has no visit
 */
export function usualWeek(
  from: string,
  to: string,
  days: readonly CompanyDay[],
): { readonly visits: number; readonly usual: number } | undefined {
  const byDay = new Map(days.map(({ day, visits }) => [day, visits]))
  const all = daysBetween(from, to).map((day) => byDay.get(day) ?? 0)
  const weeks = Math.min(WEEKS_MAX, Math.floor(all.length / WEEK_DAYS) - 1)
  if (weeks < 1) return undefined
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
  const visits = sum(all.slice(-WEEK_DAYS))
  const past = sum(all.slice(-WEEK_DAYS * (1 + weeks), -WEEK_DAYS))
  return { visits, usual: Math.round((10 * past) / weeks) / 10 }
}

/** The usual week in words. */
export function usualWeekText({ visits, usual }: { readonly visits: number; readonly usual: number }): string {
  if (usual === 0) return visits === 0 ? texts.none : texts.afterNone(visits)
  return texts.usually(number(usual))
}
