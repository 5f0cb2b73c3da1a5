import type { Bot } from '../../schemas/bots.ts'
import type { TenantRules } from '../../schemas/tenant-rules.ts'
import type { Lookup, LookupService } from '../lookup/lookup.ts'
import type { Address } from '../pipeline/event/address.ts'
import type { Enricher, Enrichment } from '../pipeline/event/enrichment.ts'
import type { ReadEvent } from '../pipeline/event/read-event.ts'
import { flatText } from '../pipeline/event/row.ts'
import { andThen } from '../run/and-then.ts'
import { enrichmentOf } from './answers/answer.ts'
import { inOrder } from './answers/merge.ts'
import { Variants } from './answers/variants.ts'
import { botOf } from './bots/user-agent.ts'
import { BoundedCache } from './bounded-cache.ts'
import { businessName } from './rules/business-name.ts'
import { companyIdOf } from './rules/company-id.ts'
import { heldBy, lookupHeldBy } from './tenant-rules/holder.ts'
import { FILTERS, RuleSet, type Verdict } from './tenant-rules/rule-set.ts'

/**
 * Judges an event: by the facts about its address, the bot that it names, and the tenant's rules if the enricher applies them.
 * Undefined without an address.
 */
export function judge(
  event: Pick<ReadEvent, 'properties' | 'extra'>,
  address: Address | undefined,
  enricher: Enricher,
): Enrichment | undefined {
  return address && enricher.enrich(address, claimOf(event))
}

/** Finds the facts that the data have about an organisation, by its registrable domain. */
type OrganisationOf = Enricher['organisationOf']

/** Applies a tenant's rules to an answer. Returns the answer unchanged when no rule matches. */
export function judged(
  enrichment: Enrichment,
  address: Address,
  rules: RuleSet,
  organisationOf?: OrganisationOf,
): Enrichment {
  const holder = holderOf(rules, address, enrichment)
  const known = holder === undefined ? enrichment : heldBy(enrichment, holder, organisationOf)
  const verdict = rules.find(address, known) ?? (holder && { kind: holder.kind, rule: holder.text })
  return verdict === undefined ? known : variants.of(known, verdict.rule, () => decided(known, verdict))
}

/** The rule `is` of an address. A bot belongs to its operator, even in another network. */
function holderOf(
  rules: RuleSet,
  address: Address,
  { classification, data }: Pick<Enrichment, 'classification' | 'data'>,
) {
  return classification === 'bot' ? undefined : rules.holderOf(address, Number(data.asn))
}

/** A lookup after the rules of a tenant. */
interface JudgedLookup {
  readonly lookup: Lookup
  /** The rule that decided; undefined for none. */
  readonly rule: string | undefined
}

/** As `judged`, for a lookup. */
export function judgedLookup(
  found: Lookup,
  address: Address,
  rules: RuleSet | undefined,
  organisationOf?: OrganisationOf,
): JudgedLookup {
  if (rules === undefined) return { lookup: found, rule: undefined }
  const holder = holderOf(rules, address, found)
  const lookup = holder === undefined ? found : lookupHeldBy(found, holder, organisationOf)
  const {
    noise,
    rule = holder?.text,
    companyId,
    data,
  } = judged(enrichmentOf(plain(found)), address, rules, organisationOf)
  if (rule === undefined) return { lookup, rule }
  const { business_name, org_name, as_name } = lookup.provenance
  const name = business_name ?? org_name ?? as_name
  const provenance = { ...lookup.provenance, ...(name && data.business_name && { business_name: name }) }
  return { lookup: { ...lookup, noise, companyId, data: inOrder(data), provenance }, rule }
}

/**
 * Lookups for a tenant: its rules `is` name the organisations of its networks. Other rules are about events.
 * @returns the given service when the tenant has no such rule
 */
export function tenantLookups(lookups: LookupService, tenant: TenantRules): LookupService {
  const rules = ruleSetOf(tenant)
  if (rules === undefined || !rules.hasHolders) return lookups
  return {
    providerNames: () => lookups.providerNames(),
    lookup(address, options) {
      return andThen(lookups.lookup(address, options), (lookup) => {
        const holder = holderOf(rules, address, lookup)
        if (holder === undefined) return lookup
        return lookupHeldBy(lookup, holder, (domain) => lookups.organisationOf?.(domain))
      })
    },
  }
}

/** The parsed rules of a tenant; undefined when it has none. */
export function ruleSetOf(tenant: TenantRules): RuleSet | undefined {
  const { rules = [], unclassified = 'account' } = tenant
  if (rules.length === 0 && unclassified === 'account') return undefined
  let set = sets.get(tenant)
  if (set === undefined) {
    const text = `${unclassified}\n${rules.join('\n')}`
    set = known.get(text) ?? new RuleSet(tenant)
    known.set(text, set)
    sets.set(tenant, set)
  }
  return set
}

const sets = new WeakMap<TenantRules, RuleSet>()
/** Keyed by text, because each key and each batch chunk loads the tenant's record anew. Parsing the most rules takes 15 ms. */
const known = new BoundedCache<string, RuleSet>(64)

