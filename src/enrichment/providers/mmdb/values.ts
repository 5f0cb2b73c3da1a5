import { ASN_MAX } from '../../addresses/network.ts'
import { fieldText } from '../../field-text.ts'
import { isNotKnown, isNotKnownName, isNotKnownPlace, knownCountryCode } from '../../rules/not-known.ts'

/** A path into a record: `traits.user_type`, `subdivisions.0.names.en`. */
export type Path = readonly string[]

export function pathOf(text: string): Path {
  return text.split('.')
}

/** The value at a path; undefined when it does not exist. Reads own members only. */
export function valueAt(record: unknown, path: Path): unknown {
  let value = record
  for (const step of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Record<string, unknown>)[step]
  }
  return value
}

/** Text, unless it means "unknown". */
export function asText(value: unknown): string | undefined {
  return asTextUnless(isNotKnown, value)
}

/** Accepts names of cities and regions. @param country code or name; undefined when unknown */
export function asPlaceIn(country: string | undefined): (value: unknown) => string | undefined {
  return (value) => asTextUnless((text) => isNotKnownPlace(text, country), value)
}

function asTextUnless(isNothing: (text: string) => boolean, value: unknown): string | undefined {
  if (typeof value === 'number') return String(value)
  if (typeof value !== 'string') return undefined
  // Before a rule looks at it: one text of an MMDB can have 16 MB.
  const text = fieldText(value.trim())
  return text === '' || isNothing(text) ? undefined : text
}

/** The name of an organisation, a network or an autonomous system. */
export function asNamed(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined || isNotKnownName(text) ? undefined : text
}

/** `13335`, `"13335"` or `"AS13335"`; 0 means none. */
export function asAsn(value: unknown): number | undefined {
  const asn = typeof value === 'string' ? Number(value.trim().replace(/^as/i, '') || Number.NaN) : Number(value)
  return Number.isInteger(asn) && asn >= 1 && asn <= ASN_MAX ? asn : undefined
}

/** A finite number, or its text. */
export function asNumber(value: unknown): number | undefined {
  if (typeof value === 'string' && value.trim() === '') return undefined
  if (typeof value !== 'number' && typeof value !== 'string') return undefined
  const number = Number(value)
  return Number.isFinite(number) ? number : undefined
}

/** True for `true`, `"true"`, `1` and `"1"`. */
export function asFlag(value: unknown): true | undefined {
  return value === true || value === 1 || value === '1' || (typeof value === 'string' && value.toLowerCase() === 'true')
    ? true
    : undefined
}

const CODE = /^[a-z]{2}$/i

/** A country code in upper case, from two letters. Some vendors put codes and names under the same key. */
export function asCode(value: unknown): string | undefined {
  const code = typeof value === 'string' ? value.trim() : ''
  return CODE.test(code) ? knownCountryCode(code) : undefined
}

/** Text that is not a two-letter code. */
export function asName(value: unknown): string | undefined {
  const text = asText(value)
  return text === undefined || CODE.test(text) ? undefined : text
}

const CONTINENTS: Readonly<Record<string, string>> = {
  AF: 'Africa',
  AN: 'Antarctica',
  AS: 'Asia',
  EU: 'Europe',
  NA: 'North America',
  OC: 'Oceania',
  SA: 'South America',
}

/** The name of a continent, from its name or its two-letter code. */
export function asContinent(value: unknown): string | undefined {
  const text = asText(value)
  return text !== undefined && CODE.test(text) ? CONTINENTS[text.toUpperCase()] : text
}
