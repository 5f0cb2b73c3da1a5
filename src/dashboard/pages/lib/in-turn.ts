/**
 * Loads a few at a time, in the order of the requests. A browser has six connections to a server, and icons that come slowly must leave
 * some to the calls of the page.
 */
export class InTurn {
  readonly #load: (url: string) => Promise<boolean>
  readonly #atOnce: number
  readonly #waiting: Entry[] = []
  #loading = 0

  /** @param load resolves with whether it succeeded, and never rejects */
  constructor(load: (url: string) => Promise<boolean>, atOnce: number) {
    this.#load = load
    this.#atOnce = atOnce
  }

  /** Calls `loaded` after success. @returns withdraws the request */
  add(url: string, loaded: () => void): () => void {
    const entry: Entry = { url, loaded }
    this.#waiting.push(entry)
    void this.#next()
    return () => {
      entry.loaded = undefined
      const at = this.#waiting.indexOf(entry)
      if (at >= 0) this.#waiting.splice(at, 1)
    }
  }

  async #next(): Promise<void> {
    if (this.#loading >= this.#atOnce) return
    const entry = this.#waiting.shift()
    if (entry === undefined) return
    this.#loading++
    const isLoaded = await this.#load(entry.url)
    this.#loading--
    if (isLoaded) entry.loaded?.()
    void this.#next()
  }
}

interface Entry {
  readonly url: string
  /** Undefined: the request was withdrawn. */
  loaded: (() => void) | undefined
}
