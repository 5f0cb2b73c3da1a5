import type { AccuracyAnswer, ProposalsAnswer } from '../../../schemas/dashboard/accuracy.ts'
import { ruleSetOf } from '../../enrichment/tenant-rules/judge.ts'
import type { Lookup } from '../../lookup/lookup.ts'
import { dataSetBy } from '../../operations/accuracy/data-set.ts'
import { proposals } from '../../operations/accuracy/learn.ts'
import { namedByRule } from '../../operations/accuracy/named-by-rule.ts'
import { qualityOf } from '../../operations/accuracy/quality.ts'
import { ClickHouseTruth, firstDayOf } from '../../operations/accuracy/truth.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Clock } from '../../run/clock.ts'
import { STATEMENT_LIMITS } from '../../stores/clickhouse/read-limits.ts'
import type { QuestionReader } from '../../stores/clickhouse/reader.ts'
import type { Tenant } from '../../tenants/tenancy.ts'

const KIND = 'is '

/** Reads the truth of a tenant's sign-ups. */
export class ClickHouseAccuracy {
  readonly #reader: QuestionReader
  readonly #clock: Clock
  readonly #lookup: (address: Address, tenant: Tenant) => Lookup

  /** @param lookup by today's data and the rules of the tenant */
  constructor(reader: QuestionReader, clock: Clock, lookup: (address: Address, tenant: Tenant) => Lookup) {
    this.#reader = reader
    this.#clock = clock
    this.#lookup = lookup
  }

  /** Rejects as `QuestionReader.find` does. */
  quality(tenant: Tenant, days: number): Promise<AccuracyAnswer> {
    const selection = { tenantId: tenant.id, since: firstDayOf(days, this.#clock.now()) }
    return this.#reader.ask(tenant.id, JSON.stringify(['accuracy', selection, tenant.rules]), async () => {
      const dataSetOf = dataSetBy((address) => this.#lookup(address, tenant))
      const isByRule = namedByRule(ruleSetOf(tenant))
      const report = await qualityOf(this.#truth.groups(selection), { dataSetOf, isByRule })
      const { all, rules, data_sets, classifications, qualities } = report
      return {
        ...{ since: selection.since, all, rules, data_sets: [...data_sets] },
        ...{ classifications: [...classifications], qualities: [...qualities] },
      }
    })
  }

  /** Rejects as `QuestionReader.find` does. */
  proposals(tenant: Tenant, days: number): Promise<ProposalsAnswer> {
    const selection = { tenantId: tenant.id, since: firstDayOf(days, this.#clock.now()) }
    const { rules = [] } = tenant
    return this.#reader.ask(tenant.id, JSON.stringify(['proposals', selection, rules]), async () => {
      const found = await proposals(this.#truth.meetings(selection), ruleSetOf(tenant))
      return {
        since: selection.since,
        proposals: found.map(({ rule, ...facts }) => ({ ...facts, subject: rule.slice(KIND.length) })),
        rules: rules.filter((rule) => rule.startsWith(KIND)),
      }
    })
  }

  get #truth(): ClickHouseTruth {
    return new ClickHouseTruth(this.#reader.client, STATEMENT_LIMITS.seconds)
  }
}
