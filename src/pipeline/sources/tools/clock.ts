import { cutText } from '../../../run/cut-text.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { readTime } from '../batch/files/timestamps.ts'
import { unmarked } from './exact-json.ts'
import { type JsonObject, labelOf } from './tool-event.ts'

/*
 * When an event of a tool happened: a rule for each tool, as its vendor has it (README.md, Clocks and repeats). All read times with one
 * grammar, `instantOf`. Times of receipt are milliseconds since the epoch.
 */

/** The time of an event. */
interface EventTime {
  /** RFC 3339; undefined: the time of receipt. */
  readonly timestamp: string | undefined
  /** Why the time that the event came with does not count: text for people, with at most 64 characters of that time. */
  readonly warning?: string
}

const NONE: EventTime = { timestamp: undefined }
const MINUTE_MS = 60_000
/** PostHog's limit. */
const AHEAD_MAX_MS = 23 * 60 * MINUTE_MS
/** Matomo's limit: 20 years of 365 days. */
const AGO_MAX_MS = 20 * 365 * 86_400_000
/** Amplitude counts a smaller difference of clocks as transit time. */
const AMPLITUDE_SKEW_MIN_MS = MINUTE_MS
const WARNING_MAX_CHARS = 64

/** Years that an event's timestamp may have, as milliseconds since the epoch. */
const [FIRST_MS, END_MS] = [Date.UTC(1900, 0), Date.UTC(2300, 0)]

/**
 * Milliseconds since the epoch of a text in a usual form of times, or of a number of seconds, milliseconds, microseconds or nanoseconds,
 * as text too; undefined when it is neither. A time without a zone is UTC.
 */
export function instantOf(value: unknown): number | undefined {
  // The grammar reads these numbers the same way, in ten times the time.
  if (typeof value === 'number' && value >= 1e12 && value < 1e13) return Math.trunc(value)
  const text = typeof value === 'number' ? String(value) : unmarked(value)
  if (typeof text !== 'string') return undefined
  const ms = parseTimestamp(text)
  if (!Number.isNaN(ms)) return ms
  const read = readTime(text.trim(), undefined)
  return 'time' in read ? parseTimestamp(read.time) : undefined
}

/**
 * The time of an event by the receiver's clock: its own time, corrected by the error of the sender's clock at the time of sending. The
 * transit time counts as part of that error; tools that define the correction do the same.
 * @param value time of the event by the sender's clock
 * @param sentAt when the request was sent, by the same clock; undefined or no time: no correction
 * @returns RFC 3339; undefined when there is none; the value itself when it is not a time, so that the schema reports it
 */
export function correctedTime(value: unknown, sentAt: unknown, receivedAtMs: number): unknown {
  if (isMissing(value)) return undefined
  const ms = instantOf(value)
  return ms === undefined ? (labelOf(value) ?? value) : iso(correctedMs(ms, sentAt, receivedAtMs))
}

/** Calls with `receivedAt` come from Segment, which has corrected `timestamp`; all others from a library. */
export function segmentTime(call: JsonObject, sentAt: unknown, receivedAtMs: number): unknown {
  const { timestamp, originalTimestamp, receivedAt } = call
  const original = isMissing(originalTimestamp) ? timestamp : originalTimestamp
  const forwardedMs = instantOf(receivedAt)
  if (forwardedMs === undefined) return correctedTime(original, sentAt, receivedAtMs)
  if (!isMissing(timestamp)) return correctedTime(timestamp, undefined, receivedAtMs)
  return correctedTime(original, sentAt, forwardedMs) ?? iso(forwardedMs)
}

/** An existing `timestamp` counts as it is; `originalTimestamp` is corrected. */
export function rudderstackTime(call: JsonObject, sentAt: unknown, receivedAtMs: number): EventTime {
  const { timestamp, originalTimestamp, receivedAt } = call
  const ms = instantOf(timestamp)
  if (ms !== undefined) return { timestamp: iso(ms) }
  const originalMs = instantOf(originalTimestamp)
  const corrected =
    originalMs === undefined ? undefined : iso(correctedMs(originalMs, sentAt, instantOf(receivedAt) ?? receivedAtMs))
  if (!isMissing(timestamp)) return ignored('timestamp', timestamp, NOT_A_TIME, corrected)
  if (corrected !== undefined || isMissing(originalTimestamp)) return { timestamp: corrected }
  return ignored('originalTimestamp', originalTimestamp, NOT_A_TIME)
}

