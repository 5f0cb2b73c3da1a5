import type { AccuracyAnswer, ProposalsAnswer } from '../../../schemas/dashboard/accuracy.ts'
import { ruleSetOf } from '../../enrichment/judge.ts'
import type { Lookup } from '../../lookup/lookup.ts'
import { dataSetBy } from '../../operations/accuracy/data-set.ts'
import { proposals } from '../../operations/accuracy/learn.ts'
import { namedByRule } from '../../operations/accuracy/named-by-rule.ts'
import { qualityOf } from '../../operations/accuracy/quality.ts'
import { ClickHouseTruth, firstDayOf, type TruthSelection } from '../../operations/accuracy/truth.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Clock } from '../../run/clock.ts'
import { STATEMENT_LIMITS } from '../../stores/clickhouse/read-limits.ts'
import type { QuestionReader } from '../../stores/clickhouse/reader.ts'
import { unmarkedPageSources } from '../../tenants/sources/page-sources.ts'
import type { TenantStore } from '../../tenants/stores.ts'
import type { Tenant } from '../../tenants/tenancy.ts'

const KIND = 'is '

/** Reads the truth of a tenant's sign-ups. */
export class ClickHouseAccuracy {
  readonly #reader: QuestionReader
  readonly #clock: Clock
  readonly #lookup: (address: Address, tenant: Tenant) => Lookup
  readonly #tenants: Pick<TenantStore, 'listSources'>

  /** @param lookup by today's data and the rules of the tenant */
  constructor(
    reader: QuestionReader,
    clock: Clock,
    lookup: (address: Address, tenant: Tenant) => Lookup,
    tenants: Pick<TenantStore, 'listSources'>,
  ) {
    this.#reader = reader
    this.#clock = clock
    this.#lookup = lookup
    this.#tenants = tenants
  }

  /** Rejects as `QuestionReader.find` does. */
  async quality(tenant: Tenant, days: number): Promise<AccuracyAnswer> {
    const selection = await this.#selection(tenant, days)
    return await this.#reader.ask(tenant.id, JSON.stringify(['accuracy', selection, tenant.rules]), async () => {
      const dataSetOf = dataSetBy((address) => this.#lookup(address, tenant))
      const isByRule = namedByRule(ruleSetOf(tenant))
      const report = await qualityOf(this.#truth.groups(selection), { dataSetOf, isByRule })
      const { all, rules, data_sets, classifications, qualities } = report
      const left_out = await this.#truth.leftOut(selection)
      return {
        ...{ since: selection.since, left_out, all, rules, data_sets: [...data_sets] },
        ...{ classifications: [...classifications], qualities: [...qualities] },
      }
    })
  }

  /** Rejects as `QuestionReader.find` does. */
  async proposals(tenant: Tenant, days: number): Promise<ProposalsAnswer> {
    const selection = await this.#selection(tenant, days)
    const { rules = [] } = tenant
    return await this.#reader.ask(tenant.id, JSON.stringify(['proposals', selection, rules]), async () => {
      const found = await proposals(this.#truth.meetings(selection), ruleSetOf(tenant))
      return {
        since: selection.since,
        left_out: await this.#truth.leftOut(selection),
        proposals: found.map(({ rule, ...facts }) => ({ ...facts, subject: rule.slice(KIND.length) })),
        rules: rules.filter((rule) => rule.startsWith(KIND)),
      }
    })
  }

  async #selection(tenant: Tenant, days: number): Promise<TruthSelection> {
    const pageSources = unmarkedPageSources(await this.#tenants.listSources(tenant.id))
    return { tenantId: tenant.id, since: firstDayOf(days, this.#clock.now()), pageSources }
  }

  get #truth(): ClickHouseTruth {
    return new ClickHouseTruth(this.#reader.client, STATEMENT_LIMITS.seconds)
  }
}
