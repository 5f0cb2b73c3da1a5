import { cutText } from '../../run/cut-text.ts'
import { unknownName } from '../../run/nearest-name.ts'
import { HttpError } from '../engine/http-error.ts'
import type { Operation } from './operation.ts'
import { schemaError } from './schema.ts'

/** Values by name, in the order of the query. Names keep their dots. */
export type Query = ReadonlyMap<string, readonly string[]>

/**
 * Reads the query: `application/x-www-form-urlencoded`. A name without `=` has the value `''`.
 * @throws HttpError 400 when its percent-encoding is broken or not UTF-8
 */
export function parseQuery(query: string): Query {
  const values = new Map<string, string[]>()
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decodeQueryPart(equals < 0 ? pair : pair.slice(0, equals))
    const value = equals < 0 ? '' : decodeQueryPart(pair.slice(equals + 1))
    const known = values.get(name)
    if (known) known.push(value)
    else values.set(name, [value])
  }
  return values
}

/**
 * Refuses a parameter that an operation does not have: a misspelt option would change nothing, without a sign. An operation without
 * parameters has none that could be misspelt.
 * @throws HttpError 422 with the nearest name
 */
export function assertParameters({ parameters = [], takesTerms = false }: Operation, query: Query): void {
  const known = parameters.flatMap((parameter) => (parameter.in === 'query' ? [parameter.name] : []))
  if (known.length === 0 || takesTerms) return
  const unknown = [...query.keys()].filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  throw schemaError(unknown.map((name) => ({ path: cutText(name, NAME_MAX_CHARS), message: unknownName(name, known) })))
}

/** Longest part of an unknown name that an error repeats. */
const NAME_MAX_CHARS = 100

/** The value of a parameter that may be given once. @throws HttpError 422 when it is given more often */
export function single(query: Query, name: string): string | undefined {
  const values = query.get(name) ?? []
  if (values.length > 1) throw schemaError([{ path: name, message: 'must be given once' }])
  return values[0]
}

/**
 * A whole number from 1 to `max`, at most 9,999.
 * @param standard when it is not given
 * @throws HttpError 422
 */
export function wholeOf(name: string, text: string | undefined, standard: number, max: number): number {
  if (text === undefined) return standard
  const value = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (value < 1 || value > max) throw schemaError([{ path: name, message: `must be a whole number from 1 to ${max}` }])
  return value
}

/** Decodes a part of a query. @throws HttpError 400 when its percent-encoding is broken or not UTF-8 */
export function decodeQueryPart(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '))
  } catch {
    throw new HttpError('malformed_url', `the query is not percent-encoded UTF-8: ${JSON.stringify(text.slice(0, 64))}`)
  }
}
