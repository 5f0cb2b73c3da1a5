/** The sizes of what a cache holds, in a unit of the caller's, such as bytes. */
export interface Sizes<K, V> {
  /** Of an entry, without what `shared` counts. */
  entry(key: K, value: V): number
  /** Of a value that several keys may share. It counts once. */
  shared?(value: V): number
}

/** Entries that were added or used since the last turn. */
interface Generation<K, V> {
  readonly entries: Map<K, V>
  /** The shared values that `size` includes. */
  readonly values: Set<V>
  size: number
}

/**
 * A cache that evicts entries that were not used lately. It holds entries of at most `limit` in size in two generations. New and used
 * entries are in the young one. When that is full, it becomes the old one, and the entries of the old one are dropped. A
 * hit on a young entry costs one `Map.get`: a third of the time of an LRU package that keeps the exact order of use.
 */
export class BoundedCache<K, V extends NonNullable<unknown>> {
  readonly #half: number
  readonly #sizes: Sizes<K, V> | undefined
  #young: Generation<K, V> = emptyGeneration()
  #old: Generation<K, V> = emptyGeneration()

  /**
   * @param limit size of all entries; an entry is far smaller than half of it
   * @param sizes undefined: the limit is a number of entries, 2 or more
   */
  constructor(limit: number, sizes?: Sizes<K, V>) {
    this.#half = Math.max(1, Math.floor(limit / 2))
    this.#sizes = sizes
  }

  /** Number of entries. */
  get size(): number {
    return this.#young.entries.size + this.#old.entries.size
  }

  get(key: K): V | undefined {
    const young = this.#young.entries.get(key)
    if (young !== undefined) return young
    const old = this.#old.entries.get(key)
    if (old !== undefined) {
      this.#old.entries.delete(key)
      this.set(key, old)
    }
    return old
  }

  /** @param key must not be in the cache: call `get` first */
  set(key: K, value: V): void {
    let added = this.#sizeOf(key, value)
    if (this.#young.size + added > this.#half) {
      this.#old = this.#young
      this.#young = emptyGeneration()
      added = this.#sizeOf(key, value)
    }
    const { entries, values } = this.#young
    entries.set(key, value)
    if (this.#sizes?.shared !== undefined) values.add(value)
    this.#young.size += added
  }

  /** What the young generation grows by. */
  #sizeOf(key: K, value: V): number {
    const sizes = this.#sizes
    if (sizes === undefined) return 1
    const size = sizes.entry(key, value)
    return sizes.shared === undefined || this.#young.values.has(value) ? size : size + sizes.shared(value)
  }
}

function emptyGeneration<K, V>(): Generation<K, V> {
  return { entries: new Map(), values: new Set(), size: 0 }
}

/** Characters of all texts in an object, for its size. */
export function charactersIn(values: object): number {
  let characters = 0
  for (const value of Object.values(values)) if (typeof value === 'string') characters += value.length
  return characters
}

/** Longer texts are not remembered. */
const REMEMBERED_CHARS_MAX = 500

/** A pure function of a text that remembers its last results. */
export interface Remembered<R> {
  (text: string): R
  /** Remembers a result that was computed before. */
  learn(text: string, result: R): void
}

/**
 * Makes a function remember: one record is judged in several steps, which ask the same about its name.
 * @param max texts
 */
export function remembered<R extends NonNullable<unknown>>(of: (text: string) => R, max = 256): Remembered<R> {
  const known = new BoundedCache<string, R>(max)
  const learn = (text: string, result: R) => {
    if (text.length <= REMEMBERED_CHARS_MAX && known.get(text) === undefined) known.set(text, result)
  }
  const answer = (text: string) => {
    const before = known.get(text)
    if (before !== undefined) return before
    const result = of(text)
    learn(text, result)
    return result
  }
  return Object.assign(answer, { learn })
}
