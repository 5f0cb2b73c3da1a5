/*
 * What the archive is given of an event: tenant, UTC hour of receipt and the event's line, with tabs between them. The line
 * is one JSON object without a line feed (schemas/README.md, Archive); neither tenant nor hour has a tab.
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
 */
export function payloadRow(tenantId: string, receivedAt: string, line: string): string {
  return `${tenantId}\t${receivedAt.slice(0, HOUR_CHARS)}\t${line}`
}

const TAB = 9

/** Where the line of a row begins that begins at `start`; there when the row is none. */
export function payloadLineStart(rows: Buffer, start: number): number {
  const tenantEnd = rows.indexOf(TAB, start)
  return tenantEnd < 0 ? start : tenantEnd + 1 + HOUR_CHARS + 1
}
