/** Merges in the order of their time: a company, and its target. */
export type Merges = ReadonlyMap<string, string>

/** The companies on the way from one to the end of its chain of merges, the first one included. */
export function chainOf(company: string, merges: Merges): string[] {
  const chain = [company]
  for (let next = merges.get(company); next !== undefined && !chain.includes(next); next = merges.get(next)) {
    chain.push(next)
  }
  return chain
}

/**
 * The end of every chain, by company. A merge that would close a circle is left out: two writers at once may have made one, and the older
 * merges then hold.
 */
export function endsOf(merges: Merges): Map<string, string> {
  const held = new Map<string, string>()
  for (const [company, into] of merges) {
    if (!chainOf(into, held).includes(company)) held.set(company, into)
  }
  return new Map([...held.keys()].map((company) => [company, chainOf(company, held).at(-1)!]))
}
