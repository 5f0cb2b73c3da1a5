import type { TenantSlots } from '../../run/tenant-slots.ts'

/**
 * Questions of tenants, in slots. Of the same question one is under way, and one waits that all share who ask it meanwhile: its
 * answer is of what is stored behind the moment in which each of them asked.
 */
export class Questions {
  readonly #slots: TenantSlots
  readonly #waiting = new Map<string, Promise<unknown>>()
  readonly #underWay = new Map<string, Promise<unknown>>()

  constructor(slots: TenantSlots) {
    this.#slots = slots
  }

  /** @param question tells all of it, the tenant included: what is asked with the same text has the same answer */
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
      // When that fails, so would this.
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
