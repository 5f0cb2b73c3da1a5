import type { Bot } from '../../../schemas/bots.ts'
import type { Classification } from '../../../schemas/classification.ts'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { FilterReason, TenantRules } from '../../../schemas/tenant-rules.ts'
import { botOf } from '../../enrichment/bots/user-agent.ts'
import type { FrozenData } from '../../enrichment/engine.ts'
import { type RuleConcern, storedJudged } from '../../enrichment/tenant-rules/concern.ts'
import { judged, ruleSetOf } from '../../enrichment/tenant-rules/judge.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { fromTsv } from '../../pipeline/event/row.ts'
import type { EnrichmentColumn, Group, TodaysData, Values } from './ports.ts'

/** Data, and after them the rules of a tenant. */
export function judgedBy(data: Pick<FrozenData, 'enrich' | 'organisationOf'>, tenant: TenantRules): TodaysData {
  const rules = ruleSetOf(tenant)
  if (rules === undefined) return data
  const organisationOf = (domain: string) => data.organisationOf(domain)
  return {
    enrich: (address, hostname, claimed) =>
      judged(data.enrich(address, hostname, claimed), address, rules, organisationOf),
  }
}

/** Result of today's data for stored events. */
export interface Judgement {
  readonly isNoise: boolean
  readonly classification: Classification | undefined
  /** The tenant's rule that makes it noise; undefined: its classification decides. */
  readonly filteredAs?: FilterReason | undefined
  readonly values: Values
  /** Whether it differs from the stored values. */
  readonly isChange: boolean
}

/** Names of organisations that rules compare. */
const RULE_COLUMNS = ['domain', 'business_name', 'org_name', 'as_name'] as const

const HOSTNAME_AT = indexOf('hostname')

/** The value of a column. */
export function columnValue(values: Values, column: EnrichmentColumn): string {
  return values[indexOf(column)]!
}

/** Undefined when the stored address is masked: then it cannot be enriched. */
export function judge(
  { ip, values, agents }: Pick<Group, 'ip' | 'values' | 'agents'>,
  data: TodaysData,
): Judgement | undefined {
  const address = parseAddress(ip)
  if (address === undefined) return undefined
  const enrichment = data.enrich(address, values[HOSTNAME_AT]!, claimIn(agents))
  const today = valuesOf(enrichment)
  return {
    isNoise: enrichment.noise,
    classification: enrichment.classification,
    ...(enrichment.filteredAs && { filteredAs: enrichment.filteredAs }),
    values: today,
    isChange: enrichment.noise || today.some((value, i) => value !== values[i]),
  }
}

/** Whether a rule is about the events of a group, by their stored values. */
export function isConcerned({ ip, values }: Pick<Group, 'ip' | 'values'>, concern: RuleConcern): boolean {
  const of = (column: EnrichmentColumn) => columnValue(values, column)
  const names = RULE_COLUMNS.flatMap((column) => (of(column) === '' ? [] : [[column, of(column)] as const]))
  const asn = Number(of('asn'))
  const data = { ...Object.fromEntries(names), ...(asn > 0 && { asn }) }
  return concern.matches(parseAddress(ip), storedJudged(of('company_id'), of('classification'), data))
}

/** As `claimOf` for the event itself. */
function claimIn(agents: readonly string[]): Bot | undefined {
  for (const agent of agents) {
    const bot = agent === '' ? undefined : botOf(agent)
    if (bot !== undefined) return bot
  }
  return undefined
}

/** The engine's cache returns the same object for equal enrichments. */
const known = new WeakMap<Enrichment, Values>()

function valuesOf(enrichment: Enrichment): Values {
  let values = known.get(enrichment)
  if (values === undefined) {
    values = enrichment.columns.split('\t').map(fromTsv)
    known.set(enrichment, values)
  }
  return values
}

function indexOf(column: EnrichmentColumn): number {
  return ENRICHMENT_COLUMNS.indexOf(column)
}
