import type { Clock } from '../../run/clock.ts'
import { givenUp } from '../../stores/clickhouse/client.ts'
import { STATEMENT_LIMITS } from '../../stores/clickhouse/read-limits.ts'
import type { QuestionReader } from '../../stores/clickhouse/reader.ts'
import { readSourceCounts } from '../../tenants/sources/counts.ts'
import type { SourceCounts } from '../../tenants/sources/health.ts'
import { type ProxiedSender, readProxiedSenders } from '../../tenants/sources/proxied-senders.ts'

/** Reads counts of sources. */
export class ClickHouseSources {
  readonly #reader: QuestionReader
  readonly #clock: Clock

  constructor(reader: QuestionReader, clock: Clock) {
    this.#reader = reader
    this.#clock = clock
  }

  /** Counts of all sources of a tenant, by id. Rejects as `QuestionReader.find` does. */
  counts(tenantId: string): Promise<ReadonlyMap<string, SourceCounts>> {
    const ask = () =>
      readSourceCounts(this.#reader.client, tenantId, this.#clock.now(), givenUp(STATEMENT_LIMITS.seconds))
    return this.#reader.ask(tenantId, JSON.stringify(['sources', tenantId]), ask)
  }

  /** Sources, and API keys as one sender, most of whose events come from infrastructure. Rejects as `QuestionReader.find` does. */
  proxied(tenantId: string): Promise<readonly ProxiedSender[]> {
    const ask = () =>
      readProxiedSenders(this.#reader.client, this.#clock.now(), tenantId, givenUp(STATEMENT_LIMITS.seconds))
    return this.#reader.ask(tenantId, JSON.stringify(['proxied', tenantId]), ask)
  }
}
