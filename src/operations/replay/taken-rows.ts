/**
 * Names of rows that earlier rounds matched with an event (see `Plan`). Keeps rows of a batch job until `forget`, because all
 * its events have the same time of receipt, and rows of live events for two rounds.
 */
export class TakenRows {
  readonly #ofJobs = new Map<string, Set<string>>()
  #live: readonly [Set<string>, Set<string>] = [new Set(), new Set()]

  has(name: string): boolean {
    const job = jobOf(name)
    if (job !== '') return this.#ofJobs.get(job)?.has(name) ?? false
    return this.#live.some((names) => names.has(name))
  }

  /** Adds the rows of one round. */
  add(names: Iterable<string>): void {
    const live = new Set<string>()
    for (const name of names) {
      const job = jobOf(name)
      if (job === '') {
        live.add(name)
        continue
      }
      const known = this.#ofJobs.get(job)
      if (known === undefined) this.#ofJobs.set(job, new Set([name]))
      else known.add(name)
    }
    this.#live = [this.#live[1], live]
  }

  forget(isOver: (job: string) => boolean): void {
    for (const job of this.#ofJobs.keys()) if (isOver(job)) this.#ofJobs.delete(job)
  }
}

function jobOf(name: string): string {
  return name.slice(0, name.indexOf(' '))
}
