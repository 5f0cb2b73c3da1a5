import { CLASSIFICATIONS } from '../../schemas/classification.ts'
import { CHANNELS, type CompanyFilter, NOT_KNOWN } from '../../schemas/companies.ts'
import { InputError } from '../run/errors.ts'
import { nearestName } from '../run/nearest-name.ts'

/*
 * Values of filters that are one of a known list. A value that no company can have is a mistake, and an empty answer would hide it. Stored
 * segments are read without this check, because lists grow and shrink.
 */

const REGION_NAMES = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' })
const LETTERS = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ']

/** The English name of a code; undefined for one that is not in use, such as FX and UK, which Unicode names like the one in its place. */
function nameOf(code: string): string | undefined {
  return regionOf(code) === code ? REGION_NAMES.of(code) : undefined
}

/** `UK` → `GB`. @param code two letters */
const regionOf = (code: string) => new Intl.Locale(`und-${code}`).region

let known: ReadonlyMap<string, string> | undefined

/** Codes of ISO 3166-1 by their English names in lower case, as Unicode has them. Made when first needed: 676 questions. */
function regions(): ReadonlyMap<string, string> {
  known ??= new Map(
    LETTERS.flatMap((first) => LETTERS.map((second) => first + second)).flatMap((code): [string, string][] => {
      const name = nameOf(code)
      return name === undefined ? [] : [[name.toLowerCase(), code]]
    }),
  )
  return known
}

/** `germany`, `Germany` and `de` → `DE`; any other text is returned as it is. */
export function countryCodeOf(value: string): string {
  if (!/^[a-z]{2}$/i.test(value)) return regions().get(value.toLowerCase()) ?? value
  const code = value.toUpperCase()
  // The code that people take for the United Kingdom.
  return code === 'UK' ? 'GB' : code
}

const isCountry = (value: string) => /^[A-Z]{2}$/.test(value) && nameOf(value) !== undefined

function whyNoCountry(value: string): string {
  const near = nearestName(value.toLowerCase(), [...regions().keys()])
  const code = near && regions().get(near)
  return `must be a country as ISO 3166-1 alpha-2, such as DE${code ? `: did you mean ${code}, ${nameOf(code)}?` : ''}`
}

const oneOf = (values: readonly string[]) => ({
  has: (value: string) => values.includes(value),
  why: () => `must be one of ${values.join(', ')}`,
})
const CHANNEL = oneOf(CHANNELS)
const CLASS = oneOf(CLASSIFICATIONS)
const COUNTRY = { has: isCountry, why: whyNoCountry }

const KNOWN = {
  ...{ country: COUNTRY, country_not: COUNTRY, classification: CLASS, classification_not: CLASS },
  ...{ first_channel: CHANNEL, first_channel_not: CHANNEL, last_channel: CHANNEL, last_channel_not: CHANNEL },
} satisfies Partial<Record<keyof CompanyFilter, { has(value: string): boolean; why(value: string): string }>>

/** Checks the values of one term. @throws InputError that names the field, the value and what it may be */
export function assertKnownTerm(filter: CompanyFilter): void {
  for (const [field, { has, why }] of Object.entries(KNOWN)) {
    for (const value of filter[field as keyof typeof KNOWN] ?? []) {
      if (value === NOT_KNOWN || has(value)) continue
      throw new InputError(`${field}: ${JSON.stringify(value.slice(0, 80))} ${why(value)}`, { field })
    }
  }
}
