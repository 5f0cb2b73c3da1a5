import { clip } from '../../addresses/network.ts'
import { TimeSlice } from '../../time-slice.ts'
import type { ProviderKind } from '../provider.ts'
import { type Field, type FieldPaths, pathsFor, type Subject } from './fields.ts'
import { type Path, valueAt } from './values.ts'

/** The structure of a file's records. */
export interface Shape {
  readonly kind: ProviderKind
  /** Vendor and product. */
  readonly recognisedAs: string
  readonly subject: Subject
  readonly paths: FieldPaths
}

/** Members named in messages, each clipped: a name can have 16 MB. */
const KEYS_NAMED_MAX = 100

/** A file whose records have no known members. */
interface UnknownShape {
  readonly databaseType: string
  /** Paths of members of the sample records, sorted, at most `KEYS_NAMED_MAX`. */
  readonly keys: readonly string[]
}

/**
 * Recognises a file by the members of its records. `database_type` only breaks ties, because vendors share tools and names.
 * A member counts if any sample has it, because many files omit false and empty values. Yields to other work.
 * @param samples decoded records
 * @param statedVendor undefined: derived from `databaseType` and members
 */
export async function recognise(
  databaseType: string,
  samples: readonly unknown[],
  statedVendor?: string,
): Promise<Shape | UnknownShape> {
  const keys = memberPaths(samples)
  const subject = subjectOf(databaseType, keys)
  const paths = await withValues(pathsFor(subject), samples)
  const kind = kindOf(databaseType, subject, paths, keys)
  if (kind === undefined) return { databaseType, keys: [...keys].sort().slice(0, KEYS_NAMED_MAX).map(clip) }
  const vendor = statedVendor ?? vendorOf(databaseType, keys)
  const product = (vendor === 'IPinfo' ? ipinfoBundle(keys) : undefined) ?? productOf(databaseType, kind)
  return { kind, subject, paths, recognisedAs: `${vendor} ${product}` }
}

export function isUnknown(shape: Shape | UnknownShape): shape is UnknownShape {
  return 'databaseType' in shape
}

/** Most members that are collected. */
const KEYS_MAX = 60

/** Paths of all members of the samples: `traits.user_type`. Skips names in other languages than English. */
function memberPaths(samples: readonly unknown[]): Set<string> {
  const paths = new Set<string>()
  const visit = (value: unknown, prefix: string, depth: number) => {
    if (typeof value !== 'object' || value === null || Buffer.isBuffer(value) || depth > 3) return
    for (const [key, member] of Object.entries(value)) {
      if (paths.size >= KEYS_MAX) return
      if (prefix.endsWith('names.') && key !== 'en') continue
      paths.add(`${prefix}${key}`)
      visit(member, `${prefix}${key}.`, depth + 1)
    }
  }
  for (const sample of samples) visit(sample, '', 0)
  return paths
}

function subjectOf(databaseType: string, keys: ReadonlySet<string>): Subject {
  const has = (key: string) => keys.has(key)
  if (has('datacenter')) return 'hosting'
  if (has('company') && (has('type') || has('netname') || has('domain'))) return 'company'
  if (has('name') && (has('as_name') || has('as_type') || /company/i.test(databaseType))) return 'company'
  if (has('asn') && !has('as_name') && (has('name') || has('org') || has('descr'))) return 'as'
  return 'address'
}

/** The paths that have a value in at least one sample. */
async function withValues(paths: FieldPaths, samples: readonly unknown[]): Promise<FieldPaths> {
  const found: FieldPaths = {}
  const slice = new TimeSlice()
  for (const [field, candidates] of Object.entries(paths) as [Field, readonly Path[]][]) {
    if (slice.isOver) await slice.next()
    const leading = candidates.filter((path) => samples.some((sample) => isScalar(valueAt(sample, path))))
    if (leading.length > 0) found[field] = leading
  }
  return found
}

