/**
 * What vendors and people write where they know nothing. Taken for facts, these would put unrelated visitors into one
 * company. A text counts only as a whole: "Unknown Worlds", "Nonesuch" and "NA Corp" are names.
 */

/** In any field. Case, characters around it that are no letters, and hyphens for spaces make no difference. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['unknown', 'not known', 'n/a', 'n.a', 'null', '\\n', 'nil', 'none', 'nan', 'undefined', 'tbd'],
  ...['not available', 'not applicable', 'not specified', 'unspecified', 'not set', 'not found', 'asn not found'],
  ...['data not available', 'no data', 'no name', 'no info', 'no information', 'empty', 'missing'],
  ...['not routed', 'not announced', 'unassigned', 'unallocated'],
])

/** In names of organisations, networks and autonomous systems. Elsewhere NA is Namibia, North America or Naples. */
const NAMES: ReadonlySet<string> = new Set([
  ...[
    'na',
    '0',
    '00',
    'as0',
    'as 0',
    'reserved as',
    'noname',
    'unnamed',
    'unknown as',
    'unknown asn',
    'unknown isp',
    'unknown org',
  ],
  ...['unknown organization', 'unknown organisation', 'unknown company', 'unknown network', 'unknown owner'],
])

/** Cities and regions that are called like a marker, and the countries where they are: a code, or the name in lower case. */
const PLACES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['nan', new Set(['TH', 'thailand'])],
  ['none', new Set(['IT', 'italy'])],
  ['no name', new Set(['US', 'united states'])],
])

/** Among codes of countries. ISO 3166 leaves them to users, who take them for this; XK is Kosovo. */
const COUNTRY_CODES: ReadonlySet<string> = new Set(['AA', 'QQ', 'XX', 'ZZ'])

/** Whether a text of any field says that nothing is known. */
export function isNotKnown(text: string): boolean {
  return text.length <= LENGTH_MAX && (TEXTS.has(plain(text)) || !/[\p{L}\p{N}]/u.test(text))
}

/** Whether the name of an organisation, a network or an autonomous system says that nothing is known. */
export function isNotKnownName(name: string): boolean {
  return isNotKnown(name) || (name.length <= LENGTH_MAX && NAMES.has(plain(name)))
}

/**
 * Whether the name of a city or region says that nothing is known. Some real places are called like a marker: in their
 * country, and with a capital first letter, they are places. `NaN` is never one.
 * @param country code or name of the country that the place is in; undefined when it is unknown
 */
export function isNotKnownPlace(name: string, country: string | undefined): boolean {
  if (!isNotKnown(name)) return false
  const countries = PLACES.get(plain(name))
  const isPlace = countries?.has(country ?? '') || countries?.has((country ?? '').toLowerCase())
  return !isPlace || !/^\p{Lu}/u.test(name) || name === 'NaN'
}

/** Two letters as a code of a country, in upper case; undefined when they say that nothing is known. */
export function knownCountryCode(letters: string): string | undefined {
  const code = letters.toUpperCase()
  return COUNTRY_CODES.has(code) ? undefined : code
}

/** No marker is longer. */
const LENGTH_MAX = 40

function plain(text: string): string {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      // Marks that nobody sees.
      .replace(/\p{Cf}+/gu, '')
      // The backslash is a part of the null of databases.
      .replace(/^[^\p{L}\p{N}\\]+/u, '')
      .replace(/(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u, '')
      .replace(/[\s_-]+/g, ' ')
      .replace(/ ?\/ ?/g, '/')
  )
}
