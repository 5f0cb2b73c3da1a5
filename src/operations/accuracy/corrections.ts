import {
  CORRECTION_KINDS,
  type CorrectionKind,
  type Corrections,
  type MadeCorrection,
} from '../../../schemas/data-corrections.ts'
import type { TenantRules } from '../../../schemas/tenant-rules.ts'
import { ruleSetOf } from '../../enrichment/judge.ts'
import { nameKey } from '../../enrichment/rules/company-id.ts'
import { ownLabel } from '../../enrichment/rules/domain.ts'
import { type NetworkHolder, type Rule, readRule } from '../../enrichment/tenant-rules/rule.ts'
import { TimeSlice } from '../../enrichment/time-slice.ts'
import type { Lookup } from '../../lookup/lookup.ts'
import { type Address, parseAddress } from '../../pipeline/event/address.ts'
import { quote } from '../../stores/clickhouse/quote.ts'
import { CORRECTIONS, EVENTS, HIDDEN } from '../../stores/clickhouse/tables.ts'
import type { AskRows } from './ask-rows.ts'
import { verdictOf } from './attribution.ts'
import { dataSetBy, nameProviderOf } from './data-set.ts'
import { namedByRule } from './named-by-rule.ts'
import { NO_DATA_SET } from './quality.ts'

/** Newest corrections of companies that are read. With the rules of a tenant, it bounds the lookups. */
const CORRECTIONS_MAX = 1_000
/** Companies whose data set is looked up, chosen by a hash of their ids. */
const COMPANIES_MAX = 5_000

/** Fields of corrections that say that data were wrong. */
const FIELDS: Readonly<Record<string, CorrectionKind>> = { hidden: 'hidden', merged_into: 'merged', name: 'renamed' }

const COMPANIES_SQL = `
  SELECT company_id, argMax(ip, received_at) AS ip, count() OVER () AS total
  FROM ${EVENTS.name}
  WHERE tenant_id = {tenant:String} AND toDate32(timestamp) >= {since:Date32} AND company > 0
  GROUP BY company_id
  ORDER BY sipHash64(company_id), company_id
  LIMIT ${COMPANIES_MAX}`

/** Corrections in effect, the newest first. */
const CORRECTIONS_SQL = `
  SELECT company_id, field, argMax(log.value, (log.at, log.change_id)) AS held, count() OVER () AS total
  FROM ${CORRECTIONS} AS log
  WHERE tenant_id = {tenant:String} AND company_id > '' AND field IN (${Object.keys(FIELDS).map(quote).join()})
  GROUP BY company_id, field
  HAVING held != ''
  ORDER BY max(log.at) DESC, company_id, field
  LIMIT ${CORRECTIONS_MAX}`

/** An address of each company or AS, as stored last: rules may have hidden its events. */
const addressesSql = (key: 'company_id' | 'asn', shown: string, hidden: string) => `
  SELECT toString(key) AS key, argMax(ip, at) AS ip
  FROM
  (
    SELECT ${key} AS key, argMax(ip, received_at) AS ip, max(received_at) AS at
    FROM ${EVENTS.name} WHERE tenant_id = {tenant:String} AND ${shown} GROUP BY ${key}
    UNION ALL
    SELECT ${key} AS key, argMax(ip, received_at) AS ip, max(received_at) AS at
    FROM ${HIDDEN} WHERE tenant_id = {tenant:String} AND ${hidden} GROUP BY ${key}
  )
  GROUP BY key`

interface Asked {
  readonly ask: AskRows
  readonly tenant: TenantRules & { readonly id: string }
  /** First UTC day of the events of `companies`. */
  readonly since: string
  /** By today's data, without the rules of the tenant. */
  readonly lookup: (address: Address) => Lookup
}

/**
 * Counts the corrections of a tenant in effect, by their kind and the data set that had given the corrected answer: rules `is`,
 * `always-noise` and `never-noise`, and hidden, merged and renamed companies. One lookup for each; a network is looked up at its first address.
 * Rejects as `ask` does.
 */
