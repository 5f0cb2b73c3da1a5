/*
 * A payload is an event for the archive: a row of tenant, UTC hour of receipt, for a live event `=` and its request id, and the
 * event's line, separated by tabs. The line is one JSON object without a line feed (schemas/README.md, Archive). The columns before
 * it have no tab. Earlier versions wrote rows of live events without a request id; their line starts with `{`.
 */

/** The status in the answer to an event. */
export type PayloadStatus = 'ok' | 'filtered' | 'invalid_ip'

/** Our keys in a line of the archive. A caller's members with these names move into an object under the last one. */
export const PAYLOAD_KEYS = ['_received_at', '_event_id', '_status', '_source_id', '_sent'] as const

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

/**
 * A row for the rejected lines of a batch chunk. The archive stores only their number, which a replay needs.
 * @param reason of `outcomes`, without a tab
 * @param sourceId the source whose key brought the lines; undefined: an API key did
 */
export function rejectedRow(
  tenantId: string,
  receivedAt: string,
  reason: string,
  lines: number,
  sourceId?: string,
): string {
  return payloadRow(tenantId, receivedAt, `!${reason}\t${lines}${sourceId === undefined ? '' : `\t${sourceId}`}`)
}

const REJECTED_MARK = '!'.charCodeAt(0)

/** Lines that were rejected for the same reason, and the source that brought them, if one did. */
export type Rejected = readonly [reason: string, lines: number, sourceId?: string]

/** The content of a row from `rejectedRow`; undefined for any other row. @param line without its line feed */
export function readRejected(line: Buffer): Rejected | undefined {
  if (line[0] !== REJECTED_MARK) return undefined
  const [reason = '', lines = '', sourceId] = line.toString('latin1', 1).split('\t')
  return sourceId === undefined ? [reason, Number(lines)] : [reason, Number(lines), sourceId]
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
