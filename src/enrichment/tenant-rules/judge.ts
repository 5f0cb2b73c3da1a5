import { ATTRIBUTES } from '../../../schemas/attributes.ts'
import type { TenantRules } from '../../../schemas/tenant-rules.ts'
import type { Lookup } from '../../lookup/lookup.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enricher, Enrichment } from '../../pipeline/event/enrichment.ts'
import { flatText } from '../../pipeline/event/row.ts'
import { enrichmentOf } from '../answers/answer.ts'
import { BoundedCache } from '../bounded-cache.ts'
import { companyIdOf } from '../rules/company-id.ts'
import { FILTERS, RuleSet, type Verdict } from './rule-set.ts'

/** What a tenant's rules make of an answer; the answer itself where none holds. The one place that decides it. */
export function judged(enrichment: Enrichment, address: Address, rules: RuleSet): Enrichment {
  const verdict = rules.find(address, enrichment)
  return verdict === undefined ? enrichment : variantOf(enrichment, verdict)
}

/** A lookup as an event with its address is judged for a tenant. */
export interface JudgedLookup {
  readonly lookup: Lookup
  /** The rule that decided; undefined: none did. */
  readonly rule: string | undefined
}

/** As `judged`, with all that a lookup tells. */
export function judgedLookup(lookup: Lookup, address: Address, rules: RuleSet | undefined): JudgedLookup {
  if (rules === undefined) return { lookup, rule: undefined }
  const { noise, rule, companyId, data } = judged(enrichmentOf(plain(lookup)), address, rules)
  if (rule === undefined) return { lookup, rule }
  const { business_name, org_name, as_name } = lookup.provenance
  const name = business_name ?? org_name ?? as_name
  const provenance = { ...lookup.provenance, ...(name && data.business_name && { business_name: name }) }
  const ordered = Object.fromEntries(ATTRIBUTES.flatMap((key) => (data[key] === undefined ? [] : [[key, data[key]]])))
  return { lookup: { ...lookup, noise, companyId, data: ordered, provenance }, rule }
}

/** The rules of a tenant; undefined: it has none, and pays nothing for them. */
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
/**
 * By what they say: a tenant's record is read anew for each of its keys and each chunk of a batch job, and the most rules that
 * it may have take some 15 ms to read.
 */
const known = new BoundedCache<string, RuleSet>(64)

/** Answers for a tenant: the same `enricher` when it has no rules. */
export function tenantEnricher(enricher: Enricher, tenant: TenantRules): Enricher {
  const rules = ruleSetOf(tenant)
  if (rules === undefined) return enricher
  return { enrich: (address) => judged(enricher.enrich(address), address, rules) }
}

/** Equal answers that the same rule decides are one object, as answers are. */
const variants = new WeakMap<Enrichment, Map<string, Enrichment>>()
/** An answer that so many rules have decided begins anew: rules are many tenants'. */
const VARIANTS_MAX = 64

function variantOf(enrichment: Enrichment, verdict: Verdict): Enrichment {
  let known = variants.get(enrichment)
  if (known === undefined) {
    known = new Map()
    variants.set(enrichment, known)
  }
  let variant = known.get(verdict.rule)
  if (variant === undefined) {
    variant = decided(enrichment, verdict)
    if (known.size >= VARIANTS_MAX) known.clear()
    known.set(verdict.rule, variant)
  }
  return variant
}

function decided(enrichment: Enrichment, { kind, rule }: Verdict): Enrichment {
  const filteredAs = FILTERS[kind]
  if (filteredAs !== undefined) return named({ ...enrichment, noise: true, filteredAs }, rule)
  if (kind === 'never-noise') return named(enrichment.noise ? asOrganisation(enrichment) : enrichment, rule)
  return named(enrichmentOf({ ...plain(enrichment), noise: false, companyId: '' }), rule)
}

function named(enrichment: Enrichment, rule: string): Enrichment {
  const answerJson = flatText(enrichment.answerJson, ',"rule":', JSON.stringify(rule))
  return Object.freeze({ ...enrichment, answerJson, rule })
}

/** Noise has no account of its own making: what is called none has one like every organisation. */
function asOrganisation(enrichment: Enrichment): Enrichment {
  const { companyId, data } = enrichment
  const name = data.business_name ?? data.org_name ?? data.as_name
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
