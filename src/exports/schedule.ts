import type { ExportRecord } from '../../schemas/export.ts'
import type { ArchiveLocation } from '../pipeline/declaration/destination.ts'
import { DAY_MS } from '../pipeline/event/outcomes.ts'

const MONDAY = 1

/** The last time at or before `nowMs` at which an export is due, milliseconds. */
export function lastDue({ every, at }: Pick<ExportRecord, 'every' | 'at'>, nowMs: number): number {
  const today = Math.floor(nowMs / DAY_MS) * DAY_MS
  const ofDay = Date.parse(`1970-01-01T${at}Z`)
  const due = today + ofDay > nowMs ? today - DAY_MS + ofDay : today + ofDay
  if (every === 'day') return due
  return due - ((new Date(due).getUTCDay() + 7 - MONDAY) % 7) * DAY_MS
}

/** The next time after `nowMs` at which an export is due, milliseconds. */
export function nextDue(schedule: Pick<ExportRecord, 'every' | 'at'>, nowMs: number): number {
  return lastDue(schedule, nowMs) + (schedule.every === 'day' ? 1 : 7) * DAY_MS
}

/** The next times at which an export is due within `days`, milliseconds. */
export function upcomingDue(one: Pick<ExportRecord, 'every' | 'at'>, nowMs: number, days: number): number[] {
  const found: number[] = []
  for (let dueMs = nextDue(one, nowMs); dueMs <= nowMs + days * DAY_MS; dueMs = nextDue(one, dueMs)) found.push(dueMs)
  return found
}

/** The due time whose file is not written yet, milliseconds; undefined: none. Of missed times only the last one is made up. */
export function openDue(
  one: Pick<ExportRecord, 'every' | 'at' | 'active_since'> & { readonly paused?: object | undefined },
  { dueMs: writtenMs }: { readonly dueMs: number },
  nowMs: number,
): number | undefined {
  const dueMs = lastDue(one, nowMs)
  const isOpen = one.paused === undefined && dueMs > writtenMs && dueMs >= Date.parse(one.active_since)
  return isOpen ? dueMs : undefined
}

/** When the file that is not written yet was due or requested, milliseconds; undefined: none is missing. @param askedMs last request */
export function openSince(
  one: Parameters<typeof openDue>[0],
  state: { readonly dueMs: number; readonly askedMs: number },
  askedMs: number,
  nowMs: number,
): number | undefined {
  return openDue(one, state, nowMs) ?? (askedMs > state.askedMs ? askedMs : undefined)
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
