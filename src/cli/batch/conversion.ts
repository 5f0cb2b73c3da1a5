import { EventEnvelope } from '../../../schemas/api/event.ts'
import type { BadLine } from './lines.ts'
import type { DateOrder } from './timestamps.ts'

/** The keys of an event that mean something to us. */
export const EVENT_KEYS: readonly string[] = Object.keys(EventEnvelope.properties)

/** From names in a file to keys of an event. */
export type KeyMap = ReadonlyMap<string, string>

/** How the rows of a file are to be read. */
export interface ReadOptions {
  readonly map: KeyMap
  readonly dateOrder: DateOrder | undefined
}

/**
 * Turns lines of a file into NDJSON, a line for a line: what is no event, or goes on from the line before, becomes a blank
 * one. So the API numbers lines as an editor does.
 */
export interface LineConverter {
  push(line: string | BadLine, emit: (line: string) => void): void
  end(emit: (line: string) => void): void
}

/** Behind "there is no ip": what there is, and how to say which it is. */
export function missingAddress(names: readonly string[]): string {
  const likely = names.find((name) => /(^|[^a-z])ip|addr|host/i.test(name)) ?? names[0]
  if (likely === undefined) return ''
  return `; it has ${names.join(', ')}: say which is the address, as in --map '${likely}=ip'`
}
