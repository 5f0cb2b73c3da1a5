import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { RULES_TRIAL_COMPANIES, type RulesTrialAnswer } from '../../../schemas/dashboard/rules.ts'
import type { TenantRules } from '../../../schemas/tenant-rules.ts'
import { RuleScope } from '../../enrichment/tenant-rules/rule-scope.ts'
import { RuleSet } from '../../enrichment/tenant-rules/rule-set.ts'
import { tryRules } from '../../enrichment/tenant-rules/trial.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { unavailable } from '../../stores/clickhouse/failures.ts'
import { TRIALS } from '../../stores/clickhouse/read-limits.ts'
import { filteredSums, hiddenByRule, storedGroups } from '../../tenants/rules/rule-trial.ts'
import type { Tenant } from '../../tenants/tenancy.ts'

const DAY_MS = 86_400_000
/** Below the time limit of a request. */
const SECONDS_MAX = 20

const SUMS_SECONDS_MAX = 5

/** Companies of which a trial says whether they would be gone. */
const COMPARED_COMPANIES = 1_000
/** Before the first event. */
const FIRST_DAY = '2000-01-01'

/** Rules to try. */
export interface TriedRules {
  readonly before: TenantRules
  readonly after: TenantRules
  /** The added and removed rules. */
  readonly changed: readonly string[]
  /** On events received in this many UTC days, today included; null: all. */
  readonly days: number | null
}

/** Dry runs of rules. Each may read all events of a tenant, so a tenant may run one at a time, and all tenants two. */
export class ClickHouseRuleTrials {
  readonly #client: () => ClickHouseClient
  readonly #clock: Clock
  readonly #secondsMax: number
  readonly #slots = new TenantSlots(TRIALS)

  /** @param client of the database `ipid`; throws when there is none */
  constructor(client: () => ClickHouseClient, clock: Clock, secondsMax = SECONDS_MAX) {
    this.#client = client
    this.#clock = clock
    this.#secondsMax = secondsMax
  }

  /**
   * Tries rules on stored events, within 25 s.
   * @throws BackpressureError while another trial runs, HttpError 503 when it takes longer, UnavailableError
   */
  run(tenant: Tenant, tried: TriedRules): Promise<RulesTrialAnswer> {
    return this.#slots.run(tenant.id, async () => {
      try {
        return await this.#try(tenant, tried)
      } catch (error) {
        if (!isTimeout(error)) throw unavailable(error)
        const command = `./ipid rules add ${tenant.id} KIND SUBJECT --dry-run`
        throw new HttpError(
          'too_much_work',
          `too many events to try this here: choose fewer days, or run "${command}" instead`,
        )
      }
    })
  }

  /** Hidden events, by the rule that hides them; null while ClickHouse does not answer: rules can be changed then too. */
  async hidden(tenantId: string): Promise<Record<string, number> | null> {
    try {
      return await hiddenByRule(this.#client(), tenantId)
    } catch {
      return null
    }
  }

  async #try({ id }: Tenant, { before, after, changed, days }: TriedRules): Promise<RulesTrialAnswer> {
    const client = this.#client()
    const since = days === null ? FIRST_DAY : utcDay(this.#clock.now() - (days - 1) * DAY_MS)
    const sums = await filteredSums(client, id, { since, secondsMax: SUMS_SECONDS_MAX })
    const scope = new RuleScope(changed, before.unclassified !== after.unclassified).narrowed
    const groups = storedGroups(client, id, { since, scope, secondsMax: this.#secondsMax })
    const hidden = storedGroups(client, id, { since, hiddenBy: changed, secondsMax: this.#secondsMax })
    const { companies, ...trial } = await tryRules(groups, hidden, sums, new RuleSet(before), new RuleSet(after))
    const compared = companies.slice(0, COMPARED_COMPANIES)
    const totals = await this.#totals(client, id, compared)
    const isGone = ({ company_id, events }: (typeof compared)[number]) => totals.get(company_id) === events
    return {
      since: days === null ? null : since,
      ...trial,
      changed: {
        companies: companies.length,
        gone_companies: compared.filter(isGone).length,
        events: sum(companies.map(({ events }) => events)),
        visits: sum(companies.map(({ visits }) => visits)),
      },
      companies: compared.slice(0, RULES_TRIAL_COMPANIES).map((company) => ({ ...company, is_gone: isGone(company) })),
    }
  }

  /** All stored events of companies. */
  async #totals(client: ClickHouseClient, tenant: string, companies: readonly { readonly company_id: string }[]) {
    if (companies.length === 0) return new Map<string, number>()
    const result = await client.query({
      query: `
        SELECT company_id, count() AS events
        FROM events
        WHERE tenant_id = {tenant:String} AND company_id IN {companies:Array(String)}
        GROUP BY company_id`,
      query_params: { tenant, companies: companies.map(({ company_id }) => company_id) },
      format: 'JSONEachRow',
      clickhouse_settings: { output_format_json_quote_64bit_integers: 0, max_execution_time: SUMS_SECONDS_MAX },
    })
    const rows = await result.json<{ company_id: string; events: number }>()
    return new Map(rows.map(({ company_id, events }) => [company_id, events]))
  }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function isTimeout(error: unknown): boolean {
  return error instanceof ClickHouseError && error.type === 'TIMEOUT_EXCEEDED'
}
