/** Share of the memory for bodies that strangers may use. */
const STRANGERS_SHARE = 1 / 8
/** Part of the strangers' memory that is freed at once when it is full. */
const ROOM_SHARE = 1 / 8
/** Bytes of a request that are not counted. The limit of requests in progress bounds them. */
export const UNCOUNTED_BYTES = 4_096

/** The owner of a body's memory. */
export interface BodyOwner {
  /** Undefined: the key of the request is not known yet, or wrong. */
  readonly tenantId: string | undefined
  /** Address of the client. */
  readonly client: string
}

/**
 * The memory for bodies. Bodies of strangers, whose key is not known yet, have a small part of it, and those of tenants have the rest.
 * In each part, one owner may take as much as it leaves free: half of an empty part, a third beside another owner who does the same. So
 * there is always room for one more.
 */
export class BodyBudget {
  readonly maxBytes: number
  readonly #strangers: Part
  readonly #tenants: Part

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes
    const strangersMax = Math.floor(maxBytes * STRANGERS_SHARE)
    this.#strangers = new Part(strangersMax)
    this.#tenants = new Part(maxBytes - strangersMax)
  }

  /** Counts bytes, always. Returns whether the owner may have them. @param bytes negative: they are given back */
  take({ tenantId, client }: BodyOwner, bytes: number): boolean {
    return tenantId === undefined ? this.#strangers.take(client, bytes) : this.#tenants.take(tenantId, bytes)
  }

  /** Whether a client of strangers may have somewhat more than it has. */
  hasRoom(client: string): boolean {
    return this.#strangers.fits(client, ROOM_SHARE)
  }

  /** Whether a client of strangers has too much by itself, and not because of others. */
  isLarge(client: string): boolean {
    return this.#strangers.isLarge(client)
  }
}

class Part {
  readonly #maxBytes: number
  readonly #byOwner = new Map<string, number>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  take(owner: string, bytes: number): boolean {
    const own = (this.#byOwner.get(owner) ?? 0) + bytes
    this.#bytes += bytes
    if (own === 0) this.#byOwner.delete(owner)
    else this.#byOwner.set(owner, own)
    return bytes <= 0 || this.fits(owner)
  }

  /** Whether an owner has no more than it may. @param share of the part that is left free then */
  fits(owner: string, share = 0): boolean {
    return (this.#byOwner.get(owner) ?? 0) <= this.#maxBytes * (1 - share) - this.#bytes
  }

  isLarge(owner: string): boolean {
    return (this.#byOwner.get(owner) ?? 0) > this.#maxBytes / 2
  }
}
