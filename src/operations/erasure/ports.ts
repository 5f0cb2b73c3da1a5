import type { Selector } from './selector.ts'

/** What is erased: events of a tenant that were received before a moment. Later ones are new, and stay. */
export interface ErasureScope {
  readonly tenantId: string
  /** Undefined: all that the tenant has. */
  readonly selector: Selector | undefined
  readonly beforeMs: number
}

/** What was removed from the tables. */
export interface RemovedRows {
  /** Of events. */
  readonly rows: number
  /** Rows of outcomes, which only go with the whole tenant. */
  readonly outcomes: number
  /** Parts of the table that the server has set aside. Nobody reads them, and they are not looked into. */
  readonly detachedParts: number
}

/** The tables, as an erasure sees it. Between `begin` and `end` it knows what is looked for. */
export interface ErasableTables {
  begin(scope: ErasureScope): Promise<void>
  /** Ids of the events that were received since then, in portions. */
  eventIds(sinceMs: number): AsyncIterable<readonly string[]>
  /** Which of these ids, at most 10,000, are of rows that are received around that time and are to go. */
  idsAmong(ids: readonly string[], fromMs: number, toMs: number): Promise<ReadonlySet<string>>
  /** Removes the rows, and resolves when the files that held them are gone, too. */
  remove(deadlineMs: number): Promise<RemovedRows>
  /** Forgets what is looked for. Tolerates that `begin` failed. */
  end(): Promise<void>
}

export interface RemovedLines {
  readonly lines: number
  /** Parts that have lines left. */
  readonly rewritten: number
  readonly deleted: number
}

/** The archive, as an erasure sees it. */
export interface ErasableArchive {
  /** For people, without secrets. */
  readonly place: string
  /** @param idsAmong tells the events whose lines do not say their account */
  remove(scope: ErasureScope, idsAmong: ErasableTables['idsAmong']): Promise<RemovedLines>
  /** Removes every object of a tenant. Returns how many there were. */
  removeTenant(scope: ErasureScope): Promise<number>
}

/** What became of the files of Redis: see `ErasableRecords.rewriteFiles`. */
export type RewrittenFiles = 'rewritten' | 'none' | 'refused'

/** Redis, as an erasure sees it. */
export interface ErasableRecords {
  /**
   * Waits until no other erasure runs, and keeps others away until `end`.
   * @throws UnavailableError when that takes too long
   */
  begin(deadlineMs: number): Promise<void>
  /**
   * Resolves when what was answered before the call is where it belongs: stored, archived, a dead letter, an ended job. It
   * is in no stream any more then.
   * @throws UnavailableError when that takes too long
   */
  untilSettled(tenantId: string, deadlineMs: number): Promise<void>
  /** The same, but batch jobs are not waited for: they are cancelled. */
  untilCancelled(tenantId: string, deadlineMs: number): Promise<void>
  /** Gives up dead letters; Redis holds nothing of them any more then. */
  removeLetters(scope: ErasureScope, deadlineMs: number): Promise<number>
  /** What ended batch jobs quote of lines that are no JSON. Returns the number of jobs. */
  removeQuotes(tenantId: string): Promise<number>
  /** Every batch job of a tenant. */
  removeBatchJobs(tenantId: string): Promise<number>
  /** Bulk lookup jobs that have the address among theirs, or all of the tenant. */
  removeBulkJobs(scope: ErasureScope): Promise<number>
  /** How far back the dedup window reaches, milliseconds. */
  readonly windowMs: number
  /** Events of these ids that were first seen before a moment are no repeats any more. Returns how many were known. */
  forget(tenantId: string, ids: readonly string[], beforeMs: number): Promise<number>
  /** Resolves when the files of Redis hold only what it holds now. `none`: it has no files. */
  rewriteFiles(deadlineMs: number): Promise<RewrittenFiles>
  end(): Promise<void>
}

/** What is written down of a tenant. */
export interface TenantRemoval {
  /**
   * From now on its keys open nothing, and there can be none of its name.
   * @throws InputError when there is none
   */
  mark(tenantId: string): Promise<void>
  /** Removes its keys, what was counted of it, and whoever is signed in for it. Returns the number of keys. */
  removeKeys(tenantId: string): Promise<number>
  /** The name is free. */
  removeRecord(tenantId: string): Promise<void>
}
