import type { Lane } from './lane.ts'

/** How a block came: its entry, and the claim id in whose name the entry claims. */
export interface Delivery {
  readonly partition: number
  readonly lane: Lane
  /** Of the stream entry. */
  readonly id: string
  /**
   * 8 bytes that stand for the entry, the same at every delivery. No other entry of this stream and partition, in either
   * lane, ever has them, but for the parts of an entry that was taken apart: they keep its claim id.
   */
  readonly claimId: Buffer
  /** Whether the claim id may have claims from before: the entry was delivered already, or is a part of one that was. */
  readonly repeated: boolean
}
