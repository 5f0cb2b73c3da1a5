import type { BeginSending, EventSender } from './event-streams.ts'

/** One source for all who want the same: it works while somebody does, and once however many they are. */
export class SharedFeed {
  readonly #begin: BeginSending
  readonly #keepsLast: boolean
  readonly #listeners = new Set<EventSender>()
  #last: string | undefined
  #end: (() => void) | undefined

  /** @param keepsLast who comes later is given the last event at once, as long as the source works */
  constructor(begin: BeginSending, keepsLast = false) {
    this.#begin = begin
    this.#keepsLast = keepsLast
  }

  /** Returns what ends it for this listener. */
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
