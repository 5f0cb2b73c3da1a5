import { CLASSIFICATIONS, type Classification } from './classification.ts'

/*
 * Plain JSON Schema, because TypeBox takes half a second to load: workers and the command line need these names but check no
 * requests. `api/attributes.ts` converts them to TypeBox.
 */

/** The attributes of an address, in the order of answers. */
export const ATTRIBUTE_SCHEMAS = {
  business_name: { type: 'string', description: 'Common name' },
  org_name: { type: 'string', description: 'Registered name' },
  hostname: { type: 'string' },
  etld_plus_one: { type: 'string', description: 'Registrable domain of the hostname' },
  domain: { type: 'string', description: 'Domain of the organisation' },
  industry: { type: 'string' },
  industry_category: { type: 'string' },
  description: { type: 'string' },
  classification: { enum: CLASSIFICATIONS },
  asn: { type: 'integer', description: 'Number of the autonomous system' },
  as_name: { type: 'string' },
  network: { type: 'string', description: 'The known network that contains the address, in CIDR notation' },
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

/** The attributes that `redact: ["geo"]` removes. */
export const LOCATION_ATTRIBUTES = ATTRIBUTES.slice(ATTRIBUTES.indexOf('continent'))

/** The attributes in an answer of `/v1/ingest`, in order. */
export const INGEST_ATTRIBUTES = [
  'business_name',
  'org_name',
  'hostname',
  'industry',
  'industry_category',
  'classification',
] as const satisfies readonly Attribute[]

/** Values of attributes; unknown ones are left out. */
export type AttributeValues<A extends Attribute = Attribute> = {
  [Name in A]?: ValueOf<(typeof ATTRIBUTE_SCHEMAS)[Name]>
}

type ValueOf<Schema> = Schema extends { enum: unknown }
  ? Classification
  : Schema extends { type: 'string' }
    ? string
    : number