/**
 * A time that cannot be read, or that is more than 23 hours ahead, gives the time of receipt. `offset` is how many milliseconds ago
 * the event was.
 * @param sentAt undefined when the event says that it does not count
 */
export function posthogTime(timestamp: unknown, offset: unknown, sentAt: unknown, receivedAtMs: number): EventTime {
  const ownMs = instantOf(timestamp)
  const agoMs = Number(labelOf(offset) ?? Number.NaN)
  const ms = ownMs === undefined ? receivedAtMs - agoMs : correctedMs(ownMs, sentAt, receivedAtMs)
  // Null is no time, and empty text is a wrong one.
  if (!isStorable(ms))
    return timestamp === undefined || timestamp === null ? NONE : ignored('timestamp', timestamp, NOT_A_TIME)
  if (ms <= receivedAtMs + AHEAD_MAX_MS) return { timestamp: iso(ms) }
  const [name, value] = ownMs === undefined ? ['offset', offset] : ['timestamp', timestamp]
  return ignored(name as string, value, 'is more than 23 hours ahead')
}

/** Corrected by `client_upload_time` if that differs from the receipt by a minute or more. */
export function amplitudeTime(time: unknown, uploadedAt: unknown, receivedAtMs: number): unknown {
  const skewMs = receivedAtMs - (instantOf(uploadedAt) ?? receivedAtMs)
  return correctedTime(time, Math.abs(skewMs) < AMPLITUDE_SKEW_MIN_MS ? undefined : uploadedAt, receivedAtMs)
}

/**
 * `ttm` is the caller's and counts as it is. Otherwise the time of receipt minus the time between `dtm` and `stm`, created and sent by
 * the device's clock, if there is any.
 */
export function snowplowTime({ ttm, dtm, stm }: JsonObject, receivedAtMs: number): unknown {
  if (!isMissing(ttm)) return correctedTime(ttm, undefined, receivedAtMs)
  for (const time of [dtm, stm]) {
    if (isMissing(time)) return undefined
    if (instantOf(time) === undefined) return labelOf(time) ?? time
  }
  const [createdMs, sentMs] = [instantOf(dtm)!, instantOf(stm)!]
  return iso(createdMs < sentMs ? correctedMs(createdMs, stm, receivedAtMs) : receivedAtMs)
}

/** `cdt`, or else the receipt, minus `cdo` seconds. A time in the future, or of more than 20 years ago, gives the time of receipt. */
export function matomoTime({ cdt, cdo }: JsonObject, receivedAtMs: number): EventTime {
  const backMs = Math.abs(Number.parseInt(labelOf(cdo) ?? '', 10) || 0) * 1_000
  if (isMissing(cdt)) return backMs === 0 ? NONE : notBefore('cdo', cdo, receivedAtMs - backMs, receivedAtMs)
  const ms = instantOf(cdt)
  if (ms === undefined) return ignored('cdt', cdt, NOT_A_TIME)
  return notBefore('cdt', cdt, ms - backMs, receivedAtMs)
}

function notBefore(name: string, value: unknown, ms: number, receivedAtMs: number): EventTime {
  if (ms <= receivedAtMs - AGO_MAX_MS) return ignored(name, value, 'is more than 20 years ago')
  if (ms <= receivedAtMs) return { timestamp: iso(ms) }
  // Clocks differ by seconds.
  return ms < receivedAtMs + MINUTE_MS ? NONE : ignored(name, value, 'is in the future')
}

const NOT_A_TIME = 'is not a time'

function ignored(name: string, value: unknown, reason: string, timestamp?: string): EventTime {
  const text = value === '' ? '' : (labelOf(value) ?? typeof value)
  const shown = text.length > WARNING_MAX_CHARS ? `${cutText(text, WARNING_MAX_CHARS)}…` : text
  const instead = timestamp === undefined ? 'the time of receipt' : 'originalTimestamp'
  return { timestamp, warning: `${name} "${shown}" ${reason}: ${instead} counts` }
}

function isMissing(value: unknown): boolean {
  return value === undefined || value === null || value === ''
}

/** The time of an event by the receiver's clock; as it is when the correction leaves the years that can be stored. */
function correctedMs(ms: number, sentAt: unknown, receivedAtMs: number): number {
  const sentMs = instantOf(sentAt)
  const corrected = sentMs === undefined ? ms : ms + (receivedAtMs - sentMs)
  return isStorable(corrected) ? corrected : ms
}

function isStorable(ms: number): boolean {
  return ms >= FIRST_MS && ms < END_MS
}

function iso(ms: number): string {
  return new Date(ms).toISOString()
}
