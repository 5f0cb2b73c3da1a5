import type { ArchivedObject, BackupTable, LetterCopy, TenantCopy } from '../../../schemas/backup.ts'

/** A table that stores rows, without its file. */
export type TableShape = Omit<BackupTable, 'file'>

/** Tables, as a backup reads them. */
export interface TableSource {
  /** The names of the migrations that were applied, in their order. */
  migrations(): Promise<string[]>
  /** Every table that stores rows, that of events first: an event whose fate changes meanwhile is then in no two of them. */
  tables(): Promise<TableShape[]>
  /** The rows of one moment, as lines of TabSeparated, in pieces of any size. Rejects when they are not whole. */
  rows(table: TableShape): AsyncIterable<Buffer>
}

/** An event that is stored, as far as the dedup window has to know it. */
export interface StoredEvent {
  readonly tenantId: string
  readonly eventId: string
  readonly receivedAtMs: number
}

/** Tables, as a restore fills them. */
export interface TableTarget {
  /** A table that has rows; undefined when none has. */
  filledTable(): Promise<string | undefined>
  /** @throws BackupRefusedError when there are some that this version does not know */
  assertKnown(migrations: readonly string[]): Promise<void>
  /**
   * Each is there, or can be made. Nothing of a statement that a backup carries is run as it was found.
   * @throws BackupRefusedError when one cannot be made
   */
  assertTables(tables: readonly TableShape[]): Promise<void>
  /** @param only these; undefined: all of this version */
  migrate(only?: readonly string[]): Promise<void>
  /** The table is there, and empty. */
  clear(table: TableShape): Promise<void>
  /** @param lines whole lines, in the order of the columns */
  insert(table: TableShape, lines: readonly Buffer[]): Promise<void>
  /** How many rows it has; undefined where that says nothing, because the table sums its rows up by itself. */
  count(table: TableShape): Promise<number | undefined>
  /** The events that were received at that time or later, in portions. */
  eventsSince(ms: number): AsyncIterable<readonly StoredEvent[]>
  /** Which of these are stored, by their positions. */
  storedAmong(events: readonly Pick<StoredEvent, 'tenantId' | 'eventId'>[]): Promise<ReadonlySet<number>>
}

/** What Redis holds, as a backup reads it. */
export interface RecordSource {
  /** How many partitions there are. Rejects when the service has never run. */
  partitions(): Promise<number>
  /** When a restore changed their number last, milliseconds since 1970; 0: never. */
  partitionsSinceMs(): Promise<number>
  /**
   * Resolves when every group has finished what was answered before the call, uploads included.
   * @throws UnavailableError when that takes longer than `waitMs`
   */
  untilStored(waitMs: number): Promise<void>
  tenants(): AsyncIterable<TenantCopy>
  /** Each call goes on behind the letters that the one before it gave. */
  letters(): AsyncIterable<LetterCopy>
}

/** Redis, as a restore fills it. Everything but `begin` may be done again. */
export interface RecordTarget {
  /**
   * Marks that a restore has begun: from now on no role starts until `end`.
   * @returns false when the same backup was begun to be restored before: what is there is from then
   * @throws BackupRefusedError when there is something already, or another restore was not finished
   */
  begin(backupId: string, filledTable: string | undefined): Promise<boolean>
  /**
   * Fixes the number of partitions; everything that is added later goes to the partition that this number gives it.
   * @param backup the number in the backup, and when it was changed last (see `RecordSource`)
   * @throws StartupError when another number is fixed already
   */
  fixPartitions(partitions: number, backup: { readonly partitions: number; readonly sinceMs: number }): Promise<void>
  addTenants(tenants: readonly TenantCopy[]): Promise<void>
  /** Removes those of an earlier attempt. */
  clearLetters(): Promise<void>
  /** In the order of the backup: within one of its partitions, the oldest first. */
  addLetters(letters: readonly LetterCopy[]): Promise<void>
  /** Call after the last letter: moves each to the partition of its event, when the number of partitions changes. */
  placeLetters(): Promise<void>
  /** The event that a letter stands for; undefined when it stands for none. */
  eventOf(letter: LetterCopy): Pick<StoredEvent, 'tenantId' | 'eventId'> | undefined
  /** How far back the dedup window reaches, milliseconds. */
  readonly windowMs: number
  /** Repeats of these are known from now on, until the window has passed since their receipt. */
  remember(events: readonly StoredEvent[]): Promise<void>
  /** Everything is in its place: roles may start. */
  end(): Promise<void>
  /** Lets another restore begin. Tolerates that `begin` was refused. */
  close(): Promise<void>
}

/** The raw archive, which a backup names and does not copy. */
export interface ArchiveList {
  /** For people, without secrets. */
  readonly place: string
  /** Its objects, in the order of their keys (by UTF-16). */
  list(): AsyncIterable<ArchivedObject>
}

/** A backup that is no backup, is damaged, or does not fit. The message is a sentence that says what is wrong. */
export class BackupRefusedError extends Error {
  override name = 'BackupRefusedError'
}
