import type { Lane } from './lane.ts'

/** A block as it was delivered: the same entry has the same owner at every delivery. */
export interface Delivery {
  readonly partition: number
  readonly lane: Lane
  /** Of the stream entry. */
  readonly id: string
  /**
   * 8 bytes that stand for the stream entry among all that this partition's streams ever hold. What is put back into its
   * stream keeps the owner that it had.
   */
  readonly owner: Buffer
  /** Whether an earlier delivery may have claimed identities for this owner. */
  readonly repeated: boolean
}
