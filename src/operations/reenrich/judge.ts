import type { Bot } from '../../../schemas/bots.ts'
import type { Classification } from '../../../schemas/classification.ts'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import { RULE_REASONS, type TenantRules } from '../../../schemas/tenant-rules.ts'
import { botOf } from '../../enrichment/bots/user-agent.ts'
import type { FrozenData } from '../../enrichment/engine.ts'
import { judged, ruleSetOf } from '../../enrichment/judge.ts'
import { type RuleScope, storedJudged } from '../../enrichment/tenant-rules/rule-scope.ts'
import { type Judged, RuleSet } from '../../enrichment/tenant-rules/rule-set.ts'
import { outcomeOf } from '../../enrichment/tenant-rules/trial.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { fromTsv } from '../../pipeline/event/row.ts'
import type { EnrichmentColumn, Group, Hiding, Place, TodaysData, Values } from './ports.ts'

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

/** The fate of stored events. */
export interface Judgement {
  readonly to: Place
  /** The reason why they are hidden, or were until now; undefined: none. */
  readonly hiding: Hiding | undefined
  readonly classification: Classification | ''
  readonly values: Values
  /** Whether they move or get other values. */
  readonly isChange: boolean
}

type Judgeable = Pick<Group, 'ip' | 'values' | 'agents' | 'hiding'>

const NO_RULES = new RuleSet({})

/** Names of organisations that rules compare. */
const RULE_COLUMNS = ['domain', 'business_name', 'org_name', 'as_name'] as const

const HOSTNAME_AT = indexOf('hostname')

/** The value of a column. */
export function columnValue(values: Values, column: EnrichmentColumn): string {
  return values[indexOf(column)]!
}

/** The event by today's data. Undefined when the stored address is masked: then it cannot be enriched. */
export function judge({ ip, values, agents, hiding }: Judgeable, data: TodaysData): Judgement | undefined {
  const address = parseAddress(ip)
  if (address === undefined) return undefined
  const enrichment = data.enrich(address, values[HOSTNAME_AT]!, claimIn(agents))
  const { noise, classification = '', filteredAs = '', rule = '' } = enrichment
  if (noise)
    return hidden({ values, hiding }, { rule: filteredAs === '' ? '' : rule, reason: filteredAs }, classification)
  const today = valuesOf(enrichment)
  const isChange = hiding !== undefined || today.some((value, i) => value !== values[i])
  return { to: 'events', hiding, classification, values: today, isChange }
}

/** Hidden events keep their values, so that they return unchanged. */
function hidden(
  { values, hiding }: Pick<Group, 'values' | 'hiding'>,
  by: Hiding,
  classification: Judgement['classification'],
): Judgement {
  const isChange = by.rule !== hiding?.rule || by.reason !== hiding.reason
  return { to: 'hidden', hiding: by, classification, values, isChange }
}

/** The effect of changed rules on stored events. */
export interface RuleJudge {
  /** The tenant's rules now. */
  readonly rules: TenantRules
  readonly data: TodaysData
  /** Whether the change can give events to another company, or back to one. If not, it only hides and shows them. */
  readonly givesCompanies: boolean
  /** Rules whose hidden events are removed for good. */
  readonly deletes: ReadonlySet<string>
}

/**
 * Judges by the tenant's rules and the stored values. So removing a rule reverses it, even after new data. Only questions
 * that rules leave open are judged by today's data.
 */
export function judgeByRules(
  group: Judgeable,
  { rules, data, givesCompanies, deletes }: RuleJudge,
): Judgement | undefined {
  const { ip, values, hiding } = group
  const address = parseAddress(ip)
  const outcome = outcomeOf(ruleSetOf(rules) ?? NO_RULES, address, storedOf(values))
  const classification = columnValue(values, 'classification') as Judgement['classification']
  if (outcome.reason !== undefined) {
    const found = hidden(group, { rule: outcome.rule!, reason: outcome.reason }, classification)
    return hiding !== undefined && deletes.has(outcome.rule!) ? { ...found, to: 'gone', isChange: true } : found
  }
  const isHiddenByRule = RULE_REASONS.some((reason) => reason === hiding?.reason)
  const isShown = isHiddenByRule && outcome.rule === undefined && outcome.holder === undefined
  if (isShown || (address === undefined && isHiddenByRule))
    return { to: 'events', hiding, classification, values, isChange: true }
  const asItIs: Judgement = { to: 'events', hiding: undefined, classification, values, isChange: false }
  if (address !== undefined && hiding === undefined && !givesCompanies) return asItIs
  return judge(group, data)
}

/** Whether a rule is about the events of a group, by their stored values, or hides them. */
export function isInScope({ values, ip, hiding }: Pick<Group, 'ip' | 'values' | 'hiding'>, scope: RuleScope): boolean {
  return scope.has(hiding?.rule) || scope.matches(parseAddress(ip), storedOf(values))
}

/** Stored values as rules see them. */
function storedOf(values: Values): Judged {
  const of = (column: EnrichmentColumn) => columnValue(values, column)
  const names = RULE_COLUMNS.flatMap((column) => (of(column) === '' ? [] : [[column, of(column)] as const]))
  const asn = Number(of('asn'))
  const data = { ...Object.fromEntries(names), ...(asn > 0 && { asn }) }
  return storedJudged(of('company_id'), of('classification'), data)
}

/** Like `claimOf`, from stored values. */
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
