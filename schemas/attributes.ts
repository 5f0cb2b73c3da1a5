import { CLASSIFICATIONS, type Classification } from './classification.ts'

/*
 * Plain JSON Schema and no TypeBox, which takes half a second to load: workers and the command line need these names and
 * check no requests. `api/attributes.ts` makes TypeBox of them.
 */

/** What can be known of an address, in the order in which answers list it. */
export const ATTRIBUTE_SCHEMAS = {
  business_name: { type: 'string', description: 'Name as people know it' },
  org_name: { type: 'string', description: 'Name as it is registered' },
  hostname: { type: 'string' },
  etld_plus_one: { type: 'string', description: 'Registrable domain of the hostname' },
  domain: { type: 'string', description: 'Domain of the organisation' },
  industry: { type: 'string' },
  industry_category: { type: 'string' },
  description: { type: 'string' },
  classification: { enum: CLASSIFICATIONS },
  asn: { type: 'integer', description: 'Number of the autonomous system' },
  as_name: { type: 'string' },
  network: { type: 'string', description: 'The network that is known, in CIDR notation' },
  continent: { type: 'string' },
  country: { type: 'string' },
  country_code: { type: 'string', description: 'ISO 3166-1 alpha-2' },
  region: { type: 'string' },
  city: { type: 'string' },
  postal_code: { type: 'string' },
  latitude: { type: 'number' },
  longitude: { type: 'number' },
  timezone: { type: 'string', description: 'IANA time zone' },
} as const

export type Attribute = keyof typeof ATTRIBUTE_SCHEMAS
export const ATTRIBUTES = Object.keys(ATTRIBUTE_SCHEMAS) as readonly Attribute[]

/** Attributes of the place, which `redact: ["geo"]` removes: the last ones. */
export const LOCATION_ATTRIBUTES = ATTRIBUTES.slice(ATTRIBUTES.indexOf('continent'))

/** What an answer of `/v1/ingest` tells of an address, in its order. */
export const INGEST_ATTRIBUTES = [
  'business_name',
  'org_name',
  'hostname',
  'industry',
  'industry_category',
  'classification',
] as const satisfies readonly Attribute[]

/** Values of attributes; what no provider knows is left out. */
export type AttributeValues<A extends Attribute = Attribute> = {
  [Name in A]?: ValueOf<(typeof ATTRIBUTE_SCHEMAS)[Name]>
}

type ValueOf<Schema> = Schema extends { enum: unknown }
  ? Classification
  : Schema extends { type: 'string' }
    ? string
    : number
