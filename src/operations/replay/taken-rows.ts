/**
 * Rows that stand for an event, by their names (see `Plan`): those of a batch job until it is forgotten, since all its events
 * were received at once; those of live events for two rounds.
 */
export class TakenRows {
  readonly #ofJobs = new Map<string, Set<string>>()
  #live: readonly [Set<string>, Set<string>] = [new Set(), new Set()]

  has(name: string): boolean {
    const job = jobOf(name)
    if (job !== '') return this.#ofJobs.get(job)?.has(name) ?? false
    return this.#live.some((names) => names.has(name))
  }

  /** Those of one round. */
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
