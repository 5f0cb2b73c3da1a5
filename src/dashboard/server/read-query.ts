import type { TObject, TSchema } from 'typebox'
import { parseQuery, single } from '../../http/route/query.ts'

/**
 * Reads a query as a schema has it: numbers and booleans from their text, lists from repeated names. What is no number stays
 * text, and what is unknown stays, for the schema to refuse.
 */
export function readQuery(text: string, schema: TObject): Record<string, unknown> {
  const query = parseQuery(text)
  // A name such as `__proto__` is unknown, too.
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
