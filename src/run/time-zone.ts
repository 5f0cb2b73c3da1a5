/*
 * Days and times of a time zone, by the zones that Intl knows. A day is a text `YYYY-MM-DD`. Adding days to it and comparing it needs no zone.
 */

/** The zone of a tenant that chose none. */
export const UTC = 'UTC'

/** The zone of a tenant, an IANA name. Rejects with `UnavailableError` when the store of tenants is down. */
export type ZoneOf = (tenantId: string) => Promise<string>

/** Days of UTC for every tenant: those of the interface (schemas/README.md). */
export const inUtc: ZoneOf = async () => UTC

const DAY_MS = 86_400_000

/** Names that Intl and ClickHouse both find: Intl ignores case, and ClickHouse does not. */
const WORDS = /^[A-Z][a-z]+(?:_(?:[A-Z][a-z]+|[a-z]{2}))*$/

/** Zones that Intl knows, and ClickHouse does not: a query of pages would fail. */
const NOT_IN_CLICKHOUSE: ReadonlySet<string> = new Set(['America/Coyhaique'])

/** Whether a text is the name of a zone, in upper and lower case as IANA writes it. An offset such as +01:00 is none. */
export function isTimeZone(name: string): boolean {
  if (NOT_IN_CLICKHOUSE.has(name)) return false
  const listed = Intl.supportedValuesOf('timeZone')
  if (name === UTC || listed.includes(name)) return true
  // Intl finds names in any case, and ClickHouse does not: US/Pacific has a folder in capitals.
  const lower = name.toLowerCase()
  if (/^(?:Us|Etc)\//.test(name) || listed.some((known) => known.toLowerCase() === lower)) return false
  const words = name.split('/')
  // Intl lists one name of each zone: Asia/Calcutta, and not Asia/Kolkata.
  if (words.length < 2 || !words.every((word) => WORDS.test(word))) return false
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Names of all zones. */
export const zoneNames = (): string[] => [
  UTC,
  ...Intl.supportedValuesOf('timeZone').filter((name) => !NOT_IN_CLICKHOUSE.has(name)),
]

/** The zone of this machine. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone

/** Whether two names are those of one zone. */
export function isSameZone(one: string, other: string): boolean {
  const [a, b] = [one, other].map((zone) => new Intl.DateTimeFormat('en-US', { timeZone: zone }).resolvedOptions())
  return a!.timeZone === b!.timeZone
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** The date and time that clocks of a zone show, as milliseconds of the same date and time in UTC. Whole seconds. */
function clockMs(zone: string, ms: number): number {
  let format = formats.get(zone)
  if (format === undefined) {
    const number = 'numeric' as const
    format = new Intl.DateTimeFormat('en-US', {
      ...{ timeZone: zone, hourCycle: 'h23', year: number, month: number, day: number },
      ...{ hour: number, minute: number, second: number },
    })
    formats.set(zone, format)
  }
  const found = new Map(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]))
  const of = (type: Intl.DateTimeFormatPartTypes) => found.get(type)!
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
}

/** The day of a moment in a zone. */
export function dayIn(zone: string, ms: number): string {
  return new Date(zone === UTC ? ms : clockMs(zone, ms)).toISOString().slice(0, 10)
}

/** The day a number of days after another one; before it when the number is negative. */
export function addDays(day: string, days: number): string {
  return new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10)
}

/** Number of days from one day to another. */
export function daysFrom(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / DAY_MS
}

/** The first day of the week of a day: a Monday. */
export function mondayOf(day: string): string {
  return addDays(day, -((new Date(day).getUTCDay() + 6) % 7))
}

/**
 * The moment when clocks of a zone show a time, milliseconds. A time that occurs twice, as when summer time ends, is the first one. One that
 * does not occur is that much after the change: 02:30 becomes 03:30.
 * @param time `HH:MM`
 */
export function momentIn(zone: string, day: string, time = '00:00'): number {
  const wanted = Date.parse(`${day}T${time}Z`)
  if (zone === UTC) return wanted
  const before = wanted - (clockMs(zone, wanted - DAY_MS) - (wanted - DAY_MS))
  const after = wanted - (clockMs(zone, wanted + DAY_MS) - (wanted + DAY_MS))
  const found = [before, after].filter((ms) => clockMs(zone, ms) === wanted)
  return found.length === 0 ? before : Math.min(...found)
}
