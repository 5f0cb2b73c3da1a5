import type { TObject, TSchema } from 'typebox'
import { parseQuery, single } from '../../http/route/query.ts'

/**
 * Converts a query by a schema: numbers and booleans from text, lists from repeated names. Leaves invalid numbers and unknown
 * names as they are, so that the schema refuses them.
 */
export function readQuery(text: string, schema: TObject): Record<string, unknown> {
  const query = parseQuery(text)
  // Without a prototype, `__proto__` is an unknown name like others.
  const value: Record<string, unknown> = Object.create(null)
  for (const [name, values] of query) {
    const property = schema.properties[name] as (TSchema & { type?: string }) | undefined
    value[name] = property?.type === 'array' ? [...values] : converted(single(query, name)!, property?.type)
  }
  return value
}

function converted(text: string, type: string | undefined): unknown {
  if ((type === 'number' || type === 'integer') && /^-?\d{1,15}(?:\.\d{1,9})?$/.test(text)) return Number(text)
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true'
  return text
}
