import { type Proxies, visitorOfRequest } from '../../event/client-address.ts'
import { parseTimestamp } from '../../event/timestamp.ts'
import { type JsonObject, labelOf } from '../tools/tool-event.ts'
import { accessEvent, given, urlOf } from './access-line.ts'
import { jsonObject, mostObjects } from './json-lines.ts'
import { COMMENT, type LineFormat, type LineReader, type LineResult } from './line-format.ts'

const FIELDS = '#Fields:'

/** The value of a field; undefined when the log does not have it. @param missing in place of a field that has no value in this line */
type Field = (name: string, missing?: string) => string | undefined

/**
 * The W3C Extended Log File Format: lines that start with `#` are directives, and `#Fields:` names the columns of the lines after it. A
 * server writes it again when it starts, or when the columns change.
 */
class W3cReader implements LineReader {
  header: string | undefined
  #columns = new Map<string, number>()
  readonly #read: (field: Field) => LineResult

  constructor(read: (field: Field) => LineResult) {
    this.#read = read
  }

  read(line: string): LineResult {
    if (line.startsWith('#')) {
      if (line.startsWith(FIELDS)) this.#begin(line)
      return COMMENT
    }
    if (line.startsWith('{')) return this.#readJson(line)
    if (this.header === undefined) return { rejected: 'comes before a line that starts with "#Fields:"' }
    const values = line.split(line.includes('\t') ? '\t' : ' ')
    if (values.length !== this.#columns.size) {
      return { rejected: `has ${values.length} fields, and "#Fields:" names ${this.#columns.size}` }
    }
    return this.#read((name, missing) => {
      const at = this.#columns.get(name)
      return at === undefined ? undefined : (given(values[at]) ?? missing)
    })
  }

  #begin(line: string): void {
    this.header = line
    this.#columns = new Map(
      line
        .slice(FIELDS.length)
        .trim()
        .split(/\s+/)
        .map((name, i) => [name.toLowerCase(), i]),
    )
  }

  #readJson(line: string): LineResult {
    const record = jsonObject(line)
    if (record === undefined) return { rejected: 'is not a JSON object' }
    const lower = new Map(Object.entries(record).map(([name, value]) => [name.toLowerCase(), labelOf(value)]))
    return this.#read((name, missing) => (lower.has(name) ? (given(lower.get(name)) ?? missing) : undefined))
  }
}

/** Both columns are UTC. */
function timeOf(field: Field): string | undefined {
  const time = `${field('date')}T${field('time')}Z`
  return Number.isNaN(parseTimestamp(time)) ? undefined : time
}

function numberOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number(text)
}

function pathOf(field: Field): string {
  const query = field('cs-uri-query')
  return (field('cs-uri-stem') ?? '') + (query === undefined ? '' : `?${query}`)
}

/** CloudFront writes a blank as `%20`, and its `%` encoded again. */
function visitorOf(field: Field, trusted: Proxies | undefined): string | undefined {
  const forwarded = field('x-forwarded-for') ?? field('cs(x-forwarded-for)')
  return visitorOfRequest(field('c-ip'), forwarded && decoded(onceEncoded(forwarded)), trusted)
}

const NO_TIME: LineResult = { rejected: 'has no readable date and time' }

/** CloudFront's standard logs, tab-separated or as JSON. */
export const cloudfront: LineFormat = {
  name: 'cloudfront',
  about: 'Amazon CloudFront, standard logs',
  recognises: (lines) =>
    lines.some((line) => line.startsWith(FIELDS) && line.includes('x-edge-')) ||
    mostObjects(lines, (record) => 'c-ip' in record && 'date' in record && isCloudfront(record)),
  reader: ({ all, trusted }) =>
    new W3cReader((field) => {
      const timestamp = timeOf(field)
      if (timestamp === undefined) return NO_TIME
      const agent = field('cs(user-agent)', '-')
      const referrer = field('cs(referer)')
      return accessEvent(
        {
          ip: visitorOf(field, trusted),
          timestamp,
          method: field('cs-method') ?? '',
          status: Number(field('sc-status') ?? 0),
          bytes: numberOf(field('sc-bytes')),
          url: urlOf(field('cs-protocol'), field('x-host-header') ?? field('cs(host)'), onceEncoded(pathOf(field))),
          referrer: referrer && onceEncoded(referrer),
          userAgent: agent && decoded(onceEncoded(agent)),
          contentType: field('sc-content-type'),
          requestId: field('x-edge-request-id'),
          others: othersOf(field, ['x-edge-location', 'x-edge-result-type', 'time-taken']),
        },
        all,
      )
    }),
}

function isCloudfront(record: JsonObject): boolean {
  return Object.keys(record).some((name) => name.startsWith('x-edge-') || name === 'x-host-header')
}

/** CloudFront encodes the `%` of an encoded character again. */
export function onceEncoded(text: string): string {
  return text.includes('%25') ? text.replaceAll('%25', '%') : text
}

/** The text without percent-encoding. One that is broken keeps all but its blanks. */
export function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text.replaceAll('%20', ' ')
  }
}

/** The W3C format of IIS, which writes `+` for a blank. */
export const w3c: LineFormat = {
  name: 'w3c',
  about: 'IIS and other servers with a line #Fields:',
  recognises: (lines) => lines.some((line) => line.startsWith(FIELDS) && / c-ip\b/.test(line)),
  reader: ({ all, trusted }) =>
    new W3cReader((field) => {
      const timestamp = timeOf(field)
      if (timestamp === undefined) return NO_TIME
      return accessEvent(
        {
          ip: visitorOf(field, trusted),
          timestamp,
          method: field('cs-method') ?? '',
          status: Number(field('sc-status') ?? 0),
          bytes: numberOf(field('sc-bytes')),
          url: urlOf(field('s-port') === '443' ? 'https' : 'http', field('cs-host'), pathOf(field)),
          referrer: field('cs(referer)'),
          userAgent: field('cs(user-agent)', '-')?.replaceAll('+', ' '),
          others: othersOf(field, ['s-sitename', 'time-taken']),
        },
        all,
      )
    }),
}

/** Fields that become properties, with `_` for `-`. */
function othersOf(field: Field, names: readonly string[]): JsonObject {
  const found = names.map((name) => [name.replaceAll('-', '_'), field(name)] as const)
  return Object.fromEntries(found.filter(([, value]) => value !== undefined))
}
