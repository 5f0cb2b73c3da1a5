import { type Path, pathOf } from './values.ts'

/** The fields that ipid reads from records of any vendor. */
export const FIELDS = [
  'businessName',
  'orgName',
  'hostname',
  'domain',
  'industry',
  'industryCategory',
  'description',
  'classification',
  'orgType',
  'isp',
  'asn',
  'asName',
  'asDomain',
  'asType',
  'continent',
  'country',
  'countryCode',
  'region',
  'city',
  'postalCode',
  'latitude',
  'longitude',
  'timezone',
  'connectionType',
  'isHosting',
  'isAnonymousVpn',
  'isTor',
  'isProxy',
  'isAnonymous',
  'isMobile',
  'isSatellite',
] as const
export type Field = (typeof FIELDS)[number]

/** The paths of each field. The first path with a value wins; a flag is set if any path is. */
export type FieldPaths = Partial<Record<Field, readonly Path[]>>

/** Members with the same meaning in the files of all vendors. */
const PLAIN: Partial<Record<Field, readonly string[]>> = {
  businessName: ['business_name'],
  orgName: ['org_name', 'organization', 'traits.organization'],
  hostname: ['hostname'],
  domain: ['traits.domain'],
  industry: ['industry'],
  industryCategory: ['industry_category'],
  description: ['description'],
  classification: ['classification'],
  orgType: ['traits.user_type', 'user_type', 'usage_type'],
  isp: ['isp', 'traits.isp'],
  asn: ['autonomous_system_number', 'traits.autonomous_system_number', 'asn', 'as_number'],
  asName: ['autonomous_system_organization', 'traits.autonomous_system_organization', 'as_name', 'as_organization'],
  asDomain: ['as_domain'],
  asType: ['as_type'],
  continent: ['continent.names.en', 'continent_name', 'continent.code', 'continent', 'continent_code'],
  country: ['country.names.en', 'country_name', 'country'],
  countryCode: ['country.iso_code', 'country_code', 'country'],
  region: ['subdivisions.0.names.en', 'region', 'region_name', 'state1', 'subdivisions.0.iso_code'],
  city: ['city.names.en', 'city', 'city_name'],
  postalCode: ['postal.code', 'postal_code', 'postcode', 'zip_code', 'zip'],
  latitude: ['location.latitude', 'latitude', 'lat'],
  longitude: ['location.longitude', 'longitude', 'lng', 'lon'],
  timezone: ['location.time_zone', 'timezone', 'time_zone'],
  connectionType: ['connection_type', 'traits.connection_type'],
  isHosting: ['is_hosting_provider', 'is_hosting', 'hosting', 'traits.is_hosting_provider'],
  isAnonymousVpn: ['is_anonymous_vpn', 'is_vpn', 'vpn', 'traits.is_anonymous_vpn'],
  isTor: ['is_tor_exit_node', 'is_tor', 'tor', 'traits.is_tor_exit_node'],
  isProxy: [
    'is_public_proxy',
    'is_residential_proxy',
    'is_proxy',
    'is_relay',
    'proxy',
    'relay',
    'traits.is_public_proxy',
    'traits.is_residential_proxy',
  ],
  isAnonymous: ['is_anonymous', 'traits.is_anonymous'],
  isMobile: ['is_mobile'],
  isSatellite: ['is_satellite'],
}

/** Members whose meaning depends on the subject of the record. */
const AMBIGUOUS = {
  /** A company's record: IPinfo Company, ipapi.is company. */
  company: {
    businessName: ['name', 'company'],
    domain: ['domain'],
    orgType: ['type'],
  },
  /** An autonomous system's record. Its country is that of the registration, not of the address. */
  as: {
    asName: ['org', 'descr', 'name'],
    asDomain: ['domain'],
    asType: ['type'],
    continent: [],
    country: [],
    countryCode: [],
  },
  /** A hosting range: ipapi.is. */
  hosting: { orgName: ['datacenter'], domain: ['domain'], isHosting: ['datacenter'] },
  /** Any other record: a domain is the address's. */
  address: { domain: ['domain'] },
} as const satisfies Record<string, Partial<Record<Field, readonly string[]>>>
export type Subject = keyof typeof AMBIGUOUS

/** The paths of all fields in records about a subject. */
export function pathsFor(subject: Subject): FieldPaths {
  const ambiguous: Partial<Record<Field, readonly string[]>> = AMBIGUOUS[subject]
  const paths: FieldPaths = {}
  for (const field of FIELDS) {
    const plain = PLAIN[field] ?? []
    const own = ambiguous[field]
    const merged = own === undefined ? plain : own.length === 0 ? [] : [...plain, ...own]
    if (merged.length > 0) paths[field] = merged.map(pathOf)
  }
  return paths
}
