import type { Enrichment } from '../../pipeline/event/enrichment.ts'

/** Results made from an answer, by key, so that equal ones are one object while the answer is in use. */
export class Variants<V extends object> {
  readonly #known = new WeakMap<Enrichment, Map<string, V>>()
  readonly #max: number

  /** @param max of one answer; all of them are dropped when it is reached */
  constructor(max: number) {
    this.#max = max
  }

  /** @param isCurrent whether a known result still holds; default: always */
  of(enrichment: Enrichment, key: string, make: () => V, isCurrent: (variant: V) => boolean = () => true): V {
    let known = this.#known.get(enrichment)
    if (known === undefined) {
      known = new Map()
      this.#known.set(enrichment, known)
    }
    let variant = known.get(key)
    if (variant === undefined || !isCurrent(variant)) {
      variant = make()
      if (known.size >= this.#max) known.clear()
      known.set(key, variant)
    }
    return variant
  }
}
