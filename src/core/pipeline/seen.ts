import type { Delivery } from './delivery.ts'

/**
 * Remembers for the dedup window which delivery claimed an identity. A claim stands for an event that is kept: the
 * settlement of an entry gives back what the entry claimed at an earlier delivery and keeps no event of.
 */
export interface SeenStore {
  /**
   * Claims identities for a delivery. Returns the positions of those that another delivery claimed before. Claiming again
   * for the same delivery changes nothing and finds the same.
   * @param identities 16 bytes each, without repeats among them
   * @throws SettledElsewhereError when the delivery is not pending any more; then nothing is claimed. UnavailableError
   */
  claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
}

/** Another consumer has settled the entry meanwhile: there is nothing left to do. */
export class SettledElsewhereError extends Error {
  override name = 'SettledElsewhereError'
}
