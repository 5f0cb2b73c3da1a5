import type { Bound, Figures } from './scenario.ts'

/** A figure over several runs. */
export interface Spread {
  readonly median: number
  readonly lowest: number
  readonly highest: number
}

interface BoundResult {
  readonly name: string
  readonly figure: string
  readonly median: number
  /** Median over the runs of the product's figure divided by the bound's. */
  readonly ratio: number
}

export interface ScenarioResult {
  readonly scenario: string
  readonly runs: number
  readonly figures: Readonly<Record<string, Spread>>
  readonly bounds: readonly BoundResult[]
  /** Figures of the base (`--against`), and the ratios of the medians. */
  readonly base?: {
    readonly figures: Readonly<Record<string, Spread>>
    readonly ratios: Readonly<Record<string, number>>
  }
}

export interface Run {
  readonly figures: Figures
  readonly bounds: readonly Bound[]
}

/** @param base runs of the base; empty without `--against` */
export function summarise(scenario: string, runs: readonly Run[], base: readonly Run[]): ScenarioResult {
  const figures = spreads(runs)
  const ofBase = spreads(base)
  const ratios = Object.keys(ofBase)
    .filter((name) => name in figures)
    .map((name) => [name, figures[name]!.median / ofBase[name]!.median] as const)
  return {
    scenario,
    runs: runs.length,
    figures,
    bounds: boundResults(runs),
    ...(base.length > 0 && { base: { figures: ofBase, ratios: Object.fromEntries(ratios) } }),
  }
}

function spreads(runs: readonly Run[]): Record<string, Spread> {
  const names = new Set(runs.flatMap(({ figures }) => Object.keys(figures)))
  const spread = (name: string): Spread => {
    const values = runs.flatMap(({ figures }) => figures[name] ?? [])
    return { median: median(values), lowest: Math.min(...values), highest: Math.max(...values) }
  }
  return Object.fromEntries([...names].map((name) => [name, spread(name)]))
}

function boundResults(runs: readonly Run[]): BoundResult[] {
  const all = runs.flatMap(({ figures, bounds }) =>
    bounds.map((bound) => ({ ...bound, ratio: figures[bound.figure]! / bound.value })),
  )
  const names = new Set(all.map(({ name, figure }) => `${name}\n${figure}`))
  return [...names].map((key) => {
    const [name, figure] = key.split('\n') as [string, string]
    const same = all.filter((bound) => bound.name === name && bound.figure === figure)
    return {
      name,
      figure,
      median: median(same.map(({ value }) => value)),
      ratio: median(same.map(({ ratio }) => ratio)),
    }
  })
}

/** The middle value, or the mean of the two middle values. */
export function median(values: readonly number[]): number {
  const ascending = values.toSorted((a, b) => a - b)
  const half = ascending.length / 2
  return (ascending[Math.ceil(half) - 1]! + ascending[Math.floor(half)]!) / 2
}
