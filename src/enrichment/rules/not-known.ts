/**
 * Markers that vendors and people write for unknown values. Taken as facts, they would put unrelated visitors into one
 * company. Only a whole text is a marker: "Unknown Worlds", "Nonesuch" and "NA Corp" are names.
 */

/** Markers in any field. Case, surrounding punctuation, and hyphens for spaces make no difference. */
const TEXTS: ReadonlySet<string> = new Set([
  ...['unknown', 'not known', 'n/a', 'n.a', 'null', '\\n', 'nil', 'none', 'nan', 'undefined', 'tbd'],
  ...['not available', 'not applicable', 'not specified', 'unspecified', 'not set', 'not found', 'asn not found'],
  ...['data not available', 'no data', 'no name', 'no info', 'no information', 'empty', 'missing'],
  ...['not routed', 'not announced', 'unassigned', 'unallocated'],
])

/** Markers in names of organisations, networks and autonomous systems. Elsewhere NA is Namibia, North America or Naples. */
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

/** Cities and regions whose names equal a marker, with their countries: a code, or the name in lower case. */
const PLACES: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ['nan', new Set(['TH', 'thailand'])],
  ['none', new Set(['IT', 'italy'])],
  ['no name', new Set(['US', 'united states'])],
])

/** Markers among country codes. ISO 3166 reserves them for users. XK is not one: it is Kosovo. */
const COUNTRY_CODES: ReadonlySet<string> = new Set(['AA', 'QQ', 'XX', 'ZZ'])

/** Whether a text in any field means "unknown". */
export function isNotKnown(text: string): boolean {
  return text.length <= LENGTH_MAX && mayBeMarker(text) && (TEXTS.has(plain(text)) || !/[\p{L}\p{N}]/u.test(text))
}

/** First letters of the markers. Most values of a large table end here. */
const FIRST_LETTERS: ReadonlySet<string> = new Set([...TEXTS, ...NAMES].map((marker) => marker[0]!))
const LETTER = /^[a-z0-9]/

function mayBeMarker(text: string): boolean {
  const first = text.slice(0, 1).toLowerCase()
  return FIRST_LETTERS.has(first) || !LETTER.test(first)
}

/** Whether the name of an organisation, a network or an autonomous system means "unknown". */
export function isNotKnownName(name: string): boolean {
  return isNotKnown(name) || (name.length <= LENGTH_MAX && mayBeMarker(name) && NAMES.has(plain(name)))
}

/**
 * Whether the name of a city or region means "unknown". Some real places are called like a marker. In their country, and
 * with a capital first letter, they are places; `NaN` never is.
 * @param country code or name of the place's country; undefined when unknown
 */
export function isNotKnownPlace(name: string, country: string | undefined): boolean {
  if (!isNotKnown(name)) return false
  const countries = PLACES.get(plain(name))
  const isPlace = countries?.has(country ?? '') || countries?.has((country ?? '').toLowerCase())
  return !isPlace || !/^\p{Lu}/u.test(name) || name === 'NaN'
}

/** Two letters as a country code in upper case; undefined when they mean "unknown". */
export function knownCountryCode(letters: string): string | undefined {
  const code = letters.toUpperCase()
  return COUNTRY_CODES.has(code) ? undefined : code
}

/** At least the length of the longest marker. */
const LENGTH_MAX = 40

/** Most values of a table: letters, digits and single blanks, dots, commas or hyphens. */
const SIMPLE = /^[A-Za-z0-9](?:[A-Za-z0-9]|[ .,-](?=[A-Za-z0-9]))*$/

function plain(text: string): string {
  if (SIMPLE.test(text)) return text.toLowerCase().replaceAll('-', ' ')
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      // Invisible characters.
      .replace(/\p{Cf}+/gu, '')
      // The backslash belongs to the `\N` that databases export for null.
      .replace(/^[^\p{L}\p{N}\\]+/u, '')
      .replace(/(?<![^\p{L}\p{N}])[^\p{L}\p{N}]+$/u, '')
      .replace(/[\s_-]+/g, ' ')
      .replace(/ ?\/ ?/g, '/')
  )
}
