import type { LookupChoices, LookupRequest } from '../../../schemas/api/lookup.ts'
import type { LookupService } from '../../lookup/lookup.ts'
import type { FieldError } from '../../pipeline/event/validator.ts'
import { parseJson } from '../route/parse-json.ts'
import type { Query } from '../route/query.ts'
import { schemaError } from '../route/schema.ts'

/** Names of query parameters, by the type of their value. */
const TEXTS = ['ip', 'label'] as const
const NUMBERS = ['deadline_ms', 'quality_min'] as const
const LISTS = ['ips', 'fields', 'redact', 'providers.allow', 'providers.deny'] as const

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?$/i

/** The body of most lookups: one address, formatted as most languages do it. */
const PLAIN = /^\{"ip": ?"([\da-fA-F.:]+)"\}$/

/** Fields by name, nested ones with dots. Not validated yet. */
type Fields = Record<string, unknown>

/**
 * Merges body and query; the body wins, field by field. The body may be empty when the query has a field. Returns a value
 * that is not validated yet.
 * @throws HttpError 400 when the body is not JSON
 */
export function mergeRequest(text: string, query: Query): unknown {
  const fromQuery = queryFields(query)
  const isEmpty = Object.keys(fromQuery).length === 0
  const body = text === '' && !isEmpty ? {} : parseJson(text)
  if (isEmpty && !hasDottedNames(body)) return body
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return body
  return nest({ ...fromQuery, ...flatten(body as Fields) })
}

/** The request, if it has one address and nothing else; otherwise undefined, and `mergeRequest` must read it. */
export function plainRequest(text: string, query: string): LookupRequest | undefined {
  const ip = query === '' ? PLAIN.exec(text)?.[1] : undefined
  return ip === undefined ? undefined : { ip }
}

/** The fields that the query has. An empty list is left out; a repeated scalar stays a list, which fails validation. */
function queryFields(query: Query): Fields {
  const fields: Fields = {}
  for (const name of TEXTS) {
    const values = query.get(name)
    if (values) fields[name] = single(values)
  }
  for (const name of NUMBERS) {
    const value = single(query.get(name) ?? [])
    if (value !== undefined) fields[name] = typeof value === 'string' && NUMBER.test(value) ? Number(value) : value
  }
  for (const name of LISTS) {
    const names = (query.get(name) ?? []).flatMap((value) => value.split(',')).map((value) => value.trim())
    const given = names.filter((value) => value !== '')
    if (given.length > 0) fields[name] = given
  }
  return fields
}

function single(values: readonly string[]): string | readonly string[] | undefined {
  return values.length > 1 ? values : values[0]
}

function hasDottedNames(body: unknown): boolean {
  return typeof body === 'object' && body !== null && ('providers.allow' in body || 'providers.deny' in body)
}

/** Only `providers` has fields of its own. The schema refuses a value of another type. */
function flatten({ providers, ...rest }: Fields): Fields {
  if (providers === undefined) return rest
  if (typeof providers !== 'object' || providers === null || Array.isArray(providers)) return { ...rest, providers }
  const { allow, deny } = providers as Fields
  return {
    ...rest,
    ...(allow !== undefined && { 'providers.allow': allow }),
    ...(deny !== undefined && { 'providers.deny': deny }),
  }
}

function nest({ 'providers.allow': allow, 'providers.deny': deny, ...rest }: Fields): Fields {
  if (rest.providers !== undefined || (allow === undefined && deny === undefined)) return rest
  return { ...rest, providers: { ...(allow !== undefined && { allow }), ...(deny !== undefined && { deny }) } }
}

/** @throws HttpError 422 when a named provider does not exist; the error lists those that exist */
export function assertProviders({ providers }: LookupChoices, service: LookupService): void {
  if (providers === undefined) return
  const names = service.providerNames()
  const known = new Set(names)
  const errors: FieldError[] = []
  for (const list of ['allow', 'deny'] as const) {
    providers[list]?.forEach((name, i) => {
      if (known.has(name)) return
      errors.push({ path: `providers.${list}[${i}]`, message: `must be one of ${names.join(', ')}` })
    })
  }
  if (errors.length > 0) throw schemaError(errors)
}
