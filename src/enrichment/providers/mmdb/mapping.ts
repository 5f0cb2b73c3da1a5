import { ATTRIBUTES, type Attribute } from '../../../../schemas/attributes.ts'
import { InputError } from '../../../run/errors.ts'
import { describeJsonError } from '../../../run/json-error.ts'
import type { ProviderKind } from '../provider.ts'
import { FIELDS, type Field, type FieldPaths } from './fields.ts'
import { FLAGS, type Shape } from './recognise.ts'
import { pathOf } from './values.ts'

/** Attributes that are derived and not read from a record. */
const DERIVED: ReadonlySet<Attribute> = new Set(['network', 'etld_plus_one'])

/** More fields that a mapping may name, for the classifier. */
const EVIDENCE: Readonly<Record<string, Field>> = {
  type: 'orgType',
  as_domain: 'asDomain',
  as_type: 'asType',
  isp: 'isp',
  connection_type: 'connectionType',
  is_hosting: 'isHosting',
  is_vpn: 'isAnonymousVpn',
  is_tor: 'isTor',
  is_proxy: 'isProxy',
  is_anonymous: 'isAnonymous',
  is_mobile: 'isMobile',
  is_satellite: 'isSatellite',
}

/** Names that a mapping may use, in the order of messages. */
export const MAPPABLE: readonly string[] = [
  ...ATTRIBUTES.filter((attribute) => !DERIVED.has(attribute)),
  ...Object.keys(EVIDENCE),
]

/**
 * Parses a mapping file: `{"attribute": "path.to.field"}`, or a list of paths.
 * @throws InputError with the reason
 */
export function parseMapping(text: string): FieldPaths {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    throw new InputError(`the mapping is ${describeJsonError(text)}`)
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) {
    throw new InputError('the mapping is not a JSON object')
  }
  const paths: FieldPaths = {}
  for (const [name, value] of Object.entries(json)) {
    if (!MAPPABLE.includes(name)) {
      throw new InputError(`the mapping has an unknown name "${name}": must be one of ${MAPPABLE.join(', ')}`)
    }
    const list: unknown[] = Array.isArray(value) ? value : [value]
    if (list.length === 0 || !list.every((path) => typeof path === 'string' && path !== '')) {
      throw new InputError(`the mapping of "${name}" must be a path such as "company.name"`)
    }
    paths[EVIDENCE[name] ?? fieldOf(name)] = (list as string[]).map(pathOf)
  }
  if (Object.keys(paths).length === 0) throw new InputError('the mapping is empty')
  return paths
}

/** `postal_code` → `postalCode`. */
function fieldOf(attribute: string): Field {
  const name = attribute.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  const field = FIELDS.find((candidate) => candidate === name)
  if (field === undefined) throw new Error(`no field for ${attribute}`)
  return field
}

/** The shape of a mapping alone, or a recognised shape with the paths of a mapping. */
export function mappedShape(shape: Shape | undefined, mapping: FieldPaths, databaseType: string): Shape {
  return {
    kind: shape?.kind ?? kindOf(mapping),
    recognisedAs: shape === undefined ? `${databaseType} as mapped` : `${shape.recognisedAs}, as mapped`,
    subject: shape?.subject ?? 'address',
    paths: { ...shape?.paths, ...mapping },
  }
}

function kindOf(mapping: FieldPaths): ProviderKind {
  const has = (...fields: readonly Field[]) => fields.some((field) => mapping[field] !== undefined)
  if (has('businessName', 'orgName', 'industry', 'industryCategory', 'description', 'classification', 'orgType')) {
    return 'company'
  }
  if (has('isp')) return 'isp'
  if (has('asn', 'asName', 'asDomain', 'asType')) return 'asn'
  if (has('domain', 'hostname')) return 'domain'
  if (has('connectionType')) return 'connection'
  return has(...FLAGS) ? 'anonymity' : 'location'
}
