import type { NoiseClass } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../core/event/enrichment.ts'
import { InputError } from '../../../core/run/errors.ts'
import { clip, parseCidr } from '../../addresses/network.ts'
import { csvRows } from '../text/csv-rows.ts'
import { firstContentLine, lineError } from '../text/text-file.ts'
import type { ListEntry, NoiseList } from './entry.ts'

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

/**
 * Reads a geofeed (RFC 8805): network, country, region, city and postal code, each of the last four possibly empty.
 * Regions are ISO 3166-2 codes. Hosting providers publish their networks in this form.
 * @throws InputError with the line and the reason
 */
export async function readGeofeed(
  text: Buffer,
  noiseClass: NoiseClass,
  recognisedAs: string,
  rowsMax: number,
): Promise<NoiseList> {
  const entries: ListEntry[] = []
  for await (const { line, cells } of csvRows(text, false)) {
    const range = parseCidr(cells[0] ?? '')
    if (typeof range === 'string') throw lineError(line, range)
    if (entries.length === rowsMax) throw lineError(line, `more than ${rowsMax} networks`)
    const place = placeOf(cells.slice(1))
    if (typeof place === 'string') throw lineError(line, place)
    entries.push({ range, noiseClass, place })
  }
  if (entries.length === 0) throw new InputError('the geofeed holds no networks')
  return { recognisedAs, entries }
}

/** The place in the cells behind a network. Returns what is wrong with it in words. */
export function placeOf(cells: readonly string[]): EnrichmentData | string {
  const [country = '', region = '', city = '', postalCode = ''] = cells
  const place: EnrichmentData = {}
  if (country !== '') {
    if (!/^[a-z]{2}$/i.test(country))
      return `"${clip(country)}" is not a country code of two letters (a file without a header whose lines start with networks is read as a geofeed)`
    place.country_code = country.toUpperCase()
  }
  if (region !== '') place.region = region
  if (city !== '') place.city = city
  if (postalCode !== '') place.postal_code = postalCode
  return place
}
