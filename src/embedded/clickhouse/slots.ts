import { Code, Exception } from './exception.ts'

/** A semaphore with a bounded queue. */
export class Slots {
  #free: number
  readonly #waitingMax: number
  readonly #waiting: (() => void)[] = []

  constructor(slots: number, waitingMax: number) {
    this.#free = slots
    this.#waitingMax = waitingMax
  }

  /**
   * Waits for a slot. @returns the function that releases it
   * @throws Exception when the queue is full, or `signal` aborts
   */
  async take(signal: AbortSignal): Promise<() => void> {
    if (this.#free === 0) await this.#wait(signal)
    else this.#free--
    let held = true
    return () => {
      if (held) this.#giveBack()
      held = false
    }
  }

  #giveBack(): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#free++
    else next()
  }

  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) {
      const message = `Too many simultaneous queries. ${this.#waiting.length} are waiting. (TOO_MANY_SIMULTANEOUS_QUERIES)`
      throw new Exception(Code.TooManySimultaneousQueries, message)
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        const at = this.#waiting.indexOf(start)
        if (at >= 0) this.#waiting.splice(at, 1)
        reject(new Exception(Code.Aborted, 'The client has gone before the statement began. (ABORTED)'))
      }
      const start = () => {
        signal.removeEventListener('abort', onAbort)
        resolve()
      }
      this.#waiting.push(start)
      if (signal.aborted) onAbort()
      else signal.addEventListener('abort', onAbort, { once: true })
    })
  }
}
