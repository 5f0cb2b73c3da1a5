/** A map whose entries live for a fixed time, and of which the oldest goes when it is full. */
export class ExpiringMap<V> {
  readonly #entries = new Map<string, { readonly value: V; readonly expiresMs: number }>()
  readonly #ttlMs: number
  readonly #sizeMax: number

  constructor(ttlMs: number, sizeMax: number) {
    this.#ttlMs = ttlMs
    this.#sizeMax = sizeMax
  }

  get size(): number {
    return this.#entries.size
  }

  /** Undefined when the entry is not there or has lived its time. */
  get(key: string, nowMs: number): V | undefined {
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    if (nowMs < entry.expiresMs) return entry.value
    this.#entries.delete(key)
    return undefined
  }

  set(key: string, value: V, nowMs: number): void {
    this.#entries.delete(key)
    if (this.#entries.size >= this.#sizeMax) {
      const oldest = this.#entries.keys().next()
      if (!oldest.done) this.#entries.delete(oldest.value)
    }
    this.#entries.set(key, { value, expiresMs: nowMs + this.#ttlMs })
  }

  clear(): void {
    this.#entries.clear()
  }
}
