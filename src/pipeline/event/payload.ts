import { OUTCOME_STATUS } from '../../../schemas/outcome.ts'

/*
 * A payload is an event for the archive: a row of tenant, UTC hour of receipt, for a live event `=` and its request id, and the
 * event's line, separated by tabs. The line is one JSON object without a line feed (schemas/README.md, Archive). The columns before
 * it have no tab. Earlier versions wrote rows of live events without a request id; their line starts with `{`.
 */

/** The status in the answer to an event. */
export type PayloadStatus = 'ok' | 'filtered' | 'invalid_ip'

/** Our keys in a line of the archive. A caller's members with these names move into an object under the last one. */
export const PAYLOAD_KEYS = ['_received_at', '_event_id', '_status', '_source_id', '_browser_key', '_sent'] as const

/** Length of `2026-11-22T01`. */
const HOUR_CHARS = 13

/**
 * @param receivedAt ISO 8601, UTC
 * @param line without a line feed
 * @param requestId of printable ASCII; undefined for a line of a batch job
 */
export function payloadRow(tenantId: string, receivedAt: string, line: string, requestId?: string): string {
  const request = requestId === undefined ? '' : `=${requestId}\t`
  return `${tenantId}\t${receivedAt.slice(0, HOUR_CHARS)}\t${request}${line}`
}

/** Events of a commit that are only counted, because they are rejected or have no address. */
export interface CountedEvents {
  /** One of `OUTCOME_STATUS`. */
  readonly status: string
  /** The column `reason` of `outcomes`, printable ASCII. */
  readonly reason: string
  readonly events: number
  /** The source whose key brought them; undefined: an API key did. */
  readonly sourceId?: string | undefined
}

/** A row for events that are only counted. The archive stores only their number, which a replay needs. */
export function countedRow(tenantId: string, receivedAt: string, counted: CountedEvents): string {
  const { status, reason, events, sourceId = '' } = counted
  const fields = [`!${reason}`, events, sourceId, status === OUTCOME_STATUS.rejected ? '' : status]
  while (fields.at(-1) === '') fields.pop()
  return payloadRow(tenantId, receivedAt, fields.join('\t'))
}

const COUNTED_MARK = '!'.charCodeAt(0)

/** The counts in an index: reason, number of events, the source if one brought them, and any status other than `rejected`. */
export type Counted = readonly [reason: string, events: number, sourceId?: string, status?: string]

/** The content of a row from `countedRow`; undefined for any other row. @param line without its line feed */
export function readCounted(line: Buffer): Counted | undefined {
  if (line[0] !== COUNTED_MARK) return undefined
  const [reason = '', events = '', ...rest] = line.toString('latin1', 1).split('\t')
  return [reason, Number(events), ...rest] as unknown as Counted
}

const TAB = 9
const REQUEST_MARK = '='.charCodeAt(0)

/** The start of the event's line in the row at `start`; `start` itself when the row is invalid. */
export function payloadLineStart(rows: Buffer, start: number): number {
  const tenantEnd = rows.indexOf(TAB, start)
  if (tenantEnd < 0) return start
  const afterHour = tenantEnd + 1 + HOUR_CHARS + 1
  return rows[afterHour] === REQUEST_MARK ? rows.indexOf(TAB, afterHour) + 1 : afterHour
}

/** Whether the row at `start` has the given text before its event's line. */
export function hasPayloadHead(rows: Buffer, start: number, head: Buffer): boolean {
  const lineStart = start + head.length
  return rows.subarray(start, lineStart).equals(head) && rows[lineStart] !== REQUEST_MARK
}

/** The columns of a row before the event's line. */
export interface PayloadOrigin {
  readonly tenantId: string
  /** UTC, `2026-11-22T01`. */
  readonly hour: string
  /** `''` for an event of a batch job or of an earlier version. */
  readonly requestId: string
}

/** @param head a row up to its line, see `payloadLineStart` */
export function payloadOrigin(head: Buffer): PayloadOrigin {
  const [tenantId = '', hour = '', request = ''] = head.toString('latin1').split('\t')
  return { tenantId, hour, requestId: request.slice(1) }
}
