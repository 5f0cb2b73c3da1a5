import type { Clock } from '../../run/clock.ts'
import { givenUp } from '../../stores/clickhouse/client.ts'
import { readSourceCounts } from '../../tenants/sources/counts.ts'
import type { SourceCounts } from '../../tenants/sources/health.ts'
import { STATEMENT_LIMITS } from '../server/read-limits.ts'
import type { DashboardReader } from './reader.ts'

/** Reads counts of sources. */
export class ClickHouseSources {
  readonly #reader: DashboardReader
  readonly #clock: Clock

  constructor(reader: DashboardReader, clock: Clock) {
    this.#reader = reader
    this.#clock = clock
  }

  /** Of all sources of a tenant, by id. Rejects as `DashboardReader.find` does. */
  counts(tenantId: string): Promise<ReadonlyMap<string, SourceCounts>> {
    const ask = () =>
      readSourceCounts(this.#reader.client, tenantId, this.#clock.now(), givenUp(STATEMENT_LIMITS.seconds))
    return this.#reader.ask(tenantId, JSON.stringify(['sources', tenantId]), ask)
  }
}
