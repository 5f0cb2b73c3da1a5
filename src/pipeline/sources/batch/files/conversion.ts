import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../../schemas/api/event.ts'
import { cutText } from '../../../../run/cut-text.ts'
import type { BadLine } from './lines.ts'
import type { DateOrder, TimeProblem } from './timestamps.ts'

/** The keys of an event that have a meaning. */
export const EVENT_KEYS: readonly string[] = Object.keys(EventEnvelope.properties)

/** Maps names in a file to keys of an event; `''` leaves a column out. */
export type KeyMap = ReadonlyMap<string, string>

/** Parts of error messages that depend on the user interface: flags of a command, or fields of a page. */
export interface Advice {
  /** Where columns are mapped to keys: `--map`. */
  readonly map: string
  /** Follows "say which is the address, ". */
  readonly address: (column: string) => string
  readonly dateOrder: string
  readonly encoding: string
}

export interface ReadOptions {
  readonly map: KeyMap
  readonly dateOrder: DateOrder | undefined
  readonly advice: Advice
}

/** A row that cannot become an event. */
export interface BadRow {
  /** Counted from 1. */
  readonly line: number
  /** Quotes nothing of the row, so that it may be stored. */
  readonly reason: string
  /** For the owner of the file; may quote the row. */
  readonly detail: string
}

/** Takes a converted line: NDJSON, `''` without an event, or a bad row. */
export type Emit = (line: string | BadRow) => void

/**
 * Turns lines of a file into NDJSON, one line for each. A line without an event, or that continues the line before, becomes a
 * blank one. So line numbers match those of the file.
 */
export interface LineConverter {
  push(line: string | BadLine, emit: Emit): void
  end(emit: Emit): void
}

const NAMES_SHOWN_MAX = 20
const TEXT_SHOWN_CHARS = 80

/** The first names of a file, each shortened for a message. */
export function shownNames(names: readonly string[]): string[] {
  const shown = names.slice(0, NAMES_SHOWN_MAX).map(shownText)
  return names.length > shown.length ? [...shown, `${names.length - shown.length} more`] : shown
}

/** A text of a file, shortened for a message. */
export function shownText(text: string): string {
  return text.length > TEXT_SHOWN_CHARS ? `${cutText(text, TEXT_SHOWN_CHARS)}…` : text
}

/** End of a message about a missing `ip`: the existing names, and how to say which one is the address. */
export function missingAddress(names: readonly string[], advice: Advice): string {
  const likely = names.find((name) => /(^|[^a-z])ip|addr|host/i.test(name)) ?? names[0]
  if (likely === undefined) return ''
  return `; it has ${shownNames(names).join(', ')}: say which is the address, ${advice.address(shownText(likely))}`
}

/** A row whose event exceeds the API's limit. */
export function tooLongRow(line: number): BadRow {
  const reason = `becomes longer than ${BATCH_LIMITS.lineMaxBytes} bytes as NDJSON`
  return { line, reason, detail: reason }
}

/** A row with an id whose last digits are lost. @param name of its column */
export function roundedId(line: number, name: string, text: string): BadRow {
  const why = 'was rounded by a spreadsheet: export the column as text'
  const id = shownText(name)
  return { line, reason: `${id} ${why}`, detail: `${id} ${JSON.stringify(shownText(text))} ${why}` }
}

/** A row with an unreadable timestamp. */
export function badTime(line: number, text: string, problem: TimeProblem, { dateOrder }: Advice): BadRow {
  const why = {
    ambiguous: `may be day or month first: ${dateOrder}`,
    rounded: 'was rounded by a spreadsheet: export the column as text',
    unknown: 'is not a known form of date and time',
  }[problem]
  return { line, reason: `timestamp ${why}`, detail: `timestamp ${JSON.stringify(shownText(text))} ${why}` }
}

const INTEGER = /^(-?\d{1,16})(?:\.0+)?$/

/** An integer, also as `123.0`, which programs write when other rows have none; undefined for other text. */
export function integerIn(text: string): string | undefined {
  const whole = INTEGER.exec(text)?.[1]
  return whole === undefined ? undefined : String(BigInt(whole))
}