/** An enricher that applies a tenant's rules; the given one when it has none. */
export function tenantEnricher(enricher: Enricher, tenant: TenantRules): Enricher {
  const rules = ruleSetOf(tenant)
  if (rules === undefined) return enricher
  const organisationOf = (domain: string) => enricher.organisationOf?.(domain)
  return {
    enrich: (address, claimed) => judged(enricher.enrich(address, claimed), address, rules, organisationOf),
    organisationOf,
  }
}

/** Rules of many tenants may apply to an answer. */
const VARIANTS_MAX = 64
/** By rule. */
const variants = new Variants<Enrichment>(VARIANTS_MAX)

function decided(enrichment: Enrichment, { kind, rule }: Verdict): Enrichment {
  const filteredAs = FILTERS[kind]
  if (filteredAs !== undefined) return named({ ...enrichment, noise: true, filteredAs }, rule)
  if (kind === 'is') return named(enrichment, rule)
  if (kind === 'never-noise') {
    return named(enrichment.noise || enrichment.companyId === '' ? asOrganisation(enrichment) : enrichment, rule)
  }
  return named(enrichmentOf({ ...plain(enrichment), noise: false, companyId: '' }), rule)
}

function named(enrichment: Enrichment, rule: string): Enrichment {
  const answerJson = flatText(enrichment.answerJson, ',"rule":', JSON.stringify(rule))
  return Object.freeze({ ...enrichment, answerJson, rule })
}

/** Noise and doubtful names have no company id. `never-noise` makes one from the names, as for any organisation. */
function asOrganisation(enrichment: Enrichment): Enrichment {
  const { companyId, data } = enrichment
  const registered = data.org_name ?? data.as_name
  const name = data.business_name ?? (registered === undefined ? undefined : businessName(String(registered)))
  const domain = data.domain === undefined ? undefined : String(data.domain)
  const id = companyId || companyIdOf({ name: name === undefined ? undefined : String(name), domain })
  return enrichmentOf({
    ...plain(enrichment),
    noise: false,
    companyId: id,
    data: name === undefined ? data : { ...data, business_name: name },
  })
}

function plain({ noise, classification, quality, data, companyId }: Enrichment | Lookup) {
  return { noise, classification, quality, data, companyId }
}

/** The end of every key that holds a user agent. Searching for it costs some nanoseconds, so other events cost no more. */
export const KEY_END = 'gent"'
export const AGENT_KEYS = ['user_agent', 'userAgent', 'useragent', '$user_agent', '$raw_user_agent'] as const
/** Objects of `properties` or of the event that libraries put the user agent into. Each may have a `context` of its own. */
export const AGENT_PARENTS = [
  'context',
  'segment',
  'rudderstack',
  'amplitude',
  'mixpanel',
  'posthog',
  'http',
  'request',
] as const

/** The bot that the user agent of an event names; undefined for a person's, and for an event without one. */
export function claimOf({ properties, extra }: Pick<ReadEvent, 'properties' | 'extra'>): Bot | undefined {
  return claimIn(properties) ?? claimIn(extra)
}

/** Most texts of one event that are judged. A library sends one or two. */
const TEXTS_MAX = 8

/** @param json text of an object; `''` for none */
function claimIn(json: string): Bot | undefined {
  let at = json.indexOf(KEY_END)
  for (let texts = 0; at >= 0 && texts < TEXTS_MAX; at = json.indexOf(KEY_END, at + KEY_END.length)) {
    if (!isKey(json, at + KEY_END.length - 1)) continue
    texts++
    // Only a bot is worth parsing the JSON, which tells a key from a text that contains one.
    if (mayBeBot(json, at + KEY_END.length)) return claimAt(json)
  }
  return undefined
}

/** Whether one of the keys ends here. @param end position of its closing quote */
function isKey(json: string, end: number): boolean {
  return AGENT_KEYS.some((key) => json.endsWith(`"${key}`, end))
}

/** Judges the text after a key. @param at the position after the key */
function mayBeBot(json: string, at: number): boolean {
  let start = at
  while (isBlank(json.charCodeAt(start))) start++
  if (json[start] !== ':') return false
  start++
  while (isBlank(json.charCodeAt(start))) start++
  if (json[start] !== '"') return false
  const end = json.indexOf('"', start + 1)
  const text = json.slice(start + 1, end < 0 ? json.length : end)
  return text.includes('\\') || botOf(text) !== undefined
}

function isBlank(code: number): boolean {
  return code === 32 || (code >= 9 && code <= 13)
}

type Json = Readonly<Record<string, unknown>>

function claimAt(json: string): Bot | undefined {
  const root = objectOf(parsed(json))
  for (const holder of [root, ...AGENT_PARENTS.flatMap((name) => nested(root[name]))]) {
    for (const key of AGENT_KEYS) {
      const text = holder[key]
      if (typeof text === 'string') return botOf(text)
    }
  }
  return undefined
}

function nested(value: unknown): Json[] {
  const parent = objectOf(value)
  return [parent, objectOf(parent.context)]
}

function objectOf(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return undefined
  }
}
