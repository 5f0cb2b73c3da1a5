import type { Logger } from 'pino'

/** Rows were refused for what they are: sending them again changes nothing. */
export class RefusedRowsError extends Error {
  override name = 'RefusedRowsError'
}

/** What takes the rows of a sink. Every method may be called again after it failed. */
export interface Inserter {
  /** Makes the destination ready. Called before the first insert, and again behind every failure. */
  prepare(): Promise<void>
  /**
   * Stores rows, all of them or none; with a token that was used before, nothing.
   * @param rows lines of `row.ts`, each ended by a line feed; one element may hold many
   * @throws RefusedRowsError when the rows are at fault; any other error may pass
   */
  insert(rows: readonly Buffer[], token: string): Promise<void>
  /**
   * Those of the rows that are not stored, one line an element. Asked when an insert was cut off and its repeat succeeded:
   * a destination whose tokens say for certain that their rows are stored returns none.
   */
  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]>
  close(): Promise<void>
}

/** What a destination is opened with. */
export interface DestinationTools {
  readonly clickhouseUrl: string
  readonly log: Logger
}

/** Where a sink puts rows. */
export interface Destination {
  readonly name: string
  /** Does no I/O: that is for `Inserter.prepare`. */
  open(tools: DestinationTools): Inserter
}
