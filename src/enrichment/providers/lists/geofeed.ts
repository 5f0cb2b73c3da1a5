import type { NoiseClass } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import { InputError } from '../../../run/errors.ts'
import { clip, parseCidr } from '../../addresses/network.ts'
import { isNotKnown, isNotKnownPlace, knownCountryCode } from '../../rules/not-known.ts'
import { TimeSlice } from '../../time-slice.ts'
import { plainCells } from '../text/csv-rows.ts'
import { firstContentLine, lineError, linesOf } from '../text/text-file.ts'
import { type ListEntry, type NoiseList, SkippedEntries } from './entry.ts'

/**
 * Whether a CSV file is a geofeed: it has no header, and its first record starts with a network.
 * @param line its first line that is neither blank nor a comment
 */
export function isGeofeed(line: string | undefined): boolean {
  const cell = line?.split(',')[0]?.trim().replace(/^"|"$/g, '')
  return cell !== undefined && typeof parseCidr(cell) !== 'string'
}

/** Whether a text is a geofeed, which has commas, and not a plain list of networks. */
export function isGeofeedText(text: Buffer): boolean {
  const line = firstContentLine(text)
  return line?.includes(',') === true && isGeofeed(line)
}

const LINES_AT_A_TIME = 500

/**
 * Reads a geofeed (RFC 8805), in which hosting providers publish their networks: network, country, region (ISO 3166-2),
 * city and postal code; the last four may be empty. `#` starts a comment. It skips malformed entries, as the RFC requires,
 * and reports them in the warnings.
 * @throws InputError with the reason when there are too many networks, or no valid one
 */
export async function readGeofeed(
  text: Buffer,
  noiseClass: NoiseClass,
  recognisedAs: string,
  rowsMax: number,
): Promise<NoiseList> {
  const entries: ListEntry[] = []
  const skipped = new SkippedEntries()
  const slice = new TimeSlice()
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const row = withoutComment(content).trim()
    if (row === '') continue
    const entry = entryIn(row, noiseClass)
    if (typeof entry === 'string') {
      skipped.add(`line ${line}`, entry)
      continue
    }
    if (entries.length === rowsMax) throw lineError(line, `more than ${rowsMax} networks`)
    entries.push(entry)
  }
  const { warnings } = skipped
  if (entries.length === 0)
    throw new InputError(`the geofeed holds no networks${warnings.map((text) => `: ${text}`).join('')}`)
  return { recognisedAs, entries, warnings }
}

/** Returns the problem as text for a malformed row. */
function entryIn(row: string, noiseClass: NoiseClass): ListEntry | string {
  const cells = plainCells(row)
  if (cells === undefined) return `"${clip(row)}" is not CSV`
  const range = parseCidr(cells[0] ?? '')
  if (typeof range === 'string') return range
  const location = locationOf(cells.slice(1))
  return typeof location === 'string' ? location : { range, noiseClass, location }
}

/** A `#` inside quotes does not start a comment. */
function withoutComment(line: string): string {
  let isQuoted = false
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '"') isQuoted = !isQuoted
    if (line[i] === '#' && !isQuoted) return line.slice(0, i)
  }
  return line
}

/** The known values of the location cells after a network. Returns the problem as text for a malformed country. */
export function locationOf(cells: readonly string[]): EnrichmentData | string {
  const [country = '', region = '', city = '', postalCode = ''] = cells
  const location: EnrichmentData = {}
  if (!isNotKnown(country)) {
    if (!/^[a-z]{2}$/i.test(country)) return `"${clip(country)}" is not a country code of two letters`
    const code = knownCountryCode(country)
    if (code !== undefined) location.country_code = code
  }
  const code = country.toUpperCase()
  if (!isNotKnownPlace(region, code)) location.region = region
  if (!isNotKnownPlace(city, code)) location.city = city
  if (!isNotKnown(postalCode)) location.postal_code = postalCode
  return location
}
