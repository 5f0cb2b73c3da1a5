import { Type } from 'typebox'
import {
  ATTRIBUTE_SCHEMAS,
  ATTRIBUTES,
  type Attribute,
  type AttributeValues,
  INGEST_ATTRIBUTES,
} from '../attributes.ts'

/** The known attributes of an address. */
export const LookupData = objectOf(ATTRIBUTES, 'Attributes')

export const IngestEnrichment = objectOf(INGEST_ATTRIBUTES, 'EventAttributes')

function objectOf<A extends Attribute>(attributes: readonly A[], title: string) {
  const properties = attributes.map((name) => [name, Type.Optional(Type.Unsafe(ATTRIBUTE_SCHEMAS[name]))] as const)
  return Type.Unsafe<AttributeValues<A>>(Type.Object(Object.fromEntries(properties), { title }))
}
