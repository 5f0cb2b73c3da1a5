import { type Classification, STATED_CLASSIFICATIONS } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import { ASN_MAX, clip, type Network, parseNetwork } from '../../addresses/network.ts'
import { type Facts, makeFacts, type Scope } from '../../facts.ts'
import { domainIn, hostnameIn, registrableDomain } from '../../rules/domain.ts'
import type { Organisation } from '../../rules/evidence.ts'
import { isNotKnown, isNotKnownName, knownCountryCode } from '../../rules/not-known.ts'

/** Columns of an organisation table (schemas/README.md, Organisation tables). Only `network` is required. */
export const TABLE_COLUMNS = [
  'network',
  'business_name',
  'org_name',
  'hostname',
  'domain',
  'industry',
  'industry_category',
  'classification',
  'description',
  'asn',
  'as_name',
  'country_code',
] as const
export type TableColumn = (typeof TABLE_COLUMNS)[number]

/** The text of a row, without empty cells. */
export type RawRow = Partial<Record<TableColumn, string>>

/** A validated row. */
export interface OrganisationRow {
  readonly network: Network
  /** The other columns, validated and normalised. */
  readonly attributes: RowAttributes
}

/** Attributes that a table can state. */
export type RowAttributes = EnrichmentData & { classification?: Classification }

/** Validates a row. Returns the problem as text when it is invalid. */
export function readRow(row: RawRow): OrganisationRow | string {
  const { network: text, ...rest } = row
  if (text === undefined) return '`network` is missing'
  const network = parseNetwork(text)
  if (typeof network === 'string') return network
  const attributes = readAttributes(rest)
  return typeof attributes === 'string' ? attributes : { network, attributes }
}

/** Validates the columns other than `network`. Returns the problem as text when one is invalid. */
export function readAttributes(row: Omit<RawRow, 'network'>): RowAttributes | string {
  const attributes: RowAttributes = {}
  for (const [column, value] of Object.entries(row) as [Exclude<TableColumn, 'network'>, string][]) {
    const problem = setAttribute(attributes, column, value)
    if (problem !== undefined) return problem
  }
  return attributes
}

const NAMES: ReadonlySet<TableColumn> = new Set(['business_name', 'org_name', 'as_name'])

/** Returns the problem as text, if any. Skips values that mean "unknown". */
function setAttribute(
  attributes: RowAttributes,
  column: Exclude<TableColumn, 'network'>,
  value: string,
): string | undefined {
  if (isNotKnown(value) || (NAMES.has(column) && isNotKnownName(value))) return undefined
  if (column === 'asn') {
    if (/^(?:as)?0+$/i.test(value)) return undefined
    const asn = /^(?:as)?(\d{1,10})$/i.exec(value)?.[1]
    if (asn === undefined || Number(asn) < 1 || Number(asn) > ASN_MAX) return `"${clip(value)}" is not an AS number`
    attributes.asn = Number(asn)
  } else if (column === 'classification') {
    const classification = STATED_CLASSIFICATIONS.find((candidate) => candidate === value.toLowerCase())
    if (classification === undefined) {
      return `"${clip(value)}" is not a classification: ${STATED_CLASSIFICATIONS.join(', ')}`
    }
    attributes.classification = classification
  } else if (column === 'country_code') {
    if (!/^[a-z]{2}$/i.test(value)) return `"${clip(value)}" is not a country code of two letters`
    const code = knownCountryCode(value)
    if (code !== undefined) attributes.country_code = code
  } else if (column === 'domain' || column === 'hostname') {
    const name = column === 'domain' ? domainIn(value) : hostnameIn(value)
    if (name === undefined) return `"${clip(value)}" is not a ${column === 'domain' ? 'domain' : 'host name'}`
    attributes[column] = name
  } else {
    attributes[column] = value
  }
  return undefined
}

/** The organisation that a row names, if any. */
export function organisationIn(attributes: RowAttributes): Organisation | undefined {
  const name = attributes.business_name ?? attributes.org_name
  const { domain } = attributes
  if (name === undefined && domain === undefined) return undefined
  return {
    name: name as string | undefined,
    domain: domain === undefined ? undefined : (registrableDomain(String(domain)) ?? String(domain)),
  }
}

/** Turns attributes into facts for the merge and the classifier. */
export function rowFacts(
  attributes: RowAttributes,
  organisation: Organisation | undefined,
  scope: Scope = 'address',
): Facts {
  const { classification, ...data } = attributes
  const evidence = {
    asn: data.asn,
    asName: data.as_name,
    orgName: organisation?.name,
    domain: data.domain,
    hostname: data.hostname,
    explicit: classification,
  }
  const known = Object.fromEntries(Object.entries(evidence).filter(([, value]) => value !== undefined))
  return makeFacts(data, known, organisation, scope)
}
