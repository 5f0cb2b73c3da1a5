import type { NoiseClass } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import { InputError } from '../../../run/errors.ts'
import { clip, parseCidr } from '../../addresses/network.ts'
import { isNotKnown, isNotKnownPlace, knownCountryCode } from '../../rules/not-known.ts'
import { TimeSlice } from '../../time-slice.ts'
import { plainCells } from '../text/csv-rows.ts'
import { firstContentLine, lineError, linesOf } from '../text/text-file.ts'
import type { ListEntry, NoiseList } from './entry.ts'
import { LeftOut } from './left-out.ts'

/** Whether a CSV file is a geofeed: it has no header, and its first record starts with a network. */
export function isGeofeed(text: Buffer): boolean {
  return startsWithNetwork(firstContentLine(text))
}

/** Whether a text is one: of a list of networks, it would be a geofeed, too. */
export function isGeofeedText(text: Buffer): boolean {
  const line = firstContentLine(text)
  return line?.includes(',') === true && startsWithNetwork(line)
}

function startsWithNetwork(line: string | undefined): boolean {
  const cell = line?.split(',')[0]?.trim().replace(/^"|"$/g, '')
  return cell !== undefined && typeof parseCidr(cell) !== 'string'
}

const LINES_AT_A_TIME = 500

/**
 * Reads a geofeed (RFC 8805): network, country, region, city and postal code, each of the last four possibly empty; `#`
 * starts a comment. Regions are ISO 3166-2 codes. Hosting providers publish their networks in this form. Entries that are
 * wrong are left out, as the RFC wants it, and named in the warnings.
 * @throws InputError with the reason when there are too many networks, or none is left
 */
export async function readGeofeed(
  text: Buffer,
  noiseClass: NoiseClass,
  recognisedAs: string,
  rowsMax: number,
): Promise<NoiseList> {
  const entries: ListEntry[] = []
  const leftOut = new LeftOut()
  const slice = new TimeSlice()
  for (const { line, text: content } of linesOf(text)) {
    if (line % LINES_AT_A_TIME === 0 && slice.isOver) await slice.next()
    const row = withoutComment(content).trim()
    if (row === '') continue
    const entry = entryIn(row, noiseClass)
    if (typeof entry === 'string') {
      leftOut.add(`line ${line}`, entry)
      continue
    }
    if (entries.length === rowsMax) throw lineError(line, `more than ${rowsMax} networks`)
    entries.push(entry)
  }
  const { warnings } = leftOut
  if (entries.length === 0)
    throw new InputError(`the geofeed holds no networks${warnings.map((text) => `: ${text}`).join('')}`)
  return { recognisedAs, entries, warnings }
}

/** Returns what is wrong in words. */
function entryIn(row: string, noiseClass: NoiseClass): ListEntry | string {
  const cells = plainCells(row)
  if (cells === undefined) return `"${clip(row)}" is not CSV`
  const range = parseCidr(cells[0] ?? '')
  if (typeof range === 'string') return range
  const location = locationOf(cells.slice(1))
  return typeof location === 'string' ? location : { range, noiseClass, location }
}

/** A `#` in quotes starts no comment. */
function withoutComment(line: string): string {
  let isQuoted = false
  for (let i = 0; i < line.length; i++) {
    if (line[i] === '"') isQuoted = !isQuoted
    if (line[i] === '#' && !isQuoted) return line.slice(0, i)
  }
  return line
}

/** The location in the cells after a network, without what is not known. Returns what is wrong with it in words. */
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
