import type { AccuracyAnswer, NamedAnswer, ProposalsAnswer } from '../../../schemas/dashboard/accuracy.ts'
import type { Corrections } from '../../../schemas/data-corrections.ts'
import { judgedLookup, ruleSetOf } from '../../enrichment/judge.ts'
import type { Lookup } from '../../lookup/lookup.ts'
import type { AskRows } from '../../operations/accuracy/ask-rows.ts'
import { correctionsByDataSet } from '../../operations/accuracy/corrections.ts'
import { dataSetBy } from '../../operations/accuracy/data-set.ts'
import { proposals } from '../../operations/accuracy/learn.ts'
import { namedDays } from '../../operations/accuracy/named.ts'
import { namedByRule } from '../../operations/accuracy/named-by-rule.ts'
import { qualityOf } from '../../operations/accuracy/quality.ts'
import { ClickHouseTruth, firstDayOf, type TruthSelection } from '../../operations/accuracy/truth.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'
import type { Clock } from '../../run/clock.ts'
import { STATEMENT_LIMITS } from '../../stores/clickhouse/read-limits.ts'
import type { QuestionReader } from '../../stores/clickhouse/reader.ts'
import { unmarkedPageSources } from '../../tenants/sources/page-sources.ts'
import type { TenantStore } from '../../tenants/stores.ts'
import type { Tenant } from '../../tenants/tenancy.ts'

const KIND = 'is '

/** Today's data, without rules of tenants. */
export interface LookedUp {
  lookup(address: Address): Lookup
  organisationOf(domain: string): Readonly<EnrichmentData> | undefined
}

/** Reads the truth of a tenant's sign-ups. */
export class ClickHouseAccuracy {
  readonly #reader: QuestionReader
  readonly #clock: Clock
  readonly #data: LookedUp
  readonly #tenants: Pick<TenantStore, 'listSources'>

  constructor(reader: QuestionReader, clock: Clock, data: LookedUp, tenants: Pick<TenantStore, 'listSources'>) {
    this.#reader = reader
    this.#clock = clock
    this.#data = data
    this.#tenants = tenants
  }

  /** The share of the events whose company could be named. Rejects as `QuestionReader.find` does. */
  async named(tenantId: string, days: number): Promise<NamedAnswer> {
    return await namedDays(this.#ask, tenantId, days, this.#clock.now())
  }

  /** Rejects as `QuestionReader.find` does. */
  async quality(tenant: Tenant, days: number): Promise<AccuracyAnswer> {
    const selection = await this.#selection(tenant, days)
    return await this.#reader.ask(tenant.id, JSON.stringify(['accuracy', selection, tenant.rules]), async () => {
      const ruleSet = ruleSetOf(tenant)
      const organisationOf = (domain: string) => this.#data.organisationOf(domain)
      const dataSetOf = dataSetBy(
        (address) => judgedLookup(this.#data.lookup(address), address, ruleSet, organisationOf).lookup,
      )
      const isByRule = namedByRule(ruleSet)
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

  /** The corrections by people. Rejects as `QuestionReader.find` does. */
  async corrections(tenant: Tenant, days: number): Promise<Corrections> {
    const since = firstDayOf(days, this.#clock.now())
    return await correctionsByDataSet({
      ...{ ask: this.#ask, tenant, since },
      lookup: (address) => this.#data.lookup(address),
    })
  }

  readonly #ask: AskRows = (query, parameters) => this.#reader.rows(query, parameters)

  async #selection(tenant: Tenant, days: number): Promise<TruthSelection> {
    const pageSources = unmarkedPageSources(await this.#tenants.listSources(tenant.id))
    return { tenantId: tenant.id, since: firstDayOf(days, this.#clock.now()), pageSources }
  }

  get #truth(): ClickHouseTruth {
    return new ClickHouseTruth(this.#reader.client, STATEMENT_LIMITS.seconds)
  }
}
