interface Waiting<Call, Result> {
  readonly call: Call
  resolve(result: Result | PromiseLike<Result>): void
}

/** Merges the calls of one turn of the event loop, so that they share the fixed cost of a call. */
export class TurnBatcher<Call, Result> {
  readonly #make: (calls: readonly Call[]) => readonly Promise<Result>[]
  #waiting: Waiting<Call, Result>[] = []

  /** @param make returns a promise for each call, in their order; must not throw */
  constructor(make: (calls: readonly Call[]) => readonly Promise<Result>[]) {
    this.#make = make
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#waiting.push({ call, resolve }) === 1) setImmediate(() => this.#flush())
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const results = this.#make(waiting.map(({ call }) => call))
    for (const [i, { resolve }] of waiting.entries()) resolve(results[i]!)
  }
}