export async function correctionsByDataSet({ ask, tenant, since, lookup }: Asked): Promise<Corrections> {
  const parameters = { tenant: tenant.id, since }
  const rules = (tenant.rules ?? [])
    .map(readRule)
    .filter((rule) => typeof rule !== 'string')
    .filter(isCorrection)
  const places = rules.map(placeOf)
  const corrected = await ask<{ company_id: string; field: string; total: number }>(CORRECTIONS_SQL, parameters)
  const ofRules = (of: Place[0]) => places.flatMap((place) => (place[0] === of ? [place[1]] : []))
  const companies = [...new Set([...corrected.map(({ company_id }) => company_id), ...ofRules('company_id')])]
  const systems = ofRules('asn')
  const addressOf = new Map<string, string>()
  const find = async (key: 'company_id' | 'asn', values: readonly string[], shown: string, hidden: string) => {
    if (values.length === 0) return
    const rows = await ask<{ key: string; ip: string }>(addressesSql(key, shown, hidden), parameters)
    for (const row of rows) addressOf.set(`${key} ${row.key}`, row.ip)
  }
  const ids = companies.map(quote)
  await find(
    'company_id',
    ids,
    `company IN (${ids.map((id) => `sipHash64(${id})`).join()})`,
    `company_id IN (${ids.join()})`,
  )
  await find('asn', systems, `asn IN (${systems.join()})`, `asn IN (${systems.join()})`)
  const named = await ask<{ company_id: string; ip: string; total: number }>(COMPANIES_SQL, parameters)

  const slice = new TimeSlice()
  const isByRule = namedByRule(ruleSetOf(tenant))
  const bySet = dataSetBy(lookup)
  const dataSetOf = (companyId: string, ip: string) => {
    // The network of a truncated address comes before its pseudonym.
    const group = { place: ip.startsWith('#') ? ip : ip.split('#')[0]!, companyId }
    return isByRule(group) ? NO_DATA_SET.rule : bySet(group)
  }
  const table = new Tally()
  for (const { company_id, ip } of named) {
    if (slice.isOver) await slice.next()
    table.company(dataSetOf(company_id, ip))
  }
  for (const { company_id, field } of corrected) {
    if (slice.isOver) await slice.next()
    const ip = addressOf.get(`company_id ${company_id}`)
    const data_set = ip === undefined ? NO_DATA_SET.gone : dataSetOf(company_id, ip)
    table.correction({ data_set, kind: FIELDS[field]!, company_id, rule: '' })
  }
  for (const [i, rule] of rules.entries()) {
    if (slice.isOver) await slice.next()
    const [of, value] = places[i]!
    table.correction(judgedRule(rule, of === 'address' ? value : addressOf.get(`${of} ${value}`), lookup))
  }
  const left_out = (corrected[0]?.total ?? 0) - corrected.length
  return { since, ...table.answer(), companies_read: named.length, companies: named[0]?.total ?? 0, left_out }
}

/** Whether a rule says that data were wrong. */
const isCorrection = ({ kind }: Rule) => kind !== 'own' && kind !== 'keep'

/** Where the answer that a rule corrects is looked up: at an address, or at that of the last event of a company or an AS. */
type Place = readonly [of: 'address' | 'company_id' | 'asn', value: string]

function placeOf({ subject, text }: Rule): Place {
  if (subject.of === 'organisation') return ['company_id', subject.id]
  const [, network = ''] = text.split(' ')
  return network.startsWith(AS) ? ['asn', network.slice(AS.length)] : ['address', network.split(/[-/]/)[0]!]
}

const AS = 'AS'

/** The answer of the data that a rule corrects. @param ip undefined: no event is stored */
function judgedRule(rule: Rule, ip: string | undefined, lookup: (address: Address) => Lookup): MadeCorrection {
  const { kind, subject, text } = rule
  const about = subject.of === 'organisation' ? subject.id : ''
  const unseen = { kind: kind === 'always-noise' ? 'shown' : 'missing', company_id: about, rule: text } as const
  if (ip === undefined) return { ...unseen, data_set: NO_DATA_SET.gone }
  const address = parseAddress(ip)
  if (address === undefined) return { ...unseen, data_set: NO_DATA_SET.masked }
  const found = lookup(address)
  const company = found.noise ? '' : found.companyId
  const made = { data_set: nameProviderOf(found) ?? NO_DATA_SET.none, company_id: about || company, rule: text }
  if (subject.of === 'holder') return { ...made, kind: kindOfHolder(subject, found, company) }
  const isKnown = kind === 'always-noise' ? company === '' : company !== ''
  return { ...made, kind: isKnown ? 'known' : unseen.kind }
}

/** @param company that the data name; `''` for none */
function kindOfHolder({ domain, name }: NetworkHolder, { data }: Lookup, company: string): CorrectionKind {
  if (company === '') return 'missing'
  const isRight =
    domain !== undefined && verdictOf({ companyId: company, domain: String(data.domain ?? '') }, domain) === 'right'
  if (isRight) return 'known'
  const wanted = [nameKey(name ?? ''), domain === undefined ? '' : nameKey(ownLabel(domain) ?? domain)]
  const found = [nameKey(String(data.business_name ?? '')), nameKey(ownLabel(company) ?? company)]
  if (!found.some((key) => key !== '' && wanted.includes(key))) return 'wrong'
  return domain === undefined ? 'known' : 'domain'
}

type Counts = Record<CorrectionKind, number>

/** Counts by data set. */
class Tally {
  readonly #companies = new Map<string, number>()
  readonly #kinds = new Map<string, Counts>()
  readonly #corrections: MadeCorrection[] = []

  company(dataSet: string): void {
    this.#companies.set(dataSet, (this.#companies.get(dataSet) ?? 0) + 1)
  }

  correction(made: MadeCorrection): void {
    this.#corrections.push(made)
    const counts =
      this.#kinds.get(made.data_set) ?? (Object.fromEntries(CORRECTION_KINDS.map((kind) => [kind, 0])) as Counts)
    counts[made.kind]++
    this.#kinds.set(made.data_set, counts)
  }

  /** Data sets with a correction, the most corrections first. */
  answer(): Pick<Corrections, 'data_sets' | 'corrections'> {
    const sumOf = (kinds: Counts) => Object.values(kinds).reduce((sum, count) => sum + count, 0)
    const data_sets = [...this.#kinds].map(([name, kinds]) => {
      return { name, companies: this.#companies.get(name) ?? 0, corrections: sumOf(kinds), kinds }
    })
    return {
      data_sets: data_sets.sort((a, b) => b.corrections - a.corrections || (a.name < b.name ? -1 : 1)),
      corrections: this.#corrections,
    }
  }
}
