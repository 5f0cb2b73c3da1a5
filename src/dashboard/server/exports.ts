import { tooMany } from '../../http/engine/http-error.ts'

const OF_TENANT_MAX = 2
const ALL_MAX = 4
const RETRY_SECONDS = 10

/**
 * Exports under way. Each holds a connection to the tables for as long as somebody reads it, however slowly, and there are
 * ten for the pages of all tenants.
 */
export class Exports {
  readonly #byTenant = new Map<string, number>()
  #all = 0

  /** Passes an export on. @throws HttpError 429 before its first piece, when too many are under way */
  async *of<T>(tenantId: string, pieces: AsyncIterable<T>): AsyncGenerator<T> {
    const ofTenant = this.#byTenant.get(tenantId) ?? 0
    if (ofTenant >= OF_TENANT_MAX || this.#all >= ALL_MAX) {
      throw tooMany('other exports are under way: try again when they have ended', RETRY_SECONDS, 'questions')
    }
    this.#count(tenantId, 1)
    try {
      yield* pieces
    } finally {
      this.#count(tenantId, -1)
    }
  }

  #count(tenantId: string, change: 1 | -1): void {
    this.#all += change
    const ofTenant = (this.#byTenant.get(tenantId) ?? 0) + change
    if (ofTenant > 0) this.#byTenant.set(tenantId, ofTenant)
    else this.#byTenant.delete(tenantId)
  }
}
