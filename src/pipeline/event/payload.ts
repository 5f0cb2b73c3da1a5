/*
 * What the archive is given of an event: tenant, UTC hour of receipt, for a live event `=` and the id of its request, and the
 * event's line, with tabs between them. The line is one JSON object without a line feed (schemas/README.md, Archive); nothing
 * before it has a tab. Rows of live events that earlier versions wrote have no request: they are told by the `{`.
 */

/** What was answered for an event, or would have been. */
export type PayloadStatus = 'ok' | 'filtered' | 'invalid_ip'

/** Keys that are ours in a line of the archive. Members of the caller's that have such a name stand under the last one. */
export const PAYLOAD_KEYS = ['_received_at', '_event_id', '_status', '_sent'] as const

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
 * What stands in a batch for its lines that are no event: the archive does not hold them, and keeps their number, so that a
 * replay knows it.
 * @param reason of `outcomes`, without a tab
 */
export function rejectedRow(tenantId: string, receivedAt: string, reason: string, lines: number): string {
  return payloadRow(tenantId, receivedAt, `!${reason}\t${lines}`)
}

const REJECTED_MARK = '!'.charCodeAt(0)

/** Reason and number of a row that `rejectedRow` made; undefined for any other. @param line without its line feed */
export function readRejected(line: Buffer): readonly [reason: string, lines: number] | undefined {
  if (line[0] !== REJECTED_MARK) return undefined
  const [reason = '', lines = ''] = line.toString('latin1', 1).split('\t')
  return [reason, Number(lines)]
}

const TAB = 9
const REQUEST_MARK = '='.charCodeAt(0)

/** Where the line of a row begins that begins at `start`; there when the row is none. */
export function payloadLineStart(rows: Buffer, start: number): number {
  const tenantEnd = rows.indexOf(TAB, start)
  if (tenantEnd < 0) return start
  const behindHour = tenantEnd + 1 + HOUR_CHARS + 1
  return rows[behindHour] === REQUEST_MARK ? rows.indexOf(TAB, behindHour) + 1 : behindHour
}

/** Whether the row that begins at `start` has the same before its line as another one, of which that is `head`. */
export function hasPayloadHead(rows: Buffer, start: number, head: Buffer): boolean {
  const lineStart = start + head.length
  return rows.subarray(start, lineStart).equals(head) && rows[lineStart] !== REQUEST_MARK
}

/** What stands before the line of a row. */
export interface PayloadOrigin {
  readonly tenantId: string
  /** UTC, `2026-11-22T01`. */
  readonly hour: string
  /** `''` when it is not known: the event came in a batch job, or with an earlier version. */
  readonly requestId: string
}

/** @param head a row up to its line, see `payloadLineStart` */
export function payloadOrigin(head: Buffer): PayloadOrigin {
  const [tenantId = '', hour = '', request = ''] = head.toString('latin1').split('\t')
  return { tenantId, hour, requestId: request.slice(1) }
}
