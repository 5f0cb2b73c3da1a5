import { DEFAULT_HEAT_WEIGHTS } from '../../schemas/dashboard/heat.ts'
import { HOME } from '../../schemas/dashboard/home.ts'
import { heatOfDays } from '../../src/companies/heat.ts'
import type { ModelState } from './corrected-model.ts'
import type { EventRow } from './event-rows.ts'

/*
 * A model of the numbers of Home, written as plainly as possible: it goes through all events of a company, one after the other.
 */

const DAY_MS = 86_400_000

export interface ModelCompany {
  readonly company_id: string
  readonly week_visits: number
  readonly week_events: number
  readonly usual_visits: number
  readonly first_day: string
  readonly last_day_before: string | null
  readonly daily_visits: readonly number[]
}

const dayOf = (ms: number) => Math.floor(ms / DAY_MS)
const textOf = (day: number) => new Date(day * DAY_MS).toISOString().slice(0, 10)
const visitsOf = (events: readonly EventRow[]) =>
  new Set(events.map(({ ip, timestamp }) => `${ip} ${dayOf(Number(timestamp))}`)).size

/** ClickHouse rounds a half to the even number. */
const toEven = (value: number) => (value % 2 === 0.5 ? Math.floor(value) : Math.round(value))

/** Home's view of these events. @param states corrections, by company @param visitsMin least visits of a company this week */
export function modelHome(
  events: readonly EventRow[],
  states: ReadonlyMap<string, ModelState>,
  nowMs: number,
  visitsMin = 0,
) {
  const byCompany = new Map<string, EventRow[]>()
  for (const event of events) {
    const id = states.get(String(event.company_id))?.countsFor || String(event.company_id)
    if (id !== '') byCompany.set(id, [...(byCompany.get(id) ?? []), event])
  }
  const all = [...byCompany]
    .filter(([id]) => !states.get(id)?.hidden)
    .map(([id, of]) => modelCompany(id, of, nowMs))
    .filter(({ shown }) => shown.week_visits >= visitsMin)
  const sums = (week: 0 | 1) => ({
    companies: all.filter(({ weeks }) => weeks[week].events > 0).length,
    new_companies: all.filter(({ seenAgo }) => Math.floor(seenAgo / HOME.weekDays) === week).length,
    visits: all.reduce((sum, { weeks }) => sum + weeks[week].visits, 0),
    events: all.reduce((sum, { weeks }) => sum + weeks[week].events, 0),
  })
  const here = all.filter(({ weeks }) => weeks[0].events > 0)
  const strongest = (of: typeof all, score: (company: (typeof all)[number]) => number, count: number) =>
    of.sort((a, b) => score(b) - score(a) || (a.shown.company_id < b.shown.company_id ? -1 : 1)).slice(0, count)
  const rises = strongest(
    here.filter(({ isNew, isBack }) => !isNew && !isBack),
    ({ shown: { week_visits, usual_visits } }) => (week_visits - usual_visits) / Math.sqrt(usual_visits + 1),
    HOME.risingCandidates,
  )
  const isHotter = ({ rise, weekDays }: (typeof all)[number]) => rise >= HOME.risingHeat && weekDays >= HOME.risingDays
  const isOftener = ({ shown: { usual_visits, week_visits } }: (typeof all)[number]) =>
    usual_visits > 0 && week_visits >= HOME.risingVisits && week_visits >= HOME.risingFactor * usual_visits
  const hotter = rises.filter(isHotter).sort((a, b) => b.rise - a.rise)
  const oftener = rises.filter((company) => !isHotter(company) && isOftener(company))
  const newest = (of: typeof all) => strongest(of, ({ shown }) => shown.week_visits, HOME.rows)
  const shownOf = (of: typeof all): ModelCompany[] => of.map(({ shown }) => shown)
  return {
    now: sums(0),
    before: sums(1),
    daily_visits: Array.from({ length: 2 * HOME.weekDays }, (_, i) =>
      all.reduce((sum, { shown }) => sum + shown.daily_visits.at(i - 2 * HOME.weekDays)!, 0),
    ),
    newcomers: shownOf(newest(here.filter(({ isNew }) => isNew))),
    rising: shownOf([...hotter, ...oftener].slice(0, HOME.rows)),
    returned: shownOf(newest(here.filter(({ isBack }) => isBack))),
  }
}

function modelCompany(company_id: string, events: readonly EventRow[], nowMs: number) {
  const today = dayOf(nowMs)
  const weekStart = today - HOME.weekDays + 1
  const from = weekStart - HOME.weekDays * HOME.usualWeeks
  const on = (first: number, last: number) =>
    events.filter(({ timestamp }) => dayOf(Number(timestamp)) >= first && dayOf(Number(timestamp)) <= last)
  const honest = events.filter(({ timestamp, received_at }) => Number(timestamp) <= Number(received_at) + DAY_MS)
  const seen = dayOf(
    honest.length > 0
      ? Math.min(...honest.map(({ timestamp }) => Number(timestamp)))
      : Math.min(...events.map(({ received_at }) => Number(received_at))),
  )
  const daysOf = (of: readonly EventRow[]) => [...new Set(of.map(({ timestamp }) => dayOf(Number(timestamp))))].sort()
  const [week, past] = [on(weekStart, today), on(from, weekStart - 1)]
  const [start, before] = [daysOf(week)[0], daysOf(past).at(-1)]
  const isNew = week.length > 0 && seen >= weekStart
  const awayFrom = before ?? Math.max(seen, from - 1)
  const isBack = start !== undefined && !isNew && start - awayFrom >= HOME.awayDays
  const weeks = Math.max(1, Math.min(HOME.usualWeeks, (weekStart - seen) / HOME.weekDays))
  const heatOn = (day: number) =>
    heatOfDays(
      daysOf(on(day - 29, day)).map((of) => ({
        ...{ ago: day - of, events: on(of, of).length },
        hasIntent: on(of, of).some(({ extra }) => String(extra).includes('/pricing')),
      })),
      DEFAULT_HEAT_WEIGHTS,
    )?.heat ?? 0
  const shown: ModelCompany = {
    company_id,
    week_visits: visitsOf(week),
    week_events: week.length,
    usual_visits: toEven((visitsOf(past) / weeks) * 10) / 10,
    first_day: start === undefined ? '' : textOf(start),
    last_day_before: before === undefined ? null : textOf(before),
    daily_visits: Array.from({ length: today - from + 1 }, (_, i) => visitsOf(on(from + i, from + i))),
  }
  const lastWeek = on(weekStart - HOME.weekDays, weekStart - 1)
  return {
    ...{ shown, isNew, isBack, seenAgo: today - seen, weekDays: daysOf(week).length },
    rise: heatOn(today) - heatOn(today - HOME.weekDays),
    weeks: [
      { events: week.length, visits: visitsOf(week) },
      { events: lastWeek.length, visits: visitsOf(lastWeek) },
    ] as const,
  }
}
