import type { Logger } from 'pino'
import type { OwnSettings, OwnValues } from '../../config/setting.ts'
import type { Block } from '../event/block.ts'
import type { Lane } from './lane.ts'

/** The destination refused rows because of their content: another attempt would fail too. */
export class RefusedRowsError extends Error {
  override name = 'RefusedRowsError'
  /** A short reason that quotes nothing of the rows, for example `CANNOT_PARSE_NUMBER (72)`. */
  readonly kind: string

  constructor(message: string, options: { cause?: unknown; kind?: string } = {}) {
    super(message, options)
    this.kind = options.kind ?? 'their data'
  }
}

/** The rows are not stored, and the destination's answer does not say whether their content is the cause. */
export class UnclearRefusalError extends Error {
  override name = 'UnclearRefusalError'
  /** See `RefusedRowsError`. */
  readonly kind: string

  constructor(message: string, options: { cause?: unknown; kind: string }) {
    super(message, options)
    this.kind = options.kind
  }
}

/** The stream entry that rows belong to. */
export interface EntryOfRows {
  readonly partition: number
  readonly lane: Lane
  readonly id: string
  readonly block: Block
}

/** Writes the rows of a sink. Every method may be called again after a failure. */
export interface Inserter {
  /** Creates tables or folders. Called before the first insert, and again after every failure. */
  prepare(): Promise<void>
  /** Makes a token for new rows: up to 50 characters of `[a-z0-9-]`. Default: a random one. Tokens of parts start with it. */
  newToken?(): string
  /**
   * Stores all rows or none. If rows were stored under the token before, it stores nothing and succeeds. Resolves when the rows
   * are durable, because their entries are acknowledged then. Another process that has lost the lease may insert the same rows
   * under the same token at the same time.
   * @param rows lines of `row.ts`, each ended by a line feed; an element may hold many. `readRows` reads them
   * @param token up to 100 characters of `[a-z0-9.-]`; the same token always comes with the same rows
   * @param entries that the elements of `rows` belong to; undefined for rows that are sent separately
   * @throws RefusedRowsError when the rows are at fault; UnclearRefusalError when they may be. After any other error the caller
   * repeats the same rows.
   */
  insert(rows: readonly Buffer[], token: string, entries?: readonly EntryOfRows[]): Promise<void>
  /**
   * The given rows that are not stored, one line per element. Called when an insert may have been interrupted and its repeat
   * succeeded. A destination whose token proves that its rows are stored returns an empty list.
   */
  absent(rows: readonly Buffer[]): Promise<readonly Buffer[]>
  /**
   * When the first of the rows was received, in milliseconds; may be too early. After Redis lost its last writes, rows from before may be
   * stored under another token, so `absent` is asked first. Undefined: another insert of the same rows overwrites the first.
   */
  receivedAt?(rows: Buffer): number
  /**
   * Called after an `UnclearRefusalError`. Rejects if the destination can store no rows at the moment, as far as it can tell
   * without storing any. Undefined: this destination does not throw that error.
   */
  assertOpen?(): Promise<void>
  /** Makes a running insert fail. Called when a stop takes too long. */
  abort?(): void
  close(): Promise<void>
}

/** Location of the archive. */
export type ArchiveLocation =
  | { readonly folder: string }
  | {
      readonly bucket: string
      /** Prefix of all names, without slashes at its ends; may be `''`. */
      readonly prefix: string
      /** `http(s)://host:port`. Undefined: AWS. */
      readonly endpoint: string | undefined
      /** Undefined: from the environment. */
      readonly region: string | undefined
    }

/** Arguments of `Destination.open`. */
interface DestinationTools<Own extends OwnSettings = OwnSettings> {
  readonly settings: OwnValues<Own>
  readonly clickhouseUrl: string
  /** Name of the ClickHouse cluster. Undefined: a single server. */
  readonly clickhouseCluster: string | undefined
  readonly archive: ArchiveLocation
  /** Which share of the sink the inserter works for, from 0; `of` 1: for the whole sink. */
  readonly share: { readonly number: number; readonly of: number }
  readonly log: Logger
}

/** Where a sink puts rows. */
export interface Destination<Own extends OwnSettings = OwnSettings> {
  readonly name: string
  /** Its own settings. Like all others, they are flags of `ipid start` and environment variables. */
  readonly settings?: Own
  /**
   * Whether sinks into it are part of the pipeline: without one, there is no consumer group and nothing waits for it. All processes
   * of an instance need the same settings. Undefined: always.
   */
  isOn?(settings: OwnValues<Own>): boolean
  /** One inserter at a time, in one process, even if SINK_SHARES is higher. */
  readonly isUndivided?: true
  /** Does no I/O; `Inserter.prepare` does. */
  open(tools: DestinationTools<Own>): Inserter
}
