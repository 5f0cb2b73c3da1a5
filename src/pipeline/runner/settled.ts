import { outcomesOf, type Settlement, type StageCount } from './ports.ts'

/** What became of the entries of a round, in sum: whoever counts it pays for the round, and not for each of its entries. */
export class Settled {
  readonly outcomes = new Map<string, number>()
  readonly #stages = new Map<string, { stage: string; in: number; out: number; dropped: Map<string, number> }>()

  get stages(): readonly StageCount[] {
    return [...this.#stages.values()]
  }

  add(settlement: Settlement): void {
    addAll(this.outcomes, outcomesOf(settlement))
    for (const { stage, dropped, ...passed } of settlement.stages ?? []) {
      let sum = this.#stages.get(stage)
      if (sum === undefined) {
        sum = { stage, in: 0, out: 0, dropped: new Map() }
        this.#stages.set(stage, sum)
      }
      sum.in += passed.in
      sum.out += passed.out
      addAll(sum.dropped, dropped)
    }
  }
}

function addAll(sums: Map<string, number>, more: ReadonlyMap<string, number>): void {
  for (const [name, events] of more) sums.set(name, (sums.get(name) ?? 0) + events)
}
