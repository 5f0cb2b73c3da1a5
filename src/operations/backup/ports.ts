import type { ArchivedObject, BackupTable, LetterCopy, PullCopy, TenantCopy } from '../../../schemas/backup.ts'

/** A table of the backup, without its file. */
export type TableShape = Omit<BackupTable, 'file'>

/** Reads tables for a backup. */
export interface TableSource {
  /** Names of the applied migrations, in order. */
  migrations(): Promise<string[]>
  /** Every table that stores rows. `events` comes first, so that an event whose fate changes meanwhile is never in two tables. */
  tables(): Promise<TableShape[]>
  /** A snapshot of the rows, as TabSeparated lines, in pieces of any size. Rejects when ClickHouse does not send all rows. */
  rows(table: TableShape): AsyncIterable<Buffer>
}

/** The fields of a stored event that the dedup window needs. */
export interface StoredEvent {
  readonly tenantId: string
  readonly eventId: string
  readonly receivedAtMs: number
}

/** Fills tables for a restore. */
export interface TableTarget {
  /** Name of a table with rows; undefined when all are empty. */
  filledTable(): Promise<string | undefined>
  /**
   * @param version of the ipid that made the backup
   * @throws BackupRefusedError when this version lacks one of the migrations
   */
  assertKnown(migrations: readonly string[], version: string): Promise<void>
  /**
   * Checks that each table exists or can be created. Never runs a statement of a backup as it is: see `createRestored`.
   * @throws BackupRefusedError when a table cannot be created
   */
  assertTables(tables: readonly TableShape[]): Promise<void>
  /** @param only applies only these migrations; undefined: all of this version */
  migrate(only?: readonly string[]): Promise<void>
  /** Creates the table, or empties it. */
  clear(table: TableShape): Promise<void>
  /** @param lines whole lines, in the order of the columns */
  insert(table: TableShape, lines: readonly Buffer[]): Promise<void>
  /** Number of rows; undefined when the table merges rows by itself, so that the number says nothing. */
  count(table: TableShape): Promise<number | undefined>
  /** Events received at this time or later, in portions. */
  eventsSince(ms: number): AsyncIterable<readonly StoredEvent[]>
  /** Indexes of the events that are stored. */
  storedAmong(events: readonly Pick<StoredEvent, 'tenantId' | 'eventId'>[]): Promise<ReadonlySet<number>>
}

/** Reads Redis for a backup. */
export interface RecordSource {
  /** Number of partitions. Rejects when no ipid has run on this Redis. */
  partitions(): Promise<number>
  /** When a restore last changed the number of partitions, milliseconds since 1970; 0: never. */
  partitionsSinceMs(): Promise<number>
  /**
   * Resolves when every group has finished all requests and uploads answered before the call.
   * @throws UnavailableError when that takes longer than `waitMs`
   */
  untilStored(waitMs: number): Promise<void>
  tenants(): AsyncIterable<TenantCopy>
  /** The progress of pulled sources. */
  pulls(): AsyncIterable<PullCopy>
  /** The first call gives all letters, each later call gives the new ones. */
  letters(): AsyncIterable<LetterCopy>
}

/** Fills Redis for a restore. Every step except `begin` may be repeated. */
export interface RecordTarget {
  /**
   * Marks the start of a restore. No role starts until `end`.
   * @returns true when an earlier restore of this backup did not finish
   * @throws BackupRefusedError when the stores hold data, or a restore of another backup did not finish
   */
  begin(backupId: string, filledTable: string | undefined): Promise<boolean>
  /**
   * Fixes the number of partitions. It decides the partition of everything that is added later.
   * @param backup number of partitions in the backup, and when it last changed (see `RecordSource`)
   * @throws StartupError when another number is already fixed
   */
  fixPartitions(partitions: number, backup: { readonly partitions: number; readonly sinceMs: number }): Promise<void>
  addTenants(tenants: readonly TenantCopy[]): Promise<void>
  addPulls(pulls: readonly PullCopy[]): Promise<void>
  /** Removes the letters of an earlier attempt. */
  clearLetters(): Promise<void>
  /** Must be called in the order of the backup: within a partition, the oldest letters first. */
  addLetters(letters: readonly LetterCopy[]): Promise<void>
  /** Call after the last letter. If the number of partitions changes, moves each letter to the partition of its event. */
  placeLetters(): Promise<void>
  /** The event of a letter; undefined when it has none. */
  eventOf(letter: LetterCopy): Pick<StoredEvent, 'tenantId' | 'eventId'> | undefined
  /** Length of the dedup window. */
  readonly windowMs: number
  /** Adds the events to the dedup window. */
  remember(events: readonly StoredEvent[]): Promise<void>
  /** Ends the restore: roles may start. */
  end(): Promise<void>
  /** Lets another restore begin. May be called after `begin` rejected. */
  close(): Promise<void>
}

/** The raw archive, which a backup names and does not copy. */
export interface ArchiveList {
  /** Shown to users; has no secrets. */
  readonly place: string
  /** All objects, ordered by key (UTF-16 code units). */
  list(): AsyncIterable<ArchivedObject>
}

/** The folder is not a backup, is damaged, or does not fit this instance. The message is a whole sentence. */
export class BackupRefusedError extends Error {
  override name = 'BackupRefusedError'
}
