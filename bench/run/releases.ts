/** Ends what was started, the last first. What is released twice, or while it is being started, is released once. */
export class Releases {
  readonly #held = new Set<() => Promise<void>>()
  #released = false

  /** Whether everything is being given back: nothing is to be started any more. */
  get released(): boolean {
    return this.#released
  }

  /** @returns releases this one only */
  add(release: () => Promise<void>): () => Promise<void> {
    let done: Promise<void> | undefined
    const once = () => {
      this.#held.delete(once)
      done ??= release()
      return done
    }
    this.#held.add(once)
    if (this.#released) void once()
    return once
  }

  /** Goes on behind one that fails, and throws the first failure at the end. */
  async releaseAll(): Promise<void> {
    this.#released = true
    const failures: unknown[] = []
    for (const release of [...this.#held].reverse()) await release().catch((error) => failures.push(error))
    if (failures.length > 0) throw failures[0]
  }
}
