import type { Proxies } from '../../event/client-address.ts'
import type { Mapping } from '../mapped-fields.ts'
import { stringifyExactly } from '../tools/exact-json.ts'
import { TooDeepError } from '../tools/nested-json.ts'
import type { ToolEvent } from '../tools/tool-event.ts'

/** A format of logs or exports that has one record a line. */
export interface LineFormat {
  /** As in `--format`. */
  readonly name: string
  /** The programs that write it, for help texts. */
  readonly about: string
  /** Recognises a file by its first lines. @param lines whole lines without their ends, none of them blank */
  recognises(lines: readonly string[]): boolean
  /** Makes a reader for one file. */
  reader(options: ReadLineOptions): LineReader
}

export interface ReadLineOptions {
  /** Requests that are no page views become events too. Exports of analytics tools are always read whole. */
  readonly all: boolean
  /** Milliseconds since the epoch, for formats whose events say when they were sent. */
  readonly nowMs: number
  /** Where the fields of JSON are. Only the format `json` uses it. */
  readonly mapping?: Mapping | undefined
  /** Proxies beside private ones, whose addresses are no visitors'. Default: none. */
  readonly trusted?: Proxies | undefined
}

/** Reads the lines of one file in their order. */
export interface LineReader {
  /** Use `readLine`, which never throws. @param line without its end, not blank */
  read(line: string): LineResult
  /**
   * The header line that applies to the next line, such as `#Fields: …`. Another reader that first reads it can continue in the
   * middle of the file. Undefined: the format has none, or none has come yet.
   */
  readonly header: string | undefined
  /** False after a part of a line whose rest is still to come. Another reader cannot continue there. Default: true. */
  readonly isBetween?: boolean
}

/** `skipped` and `rejected` are reasons, which quote nothing of the line. */
export type LineResult = { readonly event: ToolEvent } | { readonly skipped: string } | { readonly rejected: string }

/** The result for a line. Like `LineResult`, with the event as JSON. */
export type LineJson = { readonly json: string } | Exclude<LineResult, { readonly event: ToolEvent }>

/**
 * Reads a line. One that fails is rejected: thrown, its error would stop the file at this line for ever.
 * @param jsonOf makes the line of NDJSON
 */
export function readLine(reader: LineReader, line: string, jsonOf: (event: ToolEvent) => string): LineJson {
  try {
    const result = reader.read(line)
    return 'event' in result ? { json: jsonOf(result.event) } : result
  } catch (error) {
    return { rejected: error instanceof TooDeepError ? error.message : `cannot be read: ${(error as Error).name}` }
  }
}

/** The event as a line of NDJSON with ipid's own names. Numbers have all of their digits. @param ownId its id, unless it has one */
export function eventLine(event: ToolEvent, ownId: () => string): string {
  const { event_id, timestamp, event_type, account_id, session_id, platform, properties, user_properties } = event
  // Named one by one: copies of all keys took a third of the time of a log's line.
  return stringifyExactly({
    ip: event.ip,
    event_id: event_id || ownId(),
    timestamp,
    event_type,
    account_id,
    session_id,
    platform,
    properties,
    user_properties,
    ...event.page,
  })
}

/** For lines without a request, such as those that start with `#`. */
export const COMMENT = { skipped: 'comment' } as const satisfies LineResult
export const BLANK = { skipped: 'blank line' } as const satisfies LineResult
/** For a line whose rest is in a later one. */
export const PART = { skipped: 'part of a line' } as const satisfies LineResult
/** Whether a line that was left out is a request. */
export function isRequest({ skipped }: { readonly skipped: string }): boolean {
  return [COMMENT, BLANK, PART].every((other) => other.skipped !== skipped)
}

/** Why the parts of a line at the end of a file are no event. */
export const CUT_OFF = 'is a part of a line, and its rest is missing'

/** Whether at least half of the lines match. Lines of another program may be among them. */
export function most(lines: readonly string[], matches: (line: string) => boolean): boolean {
  return lines.length > 0 && lines.filter(matches).length * 2 >= lines.length
}
