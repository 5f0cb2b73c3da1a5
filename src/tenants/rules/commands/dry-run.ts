import { RULES_MAX } from '../../../../schemas/tenant-rules.ts'
import type { Config } from '../../../config/config.ts'
import { RuleSet } from '../../../enrichment/tenant-rules/rule-set.ts'
import { tryRules } from '../../../enrichment/tenant-rules/trial.ts'
import { utcDay } from '../../../pipeline/event/outcomes.ts'
import { systemClock } from '../../../run/clock.ts'
import { numbered } from '../../../run/counted.ts'
import { InputError } from '../../../run/errors.ts'
import { connectClickHouse, DATABASE } from '../../../stores/clickhouse/client.ts'
import type { CliContext } from '../../../terminal/context.ts'
import { clickhouseUrlOf } from '../../../terminal/instance.ts'
import { printJson, printPairs } from '../../../terminal/print.ts'
import type { Tenant } from '../../tenancy.ts'
import { filteredSums, storedGroups } from '../rule-trial.ts'

const DAY_MS = 86_400_000
const STATEMENT_MS = 300_000
const COMPANIES_SHOWN = 20

/** Prints the effect that a change of rules would have had on events received since yesterday, 0:00 UTC. */
export async function dryRun(
  config: Config,
  tenant: Tenant,
  { add = [], remove = [] }: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
  isJson: boolean,
  { stdout }: CliContext,
): Promise<void> {
  const { id, rules = [] } = tenant
  const missing = remove.find((rule) => !rules.includes(rule))
  if (missing !== undefined) throw new InputError(`tenant ${id} has no rule "${missing}"`)
  const changed = [...new Set([...rules.filter((rule) => !remove.includes(rule)), ...add])]
  if (changed.length > RULES_MAX) throw new InputError(`a tenant has at most ${RULES_MAX} rules`)
  const then = { ...tenant, rules: changed }
  const since = utcDay(systemClock.now() - DAY_MS)
  const url = await clickhouseUrlOf(config)
  const client = connectClickHouse(url, { application: 'cli', database: DATABASE, requestTimeoutMs: STATEMENT_MS })
  try {
    const sums = await filteredSums(client, id, { since })
    const trial = await tryRules(
      storedGroups(client, id, { since }),
      storedGroups(client, id, { since, hiddenBy: remove }),
      sums,
      new RuleSet(tenant),
      new RuleSet(then),
    )
    if (isJson) {
      printJson(stdout, { tenant_id: id, since, ...trial, companies: trial.companies.slice(0, COMPANIES_SHOWN) })
      return
    }
    printPairs(stdout, [
      [`events since ${since}, stored`, trial.stored],
      ...Object.entries(trial.newly_filtered).map(([rule, n]) => [`  would be filtered: ${rule}`, n] as const),
      ...Object.entries(trial.newly_held).map(([rule, n]) => [`  would belong to: ${rule}`, n] as const),
      ...(trial.shown > 0 ? [['hidden events that would be shown again', trial.shown] as const] : []),
      ['events filtered', trial.filtered],
      ...Object.entries(trial.newly_kept).map(([rule, n]) => [`  would be kept: ${rule}`, n] as const),
      ['  unknown, because their addresses are not stored', trial.unknown],
      ...(trial.without_address > 0 ? [['stored without an address', trial.without_address] as const] : []),
      ...trial.companies
        .slice(0, COMPANIES_SHOWN)
        .map(
          ({ name, events, visits }) =>
            [`changed events of ${name}`, `${events} in ${numbered(visits, 'visit')}`] as const,
        ),
      ['dry run', 'nothing was changed'],
    ])
  } finally {
    await client.close()
  }
}
