import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import type { RulesTrialAnswer } from '../../../schemas/dashboard/rules.ts'
import type { TenantRules } from '../../../schemas/tenant-rules.ts'
import { RuleSet } from '../../enrichment/tenant-rules/rule-set.ts'
import { tryRules } from '../../enrichment/tenant-rules/trial.ts'
import { HttpError } from '../../http/engine/http-error.ts'
import { utcDay } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { TenantSlots } from '../../run/tenant-slots.ts'
import { unavailable } from '../../stores/clickhouse/failures.ts'
import { TRIALS } from '../../stores/clickhouse/read-limits.ts'
import { filteredSums, storedGroups } from '../../tenants/rules/rule-trial.ts'
import type { Tenant } from '../../tenants/tenancy.ts'

const DAY_MS = 86_400_000
/** Below the time limit of a request. */
const SECONDS_MAX = 20

const SUMS_SECONDS_MAX = 5

/** Dry runs of rules. Each reads all events of a tenant since yesterday, so a tenant may run one at a time, and all tenants two. */
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
   * Tries rules on events received since yesterday, 0:00 UTC, within 25 s.
   * @throws BackpressureError while another trial runs, HttpError 503 when it takes longer, UnavailableError
   */
  run(tenant: Tenant, then: TenantRules): Promise<RulesTrialAnswer> {
    return this.#slots.run(tenant.id, async () => {
      try {
        return await this.#try(tenant, then)
      } catch (error) {
        if (!isTimeout(error)) throw unavailable(error)
        const command = `./ipid rules add ${tenant.id} KIND SUBJECT --dry-run`
        throw new HttpError(503, `too many events to try this here: run "${command}" instead`)
      }
    })
  }

  async #try(tenant: Tenant, then: TenantRules): Promise<RulesTrialAnswer> {
    const client = this.#client()
    const since = utcDay(this.#clock.now() - DAY_MS)
    const sums = await filteredSums(client, tenant.id, since, SUMS_SECONDS_MAX)
    const groups = storedGroups(client, tenant.id, since, this.#secondsMax)
    return { since, ...(await tryRules(groups, sums, new RuleSet(tenant), new RuleSet(then))) }
  }
}

function isTimeout(error: unknown): boolean {
  return error instanceof ClickHouseError && error.type === 'TIMEOUT_EXCEEDED'
}
