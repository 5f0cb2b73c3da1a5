import type { Delivery } from './delivery.ts'

/**
 * Remembers for the dedup window which entry claimed an identity, by the entry's owner. A claim stands for an event that is
 * kept: the settlement of an entry gives back what the entry's owner has claimed and no event of the entry is kept for.
 */
export interface SeenStore {
  /**
   * Claims identities for the delivery's owner. Returns the positions of those that another owner has claimed, within the
   * window. Claiming again for the same owner changes nothing and finds the same.
   * @param identities 16 bytes each, without repeats among them
   * @throws SettledElsewhereError when the delivery is not pending any more; then nothing is claimed. UnavailableError
   */
  claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
}

/** Another consumer has settled the entry meanwhile: there is nothing left to do. */
export class SettledElsewhereError extends Error {
  override name = 'SettledElsewhereError'
}
