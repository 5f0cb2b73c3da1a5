const NAMED_MAX = 5

/** Entries of a list that cannot be used. The others serve. */
export class LeftOut {
  readonly #named: string[] = []
  #count = 0

  /** @param where such as `line 7` */
  add(where: string, reason: string): void {
    if (this.#count++ < NAMED_MAX) this.#named.push(`${where}: ${reason}`)
  }

  /** One sentence with how many there are and the first few of them; nothing when there are none. */
  get warnings(): readonly string[] {
    if (this.#count === 0) return []
    const more = this.#count > NAMED_MAX ? '; …' : ''
    return [`entries left out: ${this.#count} (${this.#named.join('; ')}${more})`]
  }
}
