import type { RetentionPolicy } from './policy.ts'

/** A store that events leave by age. */
export interface AgedStore {
  /** Of the store, for people, and for the note of when it was looked at. */
  readonly name: 'tables' | 'archive'
  /**
   * Removes what is older than the policy keeps; may be done again at any time. Returns how many rows or objects go: they
   * may be there for a while yet.
   */
  removeAged(policy: RetentionPolicy, nowMs: number): Promise<number>
  close(): Promise<void>
}

/** Who has to keep how much, and when a store was looked at. */
export interface RetentionRecords {
  policy(): Promise<RetentionPolicy>
  /** Whether it is this process's turn: once in so many milliseconds, for one of all. */
  take(store: AgedStore['name'], everyMs: number): Promise<boolean>
  /** The turn came to nothing: the next look has it again. */
  giveBack(store: AgedStore['name']): Promise<void>
  note(store: AgedStore['name'], atMs: number, removed: number): Promise<void>
}
