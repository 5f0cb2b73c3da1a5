import type { BeginSending, EventSender } from './event-streams.ts'

/** Shares one source among all listeners. It runs while there is at least one. */
export class SharedFeed {
  readonly #begin: BeginSending
  readonly #keepsLast: boolean
  readonly #listeners = new Set<EventSender>()
  #last: string | undefined
  #end: (() => void) | undefined

  /** @param keepsLast sends the last event to each new listener */
  constructor(begin: BeginSending, keepsLast = false) {
    this.#begin = begin
    this.#keepsLast = keepsLast
  }

  /** Returns a function that removes the listener. */
  join(listener: EventSender): () => void {
    this.#listeners.add(listener)
    if (this.#end === undefined) this.#end = this.#begin({ send: (text) => this.#send(text) })
    else if (this.#last !== undefined) listener.send(this.#last)
    return () => this.#leave(listener)
  }

  get isIdle(): boolean {
    return this.#listeners.size === 0
  }

  #send(text: string): void {
    if (this.#keepsLast) this.#last = text
    for (const listener of this.#listeners) listener.send(text)
  }

  #leave(listener: EventSender): void {
    if (!this.#listeners.delete(listener) || !this.isIdle) return
    this.#last = undefined
    this.#end?.()
    this.#end = undefined
  }
}
