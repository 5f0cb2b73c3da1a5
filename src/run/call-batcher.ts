/** A call that takes longer than this is not waited for any more before the next is sent, milliseconds. */
const PATIENCE_MS = 20

/**
 * Makes few calls of many demands: those of a turn of the event loop go together, and so do all that come while a call is
 * on its way. One that is slow holds up those behind it for a moment only.
 */
export class CallBatcher<Demand> {
  readonly #call: (demands: readonly Demand[]) => Promise<unknown>
  #waiting: Demand[] = []
  /** Whether a call will be made: at the end of this turn, or behind the one that is on its way. */
  #isBusy = false
  #calls = 0

  /** @param call settles when the demands, one or more, are answered; in which way does not matter */
  constructor(call: (demands: readonly Demand[]) => Promise<unknown>) {
    this.#call = call
  }

  add(demand: Demand): void {
    this.#waiting.push(demand)
    if (this.#isBusy) return
    this.#isBusy = true
    setImmediate(() => this.#send())
  }

  #send(): void {
    const demands = this.#waiting
    this.#waiting = []
    const number = ++this.#calls
    const goOn = () => {
      clearTimeout(patience)
      if (number === this.#calls) this.#next()
    }
    const patience = setTimeout(goOn, PATIENCE_MS)
    this.#call(demands).then(goOn, goOn)
  }

  #next(): void {
    // Who heard of this call twice, by patience and by its answer, is not to send what the next gathers.
    this.#calls++
    this.#isBusy = this.#waiting.length > 0
    if (this.#isBusy) setImmediate(() => this.#send())
  }
}
