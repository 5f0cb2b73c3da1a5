import type { RuleReason } from '../../../schemas/tenant-rules.ts'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { compareTexts } from '../../run/compare-texts.ts'
import { BoundedCache } from '../bounded-cache.ts'
import { companyIdOf } from '../rules/company-id.ts'
import type { NetworkHolder } from './rule.ts'
import { storedJudged } from './rule-scope.ts'
import { FILTERS, type Judged, type RuleSet, type Verdict } from './rule-set.ts'

const ANSWERS_MAX = 20_000

/** Stored events that no rule can tell apart. */
interface StoredGroup {
  readonly ip: string
  readonly companyId: string
  readonly classification: string
  readonly data: EnrichmentData
  readonly events: number
  /** Distinct UTC days of these events. A visit is an address on a day. */
  readonly days: readonly number[]
}

/** Events and visits of one company that would have been filtered, or would have belonged to another one. */
interface TriedCompany {
  readonly company_id: string
  readonly name: string
  readonly events: number
  readonly visits: number
}

/** The number of events that were filtered for a reason. */
interface FilteredSum {
  readonly reason: string
  readonly classification: string
  readonly events: number
}

/** The effect that rules would have had on past events, as far as stored data show it. */
interface Trial {
  readonly stored: number
  /** Stored events that would have been filtered, by rule; by class if a rule that kept them is gone. */
  readonly newly_filtered: Readonly<Record<string, number>>
  /** Stored events that would have belonged to another organisation, by the rule `is`. */
  readonly newly_held: Readonly<Record<string, number>>
  /** Hidden events that would be shown again. */
  readonly shown: number
  readonly filtered: number
  /** Filtered events that would have been kept, by the rule. */
  readonly newly_kept: Readonly<Record<string, number>>
  /** Filtered events that cannot be judged: their addresses and organisations are not stored. */
  readonly unknown: number
  /** Stored events without an address: rules about networks were not tried on them. */
  readonly without_address: number
  /** The companies that would have changed, most events first. */
  readonly companies: readonly TriedCompany[]
}

/** Tries rules on past events. @param before the current rules @param after the rules to try */
export async function tryRules(
  groups: AsyncIterable<StoredGroup>,
  hidden: AsyncIterable<StoredGroup>,
  sums: readonly FilteredSum[],
  before: RuleSet,
  after: RuleSet,
): Promise<Trial> {
  const newlyFiltered = new Map<string, number>()
  const newlyHeld = new Map<string, number>()
  // Verdicts are cached per answer object, and a company has many addresses.
  const answers = new BoundedCache<string, Judged>(ANSWERS_MAX)
  const companies = new CompanyTrial()
  let stored = 0
  let withoutAddress = 0
  for await (const { ip, companyId, classification, data, events, days } of groups) {
    stored += events
    const address = parseAddress(ip)
    if (address === undefined) withoutAddress += events
    const key = JSON.stringify([companyId, classification, data])
    const answer = answers.get(key) ?? storedJudged(companyId, classification, data)
    answers.set(key, answer)
    const [then, now] = [after, before].map((rules) => outcomeOf(rules, address, answer)) as [Outcome, Outcome]
    let isChanged = false
    if (then.isFiltered) {
      isChanged = !now.isFiltered
      if (isChanged) add(newlyFiltered, then.rule ?? classification, events)
    } else if (then.holder !== undefined && then.companyId !== now.companyId) {
      isChanged = true
      add(newlyHeld, then.holder, events)
    } else if (then.holder === undefined && now.holder !== undefined) {
      // Only today's data can tell the company they would belong to.
      isChanged = true
    }
    if (isChanged && companyId !== '') companies.add(companyId, data, { ip, days, events })
  }
  let shown = 0
  for await (const { ip, companyId, classification, data, events } of hidden) {
    const { reason } = outcomeOf(after, parseAddress(ip), storedJudged(companyId, classification, data))
    if (reason === undefined) shown += events
  }
  const newlyKept = new Map<string, number>()
  let filtered = 0
  let unknown = 0
  for (const { reason, classification, events } of sums) {
    filtered += events
    const rule = reason === '' ? after.ofClass(classification) : undefined
    if (rule !== undefined && before.ofClass(classification) === undefined) add(newlyKept, rule, events)
    else unknown += events
  }
  return {
    ...{ stored, newly_filtered: Object.fromEntries(newlyFiltered), newly_held: Object.fromEntries(newlyHeld) },
    ...{ shown, filtered, newly_kept: Object.fromEntries(newlyKept), unknown, without_address: withoutAddress },
    companies: companies.list(),
  }
}

/** Counts visits exactly up to this number. Above it, an address whose data changed during a day may count twice for that day. */
const VISITS_COMPARED_MAX = 200_000
/** Bounds memory. */
const COMPANIES_MAX = 200_000

/** Sums per company. */
class CompanyTrial {
  readonly #companies = new Map<string, { readonly name: string; events: number; visits: number }>()
  readonly #visits = new Set<string>()

  add(
    companyId: string,
    { business_name, org_name }: EnrichmentData,
    { ip, days, events }: Pick<StoredGroup, 'ip' | 'days' | 'events'>,
  ): void {
    let found = this.#companies.get(companyId)
    if (found === undefined) {
      if (this.#companies.size >= COMPANIES_MAX) return
      found = { name: String(business_name ?? org_name ?? companyId), events: 0, visits: 0 }
      this.#companies.set(companyId, found)
    }
    found.events += events
    for (const day of days) {
      const visit = `${companyId} ${ip} ${day}`
      if (this.#visits.has(visit)) continue
      if (this.#visits.size < VISITS_COMPARED_MAX) this.#visits.add(visit)
      found.visits++
    }
  }

  list(): TriedCompany[] {
    return [...this.#companies]
      .map(([company_id, sums]) => ({ company_id, ...sums }))
      .sort((a, b) => b.events - a.events || compareTexts(a.company_id, b.company_id))
  }
}

/** The effect of rules on a stored event, by its stored values. */
interface Outcome {
  readonly isFiltered: boolean
  /** Why a rule filters it; undefined: its class does, or it is kept. */
  readonly reason: RuleReason | undefined
  readonly rule: string | undefined
  readonly companyId: string
  /** Text of the rule `is`. */
  readonly holder: string | undefined
}

/** @param address undefined when it is not stored */
export function outcomeOf(rules: RuleSet, address: Address | undefined, answer: Judged): Outcome {
  // A bot stays a bot, as in `judged`.
  const { asn } = answer.data
  const holder = address && answer.classification !== 'bot' ? rules.holderOf(address, Number(asn)) : undefined
  const held = holder === undefined ? answer : heldAs(holder.subject, asn)
  const verdict = rules.find(address, held)
  const { companyId } = held
  const reason = verdict && FILTERS[verdict.kind]
  return { isFiltered: isFiltered(verdict, held.noise), reason, rule: verdict?.rule, companyId, holder: holder?.text }
}

/** The event as an organisation's that a rule `is` names. */
function heldAs({ domain, name }: NetworkHolder, asn: EnrichmentData['asn']): Judged {
  const data = { ...(name && { business_name: name }), ...(domain && { domain }), ...(asn !== undefined && { asn }) }
  return { noise: false, classification: 'business', companyId: companyIdOf({ name, domain }), data }
}

function isFiltered(verdict: Verdict | undefined, noise: boolean): boolean {
  return verdict === undefined ? noise : FILTERS[verdict.kind] !== undefined
}

function add(sums: Map<string, number>, name: string, events: number): void {
  sums.set(name, (sums.get(name) ?? 0) + events)
}