function isScalar(value: unknown): boolean {
  return value !== undefined && value !== null && typeof value !== 'object'
}

/** Flags about hosting and anonymity. */
export const FLAGS: readonly Field[] = ['isHosting', 'isAnonymousVpn', 'isTor', 'isProxy', 'isAnonymous']
const LOCATION: readonly Field[] = ['continent', 'country', 'countryCode', 'region', 'city', 'latitude', 'timezone']

/** The kind of a file, by its most valuable field. */
function kindOf(
  databaseType: string,
  subject: Subject,
  paths: FieldPaths,
  keys: ReadonlySet<string>,
): ProviderKind | undefined {
  const has = (...fields: readonly Field[]) => fields.some((field) => paths[field] !== undefined)
  const compatible = /\(compat=([^()]+)\)/.exec(databaseType)?.[1] ?? databaseType
  if (databaseType.startsWith('ipid')) return Object.keys(paths).length > 0 ? 'table' : undefined
  if (subject === 'company') return 'company'
  if (subject === 'hosting') return 'anonymity'
  const enterprise = /enterprise/i.test(compatible) || keys.has('traits.organization') || keys.has('traits.user_type')
  if (has('businessName', 'industry') || (enterprise && has('orgName', 'isp', 'domain', 'orgType', 'asn'))) {
    return 'company'
  }
  if (has('isp', 'orgName')) return 'isp'
  if (has('asn', 'asName')) return 'asn'
  if (has('domain', 'hostname')) return 'domain'
  if (has(...LOCATION)) return 'location'
  if (has('connectionType', 'orgType', 'isMobile', 'isSatellite')) return 'connection'
  if (has(...FLAGS)) return 'anonymity'
  return undefined
}

/** The vendor by `database_type`, then by members, because tools of IPinfo write its name into files of others. */
function vendorOf(databaseType: string, keys: ReadonlySet<string>): string {
  if (/^ipid\b/i.test(databaseType)) return 'ipid'
  if (databaseType === 'iptoasn') return 'iptoasn'
  if (/^dbip/i.test(databaseType)) return 'DB-IP'
  if (/^iplocate/i.test(databaseType)) return 'IPLocate'
  if (/^ip2(lite|location|proxy)/i.test(databaseType)) return 'IP2Location'
  if (/^(geoip|geolite)/i.test(databaseType)) return 'MaxMind'
  const apiIs = ['datacenter', 'company', 'descr', 'abuser_score', 'netname']
  if (apiIs.some((key) => keys.has(key))) return 'ipapi.is'
  if (/^ipinfo /i.test(databaseType)) return 'IPinfo'
  return 'by its fields:'
}

/** IPinfo's bundles of AS and location, by the members that each adds to the smaller one. */
function ipinfoBundle(keys: ReadonlySet<string>): string | undefined {
  const has = (...names: readonly string[]) => names.some((name) => keys.has(name))
  if (!has('asn') || !has('as_name') || !has('country_code') || has('name', 'type')) return undefined
  if (has('is_vpn', 'is_proxy', 'is_tor', 'is_relay')) return 'Plus'
  if (has('city', 'is_hosting', 'is_mobile', 'is_anonymous', 'is_satellite', 'is_anycast')) return 'Core'
  return 'Lite'
}

const PRODUCTS: Readonly<Record<ProviderKind, string>> = {
  table: 'organisations',
  noise: 'noise',
  company: 'company',
  registry: 'registry',
  isp: 'ISP',
  asn: 'ASN',
  domain: 'domain',
  location: 'location',
  connection: 'connection type',
  anonymity: 'anonymity',
  rdns: 'reverse DNS',
}

function productOf(databaseType: string, kind: ProviderKind): string {
  const product = /^(?:geoip2|geolite2|geoip|geolite)-(.+)$/i.exec(databaseType)?.[1]
  return product === undefined ? PRODUCTS[kind] : product.replaceAll('-', ' ')
}
