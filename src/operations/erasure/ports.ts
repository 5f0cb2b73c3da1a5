import type { Selector } from './selector.ts'

/** The scope of an erasure: events of a tenant received before a moment. Later events are new and stay. */
export interface ErasureScope {
  readonly tenantId: string
  /** Undefined: all data of the tenant. */
  readonly selector: Selector | undefined
  readonly beforeMs: number
}

/** Counts of removed rows. */
export interface RemovedRows {
  /** Rows of events. */
  readonly rows: number
  /** Rows of outcomes, which are removed only with the whole tenant. */
  readonly outcomes: number
  /** Corrections of companies by people, which are removed only with the whole tenant. */
  readonly corrections: number
  /** Parts that the server has detached. No query reads them, and the erasure does not search them. */
  readonly detachedParts: number
}

/** The tables, as an erasure sees them. `begin` stores the search values, `end` removes them. */
export interface ErasableTables {
  begin(scope: ErasureScope): Promise<void>
  /** Ids of matching events received since then, in portions. */
  eventIds(sinceMs: number): AsyncIterable<readonly string[]>
  /** Which of these ids, at most 10,000, belong to matching rows received in that time. */
  idsAmong(ids: readonly string[], fromMs: number, toMs: number): Promise<ReadonlySet<string>>
  /** Removes the rows, and resolves when the files that held them are gone. */
  remove(deadlineMs: number): Promise<RemovedRows>
  /** Removes the search values. Tolerates that `begin` failed. */
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
  readonly location: string
  /** @param idsAmong finds the events whose lines do not have their account */
  remove(scope: ErasureScope, idsAmong: ErasableTables['idsAmong']): Promise<RemovedLines>
  /** Removes every object of a tenant. Returns how many there were. */
  removeTenant(scope: ErasureScope): Promise<number>
}

/** The result of rewriting Redis' files: see `ErasableRecords.rewriteFiles`. */
export type RewrittenFiles = 'rewritten' | 'none' | 'refused'

/** Redis, as an erasure sees it. */
export interface ErasableRecords {
  /**
   * Waits until no other erasure runs, and blocks others until `end`.
   * @throws UnavailableError on timeout
   */
  begin(deadlineMs: number): Promise<void>
  /**
   * Resolves when everything answered before the call is stored, archived, a dead letter or an ended job, and in no stream
   * any more.
   * @throws UnavailableError on timeout
   */
  untilSettled(tenantId: string, deadlineMs: number): Promise<void>
  /** The same, but cancels batch jobs instead of waiting for them. */
  untilCancelled(tenantId: string, deadlineMs: number): Promise<void>
  /** Removes dead letters, and resolves when Redis holds no part of them. */
  removeLetters(scope: ErasureScope, deadlineMs: number): Promise<number>
  /** Removes the quotes of invalid lines from ended batch jobs. Returns the number of jobs. */
  removeQuotes(tenantId: string): Promise<number>
  /** Removes every batch job of a tenant. */
  removeBatchJobs(tenantId: string): Promise<number>
  /** Removes bulk lookup jobs that contain the address, or all of the tenant. */
  removeBulkJobs(scope: ErasureScope): Promise<number>
  /** Length of the dedup window, milliseconds. */
  readonly windowMs: number
  /** Removes these ids from the dedup window if they were first seen before a moment. Returns how many were known. */
  forget(tenantId: string, ids: readonly string[], beforeMs: number): Promise<number>
  /** Resolves when the files of Redis hold only its current data. `none`: it has no files. */
  rewriteFiles(deadlineMs: number): Promise<RewrittenFiles>
  end(): Promise<void>
}

/** The records of a tenant. */
export interface TenantRemoval {
  /**
   * Revokes its keys and blocks its name. No correction of its companies is written later.
   * @throws InputError when the tenant does not exist; UnavailableError when a correction is being written for too long
   */
  mark(tenantId: string): Promise<void>
  /** Removes its keys, counters and sessions. Returns the number of keys. */
  removeKeys(tenantId: string): Promise<number>
  /** Frees the name. */
  removeRecord(tenantId: string): Promise<void>
}

/** E-mail addresses that mails of a tenant went to. */
export interface ErasableMails {
  /**
   * Removes one with its alerts, messages, links and opt-outs. May be repeated.
   * @throws InputError when it is that of a person of the workspace
   */
  remove(
    tenantId: string,
    address: string,
    nowMs: number,
  ): Promise<{ readonly alerts: number; readonly messages: number }>
}
