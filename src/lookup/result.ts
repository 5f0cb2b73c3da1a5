import { BULK_LIMITS } from '../../schemas/api/bulk.ts'
import type { LookupChoices } from '../../schemas/api/lookup.ts'
import { ATTRIBUTES, type Attribute, LOCATION_ATTRIBUTES } from '../../schemas/attributes.ts'
import { cutText } from '../run/cut-text.ts'
import type { Lookup, LookupOptions } from './lookup.ts'

/** Options shared by the results of one request. */
export interface ResultForm {
  readonly tenantId: string
  /** For `LookupService.lookup`. */
  readonly options: LookupOptions
  /** Allowed attributes of `data`, in order; undefined: all. */
  readonly attributes: readonly Attribute[] | undefined
  /** Results with a lower quality are `insufficient_quality`. */
  readonly qualityMin: number
}

/** Resolves the choices of a caller. Redaction wins over `fields`. */
export function resultForm(tenantId: string, choices: LookupChoices): ResultForm {
  const { providers, deadline_ms: deadlineMs, quality_min: qualityMin = 0 } = choices
  const attributes = attributesOf(choices)
  const hostname = choices.fields !== undefined && attributes?.includes('hostname') === true
  const options = { allow: providers?.allow, deny: providers?.deny, hostname, deadlineMs }
  return { tenantId, options, attributes, qualityMin }
}

function attributesOf({ fields, redact = [] }: LookupChoices): readonly Attribute[] | undefined {
  if (fields === undefined && redact.length === 0) return undefined
  const removed = new Set<string>(redact)
  if (removed.has('geo')) for (const attribute of LOCATION_ATTRIBUTES) removed.add(attribute)
  const wanted = new Set<string>(fields ?? ATTRIBUTES)
  return ATTRIBUTES.filter((attribute) => wanted.has(attribute) && !removed.has(attribute))
}

/**
 * The result of one address as JSON: an object of the schema `LookupResult`.
 * @param ip an address as the caller wrote it; it needs no JSON escapes
 * @param more further members, each with a comma before it
 */
export function resultJson(
  ip: string,
  lookup: Lookup,
  { tenantId, attributes, qualityMin }: ResultForm,
  more = '',
): string {
  const status = lookup.quality < qualityMin ? 'insufficient_quality' : 'ok'
  const data = attributes === undefined ? wholeData(lookup) : JSON.stringify(lookup.data, attributes as string[])
  const partial = lookup.partial.length === 0 ? '' : `,"partial":${JSON.stringify(lookup.partial)}`
  return (
    `{"ip":"${ip}","tenant_id":"${tenantId}","quality":${lookup.quality},"status":"${status}",` +
    `"data":${data}${partial}${more}}`
  )
}

/** The result of an input that is not an address. It repeats the first `BULK_LIMITS.ipMaxChars` characters. */
export function invalidAddressJson(ip: string): string {
  return `{"ip":${JSON.stringify(cutText(ip, BULK_LIMITS.ipMaxChars))},"status":"invalid_ip"}`
}

/** Equal lookups share one object while they are cached, so their data is serialised only once. */
const written = new WeakMap<Lookup, string>()

function wholeData(lookup: Lookup): string {
  let json = written.get(lookup)
  if (json === undefined) {
    json = JSON.stringify(lookup.data, ATTRIBUTES as unknown as string[])
    written.set(lookup, json)
  }
  return json
}
