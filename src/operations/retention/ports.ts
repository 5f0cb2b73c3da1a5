import type { RetentionPolicy } from './policy.ts'

/** A store from which retention removes events by age. */
export interface AgedStore {
  /** The name of the store, in messages and in Redis. */
  readonly name: 'tables' | 'archive'
  /**
   * Removes events older than the policy keeps; safe to repeat. Returns the number of rows or objects, which may still
   * exist for a while.
   */
  removeAged(policy: RetentionPolicy, nowMs: number): Promise<number>
  close(): Promise<void>
}

/** Retention settings of tenants, and the time of the last check of each store. */
export interface RetentionRecords {
  policy(): Promise<RetentionPolicy>
  /** Whether this process has the turn. One process has it once every `everyMs`. */
  take(store: AgedStore['name'], everyMs: number): Promise<boolean>
  /** Returns the turn after a failure, so that the next check takes it. */
  giveBack(store: AgedStore['name']): Promise<void>
  note(store: AgedStore['name'], atMs: number, removed: number): Promise<void>
}
