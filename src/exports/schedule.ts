import type { ExportRecord } from '../../schemas/export.ts'
import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'
import { DAY_MS } from '../pipeline/event/outcomes.ts'
import { addDays, dayIn, momentIn, mondayOf, UTC } from '../run/time-zone.ts'

type Schedule = Pick<ExportRecord, 'every' | 'at'>

/** The day of a zone at whose time an export was last due. */
function lastDay({ every, at }: Schedule, nowMs: number, zone: string): string {
  const today = dayIn(zone, nowMs)
  const day = momentIn(zone, today, at) > nowMs ? addDays(today, -1) : today
  return every === 'day' ? day : mondayOf(day)
}

/** The last time at or before `nowMs` at which an export is due, milliseconds. @param zone of its time of day, and of its Monday */
export function lastDue(schedule: Schedule, nowMs: number, zone = UTC): number {
  return momentIn(zone, lastDay(schedule, nowMs, zone), schedule.at)
}

/** The next time after `nowMs` at which an export is due, milliseconds. */
export function nextDue(schedule: Schedule, nowMs: number, zone = UTC): number {
  const next = addDays(lastDay(schedule, nowMs, zone), schedule.every === 'day' ? 1 : 7)
  return momentIn(zone, next, schedule.at)
}

/** The next times at which an export is due within `days`, milliseconds. */
export function upcomingDue(one: Schedule, nowMs: number, days: number, zone = UTC): number[] {
  const found: number[] = []
  for (let dueMs = nextDue(one, nowMs, zone); dueMs <= nowMs + days * DAY_MS; dueMs = nextDue(one, dueMs, zone))
    found.push(dueMs)
  return found
}

/** Shortest time between two files. A change of the zone makes the same day or week due again some hours later. */
const APART_MS = { day: 0.5 * DAY_MS, week: 2 * DAY_MS } as const

/** Whether a due time is of a later day or week than the last one, also when the zone has changed in between. */
export function isLater({ every }: Pick<Schedule, 'every'>, dueMs: number, lastMs: number, zone: string): boolean {
  return dayIn(zone, dueMs) > dayIn(zone, lastMs) && dueMs - lastMs >= APART_MS[every]
}

/**
 * The due time whose file is not written yet, milliseconds; undefined: none. Of missed times only the last one is made up. A day has one due
 * time, also when the zone or the time of day has changed since the last file.
 */
export function openDue(
  one: Schedule & Pick<ExportRecord, 'active_since'> & { readonly paused?: object | undefined },
  { dueMs: writtenMs }: { readonly dueMs: number },
  nowMs: number,
  zone: string,
): number | undefined {
  const dueMs = lastDue(one, nowMs, zone)
  const isOpen =
    one.paused === undefined && isLater(one, dueMs, writtenMs, zone) && dueMs >= Date.parse(one.active_since)
  return isOpen ? dueMs : undefined
}

/** When the file that is not written yet was due or requested, milliseconds; undefined: none is missing. @param askedMs last request */
export function openSince(
  one: Parameters<typeof openDue>[0],
  state: { readonly dueMs: number; readonly askedMs: number },
  askedMs: number,
  nowMs: number,
  zone: string,
): number | undefined {
  return openDue(one, state, nowMs, zone) ?? (askedMs > state.askedMs ? askedMs : undefined)
}

const RETRY_MIN_MS = 60_000
/** The longest delay until a failed attempt is repeated. */
export const RETRY_MAX_MS = 3_600_000

/** Milliseconds until a failed attempt is repeated: a minute, then twice the time before, up to an hour. */
export function retryDelayMs(failures: number): number {
  return Math.min(RETRY_MAX_MS, RETRY_MIN_MS * 2 ** Math.min(failures - 1, 20))
}

/** The folder of a tenant's export files. @param name of one export */
export function exportFolder(tenantId: string, name?: string): string {
  return name === undefined ? `exports/${tenantId}/` : `exports/${tenantId}/${name}/`
}

/** The object of an export for a time: the same time has the same key. */
export function exportKey(tenantId: string, { name, format }: Pick<ExportRecord, 'name' | 'format'>, atMs: number) {
  const minute = new Date(atMs).toISOString().slice(0, 'YYYY-MM-DDTHH:MM'.length).replace(':', '-')
  return `${exportFolder(tenantId, name)}${minute}Z.${format}`
}

/** Whether an object in the folder of an export is one of its files. */
export function isExportFile(key: string): boolean {
  return /\/\d{4}-\d\d-\d\dT\d\d-\d\dZ\.(?:csv|ndjson)$/.test(key)
}

/** The place of export files, for people. */
export function placeOf(location: ArchiveLocation): string {
  return 'folder' in location ? location.folder : `s3://${location.bucket}/${location.prefix}`
}
