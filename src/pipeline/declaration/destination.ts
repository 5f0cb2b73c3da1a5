import type { Logger } from 'pino'
import type { OwnSettings, OwnValues } from '../../config/setting.ts'
import type { Block } from '../event/block.ts'
import type { Lane } from './lane.ts'

/** Rows were refused for what they are: sending them again changes nothing. */
export class RefusedRowsError extends Error {
  override name = 'RefusedRowsError'
  /** Names the reason in a few words that hold nothing of the rows, such as `CANNOT_PARSE_NUMBER (72)`. */
  readonly kind: string

  constructor(message: string, options: { cause?: unknown; kind?: string } = {}) {
    super(message, options)
    this.kind = options.kind ?? 'their data'
  }
}

/** Rows are not stored, and the answer of the destination does not tell whether that is their fault. */
export class UnclearRefusalError extends Error {
  override name = 'UnclearRefusalError'
  /** As of a `RefusedRowsError`. */
  readonly kind: string

  constructor(message: string, options: { cause?: unknown; kind: string }) {
    super(message, options)
    this.kind = options.kind
  }
}

/** The stream entry that rows are of. */
export interface EntryOfRows {
  readonly partition: number
  readonly lane: Lane
  readonly id: string
  readonly block: Block
}

/** What takes the rows of a sink. Every method may be called again after it failed. */
export interface Inserter {
  /** Makes the destination ready: tables, folders. Called before the first insert, and again behind every failure. */
  prepare(): Promise<void>
  /**
   * A token for rows that come for the first time, up to 50 of `[a-z0-9-]`; those of their parts begin with it. Undefined: any
   * that is new will do.
   */
  newToken?(): string
  /**
   * Stores rows, all of them or none; when rows were stored under the token before, none, and succeeds. Resolves when they
   * are stored for good: their entries are acknowledged then. Another process, which lost the lease meanwhile, may be
   * inserting the same rows under the same token.
   * @param rows lines of `row.ts`, each ended by a line feed; one element may hold many
   * @param token up to 100 of `[a-z0-9.-]`; it always comes with the same rows
   * @param entries those that the elements of `rows` are of; undefined for rows that are sent apart from others
   * @throws RefusedRowsError when the rows are at fault; UnclearRefusalError when they may be; after any other error the
   * same rows come again
   */
  insert(rows: readonly Buffer[], token: string, entries?: readonly EntryOfRows[]): Promise<void>
  /**
   * Those of the rows that are not stored, one line an element. Asked when an insert may have been cut off and its repeat
   * succeeded: a destination whose tokens prove that their rows are stored returns none.
   */
  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]>
  /**
   * When the first of some rows was received, milliseconds; may be earlier. Undefined: what is inserted twice takes its own
   * place, and so nobody need look for rows before they are inserted.
   */
  receivedAt?(rows: Buffer): number
  /**
   * Asked behind an unclear refusal: rejects when nothing would be stored at the moment, whatever the rows are, as far as
   * that can be told without storing one. Undefined: such refusals do not come.
   */
  assertOpen?(): Promise<void>
  /** An insert that is under way need not wait any longer: it fails. Called when a stop takes too long. */
  abort?(): void
  close(): Promise<void>
}

/** Where the archive is. */
export type ArchiveLocation =
  | { readonly folder: string }
  | {
      readonly bucket: string
      /** Of all names, without slashes at its ends; `''`: none. */
      readonly prefix: string
      /** `http(s)://host:port`; undefined: Amazon's. */
      readonly endpoint: string | undefined
      /** Undefined: as the environment says. */
      readonly region: string | undefined
    }

/** What a destination is opened with: the places of the product's own stores, and the values of its settings. */
export interface DestinationTools<Own extends OwnSettings = OwnSettings> {
  readonly settings: OwnValues<Own>
  readonly clickhouseUrl: string
  /** Name of the cluster that ClickHouse's tables are spread over; undefined: they are those of one server. */
  readonly clickhouseCluster: string | undefined
  readonly archive: ArchiveLocation
  readonly log: Logger
}

/** Where a sink puts rows. */
export interface Destination<Own extends OwnSettings = OwnSettings> {
  readonly name: string
  /** Settings of its own. They are flags of `ipid start` and environment variables, as all others are. */
  readonly settings?: Own
  /** Does no I/O: that is for `Inserter.prepare`. */
  open(tools: DestinationTools<Own>): Inserter
}
