import type { Delivery } from './delivery.ts'

/**
 * Remembers for the dedup window which entry claimed an identity. A claim is a promise: events of other entries are dropped
 * for it from then on, so no later delivery of the entry may drop the event itself, whatever it thinks of it by then.
 */
export interface SeenStore {
  /**
   * Claims identities for a delivery. Returns the positions of those that another entry claimed before. Claiming again
   * for the same entry changes nothing and finds the same.
   * @param identities 16 bytes each, without repeats among them
   * @throws SettledElsewhereError when the delivery is not pending any more; then nothing is claimed. UnavailableError
   */
  claim(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
  /**
   * The positions of those identities that an earlier delivery of the entry claimed.
   * @param identities 16 bytes each
   * @throws UnavailableError
   */
  held(identities: Buffer, delivery: Delivery): Promise<readonly number[]>
}

/** Another consumer has settled the entry meanwhile: there is nothing left to do. */
export class SettledElsewhereError extends Error {
  override name = 'SettledElsewhereError'
}
