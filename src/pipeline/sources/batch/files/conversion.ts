import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../../schemas/api/event.ts'
import type { BadLine } from './lines.ts'
import type { DateOrder, TimeProblem } from './timestamps.ts'

/** The keys of an event that mean something to us. */
export const EVENT_KEYS: readonly string[] = Object.keys(EventEnvelope.properties)

/** From names in a file to keys of an event; `''` leaves a column out. */
export type KeyMap = ReadonlyMap<string, string>

/** How to say what a file leaves open, in the words of where that is done: flags of a command, fields of a page. */
export interface Advice {
  /** What gives columns their keys: `--map`. */
  readonly map: string
  /** Behind "say which is the address". */
  readonly address: (column: string) => string
  readonly dateOrder: string
  readonly encoding: string
}

/** How the rows of a file are to be read. */
export interface ReadOptions {
  readonly map: KeyMap
  readonly dateOrder: DateOrder | undefined
  readonly advice: Advice
}

/** A row that cannot become an event. */
export interface BadRow {
  /** As an editor counts. */
  readonly line: number
  /** Quotes nothing of the row, so that it may be kept. */
  readonly reason: string
  /** For whoever has the file: may quote it. */
  readonly detail: string
}

/** Takes what lines become: NDJSON, `''` where there is no event, or why there is none. */
export type Emit = (line: string | BadRow) => void

/**
 * Turns lines of a file into NDJSON, a line for a line: what is no event, or goes on from the line before, becomes a blank
 * one. So lines are numbered as an editor does.
 */
export interface LineConverter {
  push(line: string | BadLine, emit: Emit): void
  end(emit: Emit): void
}

const NAMES_SHOWN_MAX = 20
const TEXT_SHOWN_CHARS = 80

/** Names of a file for a message: the first ones, and none longer than a message can bear. */
export function shownNames(names: readonly string[]): string[] {
  const shown = names.slice(0, NAMES_SHOWN_MAX).map(shownText)
  return names.length > shown.length ? [...shown, `${names.length - shown.length} more`] : shown
}

/** A text of a file for a message. */
export function shownText(text: string): string {
  return text.length > TEXT_SHOWN_CHARS ? `${text.slice(0, TEXT_SHOWN_CHARS).replace(/[\ud800-\udbff]$/, '')}…` : text
}

/** Follows "there is no ip": the names that exist, and how to say which one is the address. */
export function missingAddress(names: readonly string[], advice: Advice): string {
  const likely = names.find((name) => /(^|[^a-z])ip|addr|host/i.test(name)) ?? names[0]
  if (likely === undefined) return ''
  return `; it has ${shownNames(names).join(', ')}: say which is the address, ${advice.address(shownText(likely))}`
}

/** A row that becomes a line longer than the API takes. */
export function tooLongRow(line: number): BadRow {
  const reason = `becomes longer than ${BATCH_LIMITS.lineMaxBytes} bytes as NDJSON`
  return { line, reason, detail: reason }
}

/** A row whose timestamp cannot be read. */
export function badTime(line: number, text: string, problem: TimeProblem, { dateOrder }: Advice): BadRow {
  const why = {
    ambiguous: `may be day or month first: ${dateOrder}`,
    rounded: 'is rounded, as spreadsheets show large numbers: export the column as text',
    unknown: 'is not a date and time that is understood',
  }[problem]
  return { line, reason: `timestamp ${why}`, detail: `timestamp ${JSON.stringify(shownText(text))} ${why}` }
}
