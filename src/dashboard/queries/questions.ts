import type { TenantSlots } from '../../run/tenant-slots.ts'

/**
 * Runs queries of tenants in slots, and shares equal queries. While a query runs, equal ones share one that waits for it. So
 * every caller gets an answer that is newer than its call.
 */
export class Questions {
  readonly #slots: TenantSlots
  readonly #waiting = new Map<string, Promise<unknown>>()
  readonly #underWay = new Map<string, Promise<unknown>>()

  constructor(slots: TenantSlots) {
    this.#slots = slots
  }

  /** @param question identifies the query with all its parameters and the tenant */
  ask<T>(tenantId: string, question: string, ask: () => Promise<T>): Promise<T> {
    const waiting = this.#waiting.get(question)
    if (waiting !== undefined) return waiting as Promise<T>
    const answer = this.#answer(tenantId, question, ask)
    this.#waiting.set(question, answer)
    return answer
  }

  async #answer<T>(tenantId: string, question: string, ask: () => Promise<T>): Promise<T> {
    let waits = true
    const begin = () => {
      waits = false
      this.#waiting.delete(question)
      return this.#begin(question, ask)
    }
    try {
      // If that fails, this would fail too.
      await this.#underWay.get(question)
      return await this.#slots.run(tenantId, begin)
    } finally {
      if (waits) this.#waiting.delete(question)
    }
  }

  async #begin<T>(question: string, ask: () => Promise<T>): Promise<T> {
    const answer = ask()
    this.#underWay.set(question, answer)
    try {
      return await answer
    } finally {
      this.#underWay.delete(question)
    }
  }
}
