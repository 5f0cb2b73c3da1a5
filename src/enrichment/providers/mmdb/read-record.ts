import { type Classification, STATED_CLASSIFICATIONS } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import { type Facts, makeFacts } from '../../facts.ts'
import { allocationIn } from '../../rules/allocation.ts'
import { domainIn } from '../../rules/domain.ts'
import type { Evidence, Organisation } from '../../rules/evidence.ts'
import type { Field, FieldPaths } from './fields.ts'
import type { Shape } from './recognise.ts'
import { asAsn, asCode, asContinent, asFlag, asName, asNamed, asNumber, asPlaceIn, asText, valueAt } from './values.ts'

/** Reads the records of one file. */
export type RecordReader = (record: unknown) => Facts | undefined

/** Reads only the AS number of a record, at a fraction of the cost. */
export type AsnReader = (record: unknown) => number | undefined

/** Reads the same number as `recordReader` puts into `evidence.asn`. */
export function asnReader(shape: Shape): AsnReader {
  return (record) => new FieldReader(record, shape.paths).one('asn', asAsn)
}

/** The reader for a shape. It returns undefined for records without known values. */
export function recordReader(shape: Shape): RecordReader {
  return (record) => {
    const read = new FieldReader(record, shape.paths)
    const data = locationIn(read)
    const asn = read.one('asn', asAsn)
    const asNameText = read.one('asName', asNamed)
    const isp = read.one('isp', asNamed)
    const businessName = read.one('businessName', asOrganisation)
    const orgName = read.one('orgName', asOrganisation)
    const domain = read.one('domain', domainText)
    // Only records about companies name the user of the address. Records about an ISP or AS name its carrier.
    const about = shape.kind === 'company' || shape.kind === 'table'
    assign(data, {
      business_name: businessName ?? (about ? orgName : undefined),
      org_name: orgName ?? (about ? businessName : undefined) ?? isp ?? asNameText,
      hostname: read.one('hostname', asText),
      domain,
      industry: read.one('industry', asText),
      industry_category: read.one('industryCategory', asText),
      description: read.one('description', asText),
      asn,
      as_name: asNameText,
    })
    const name = businessName ?? orgName
    const organisation: Organisation | undefined =
      about && (name ?? domain) !== undefined ? { name, domain } : undefined
    const evidence = evidenceOf(read, data, { isp, orgName: about ? name : (orgName ?? undefined), about })
    if (Object.keys(data).length === 0 && Object.keys(evidence).length === 0) return undefined
    return makeFacts(data, evidence, organisation)
  }
}

function locationIn(read: FieldReader): EnrichmentData {
  const data: EnrichmentData = {}
  const country = read.one('country', asName)
  const countryCode = read.one('countryCode', asCode)
  const asPlace = asPlaceIn(countryCode ?? country)
  assign(data, {
    continent: read.one('continent', asContinent),
    country,
    country_code: countryCode,
    region: read.one('region', asPlace),
    city: read.one('city', asPlace),
    postal_code: read.one('postalCode', asText),
    latitude: read.one('latitude', asNumber),
    longitude: read.one('longitude', asNumber),
    timezone: read.one('timezone', asText),
  })
  return data
}

function evidenceOf(
  read: FieldReader,
  data: EnrichmentData,
  names: { isp: string | undefined; orgName: string | undefined; about: boolean },
): Evidence {
  const evidence: Evidence = {}
  const asNameText = read.one('asName', asNamed) ?? names.isp
  const ownName = names.about || isAnother(names.orgName, names.isp, asNameText) ? names.orgName : undefined
  assign(evidence, {
    asn: read.one('asn', asAsn),
    asName: asNameText ?? (ownName === undefined ? names.orgName : undefined),
    ispName: names.about || ownName !== undefined ? undefined : names.isp,
    asDomain: read.one('asDomain', domainText),
    asType: read.one('asType', asText),
    orgName: ownName,
    domain: data.domain as string | undefined,
    hostname: read.one('hostname', asText),
    orgType: read.one('orgType', asText),
    connectionType: read.one('connectionType', asText) ?? connectionIn(read),
    ...flagsIn(read),
    allocation: read.one('orgName', asAllocation) ?? read.one('businessName', asAllocation),
    explicit: read.one('classification', asClassification),
  })
  return evidence
}

/** The connection type by flags, for vendors without one. */
function connectionIn(read: FieldReader): string | undefined {
  if (read.any('isMobile')) return 'Cellular'
  return read.any('isSatellite') ? 'Satellite' : undefined
}

/** Omits `isAnonymous` if a more precise flag is set: vendors also call rented machines anonymous. */
function flagsIn(
  read: FieldReader,
): Pick<Evidence, 'isHosting' | 'isAnonymousVpn' | 'isTor' | 'isProxy' | 'isAnonymous'> {
  const flags = {}
  assign<Evidence>(flags, {
    isHosting: read.any('isHosting'),
    isAnonymousVpn: read.any('isAnonymousVpn'),
    isTor: read.any('isTor'),
    isProxy: read.any('isProxy'),
  })
  if (Object.keys(flags).length === 0) assign<Evidence>(flags, { isAnonymous: read.any('isAnonymous') })
  return flags
}

/** Whether the name is that of a customer, not of the ISP itself. */
function isAnother(name: string | undefined, ...carriers: readonly (string | undefined)[]): boolean {
  if (name === undefined) return false
  return !carriers.some((carrier) => carrier?.toLowerCase() === name.toLowerCase())
}

/** Assigns the values that are not undefined. */
function assign<T extends object>(target: T, values: { [K in keyof T]?: T[K] | undefined }): void {
  for (const key in values) if (values[key] !== undefined) target[key] = values[key] as T[typeof key]
}

/** The name of an organisation. Text about the purpose of a block is not a name. */
function asOrganisation(value: unknown): string | undefined {
  const text = asNamed(value)
  return text === undefined || allocationIn(text) !== undefined ? undefined : text
}

function asAllocation(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined ? undefined : allocationIn(text)
}

function domainText(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined ? undefined : domainIn(text)
}

function asClassification(value: unknown): Classification | undefined {
  const text = asText(value)?.toLowerCase()
  return STATED_CLASSIFICATIONS.find((classification) => classification === text)
}

/** Fields of one record. */
class FieldReader {
  readonly #record: unknown
  readonly #paths: FieldPaths

  constructor(record: unknown, paths: FieldPaths) {
    this.#record = record
    this.#paths = paths
  }

  /** The first value that `as` accepts. */
  one<T>(field: Field, as: (value: unknown) => T | undefined): T | undefined {
    for (const path of this.#paths[field] ?? []) {
      const value = as(valueAt(this.#record, path))
      if (value !== undefined) return value
    }
    return undefined
  }

  /** True when any of the flags is set. In hosting ranges of ipapi.is, the name of the datacenter is the flag. */
  any(field: Field): true | undefined {
    for (const path of this.#paths[field] ?? []) {
      const value = valueAt(this.#record, path)
      if (asFlag(value) === true || (path[0] === 'datacenter' && asText(value) !== undefined)) return true
    }
    return undefined
  }
}
