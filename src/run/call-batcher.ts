/** Sends the next call after this time even when the last one has no answer yet, milliseconds. */
const PATIENCE_MS = 20

/**
 * Merges many requests into few calls. Requests of one turn of the event loop share a call, as do those that arrive while a
 * call is in flight. A slow call delays the next one by `PATIENCE_MS` only.
 */
export class CallBatcher<Request> {
  readonly #call: (requests: readonly Request[]) => Promise<unknown>
  #waiting: Request[] = []
  /** Whether a call is scheduled: at the end of this turn, or after the one in flight. */
  #isBusy = false
  #calls = 0

  /** @param call settles when it has answered all requests it was given; whether it resolves or rejects does not matter */
  constructor(call: (requests: readonly Request[]) => Promise<unknown>) {
    this.#call = call
  }

  add(request: Request): void {
    this.#waiting.push(request)
    if (this.#isBusy) return
    this.#isBusy = true
    setImmediate(() => this.#send())
  }

  #send(): void {
    const requests = this.#waiting
    this.#waiting = []
    const number = ++this.#calls
    const finish = () => {
      clearTimeout(patience)
      if (number === this.#calls) this.#next()
    }
    const patience = setTimeout(finish, PATIENCE_MS)
    this.#call(requests).then(finish, finish)
  }

  #next(): void {
    // Makes the second of patience and answer of this call do nothing.
    this.#calls++
    this.#isBusy = this.#waiting.length > 0
    if (this.#isBusy) setImmediate(() => this.#send())
  }
}
