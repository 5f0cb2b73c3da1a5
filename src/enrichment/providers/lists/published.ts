import type { Bot } from '../../../../schemas/bots.ts'
import type { NoiseClass } from '../../../../schemas/classification.ts'
import type { EnrichmentData } from '../../../pipeline/event/enrichment.ts'
import { InputError } from '../../../run/errors.ts'
import { describeJsonError } from '../../../run/json-error.ts'
import { parseCidr } from '../../addresses/network.ts'
import { type ListEntry, type NoiseList, SkippedEntries } from './entry.ts'
import { locationOf } from './geofeed.ts'

/** One published network, before validation. */
interface Published {
  readonly network: unknown
  readonly noiseClass: NoiseClass
  /** The location, or a problem as text. */
  readonly location?: EnrichmentData | string
}

type Json = Readonly<Record<string, unknown>>

/** A format in which a provider publishes its ranges. */
interface Format {
  readonly name: string
  matches(json: Json): boolean
  networks(json: Json): Published[]
  builtAt?(json: Json): unknown
}

const FORMATS: readonly Format[] = [
  {
    name: 'AWS ip-ranges',
    matches: (json) => hasMember(json.prefixes, 'ip_prefix') || hasMember(json.ipv6_prefixes, 'ipv6_prefix'),
    networks: (json) => [
      ...list(json.prefixes).map((prefix) => ({ network: prefix.ip_prefix, noiseClass: awsClass(prefix) })),
      ...list(json.ipv6_prefixes).map((prefix) => ({ network: prefix.ipv6_prefix, noiseClass: awsClass(prefix) })),
    ],
    // `2026-08-22-10-03-04`
    builtAt: (json) => String(json.createDate).replace(/^(\d+-\d+-\d+)-(\d+)-(\d+)-(\d+)$/, '$1T$2:$3:$4Z'),
  },
  {
    // Google, Microsoft, Apple, OpenAI, Anthropic, Perplexity, DuckDuckGo, Common Crawl and Ahrefs publish their bots in it too.
    name: 'Google IP ranges',
    matches: (json) => hasMember(json.prefixes, 'ipv4Prefix') || hasMember(json.prefixes, 'ipv6Prefix'),
    networks: (json) => cloud(list(json.prefixes).map((prefix) => prefix.ipv4Prefix ?? prefix.ipv6Prefix)),
    builtAt: (json) => `${String(json.creationTime).replace(/Z$/, '')}Z`,
  },
  {
    name: 'list of addresses',
    matches: (json) => hasMember(json.ips, 'ip_address'),
    networks: (json) => list(json.ips).map(({ ip_address: network }) => ({ network, noiseClass: 'bot' })),
  },
  {
    name: 'Azure service tags',
    matches: (json) => list(json.values).some((tag) => Array.isArray(object(tag.properties).addressPrefixes)),
    networks: (json) =>
      list(json.values).flatMap((tag) => {
        const prefixes = object(tag.properties).addressPrefixes
        const noiseClass = /^AzureFrontDoor\b/.test(String(tag.name)) ? 'cdn' : 'cloud'
        return (Array.isArray(prefixes) ? prefixes : []).map((network) => ({ network, noiseClass }) as const)
      }),
  },
  {
    name: 'Oracle Cloud public IP ranges',
    matches: (json) => list(json.regions).some((region) => hasMember(region.cidrs, 'cidr')),
    networks: (json) => cloud(list(json.regions).flatMap((region) => list(region.cidrs).map((cidr) => cidr.cidr))),
    builtAt: (json) => `${String(json.last_updated_timestamp).replace(/Z$/, '')}Z`,
  },
  {
    name: 'Fastly public IP list',
    matches: (json) => Array.isArray(json.addresses) && Array.isArray(json.ipv6_addresses),
    networks: (json) => cdn([json.addresses, json.ipv6_addresses]),
  },
  {
    name: 'Cloudflare IPs',
    matches: (json) => Array.isArray(object(json.result).ipv4_cidrs) || Array.isArray(object(json.result).ipv6_cidrs),
    networks: (json) => cdn([object(json.result).ipv4_cidrs, object(json.result).ipv6_cidrs]),
  },
  {
    name: 'GitHub meta',
    matches: (json) => Array.isArray(json.hooks) && Array.isArray(json.web),
    // The file also has lists of keys.
    networks: (json) => cloud(Object.values(json).filter(isNetworkList).flat()),
  },
  {
    name: 'Vultr geofeed',
    matches: (json) => hasMember(json.subnets, 'ip_prefix'),
    networks: (json) =>
      list(json.subnets).map(({ ip_prefix: network, alpha2code, region, city, postal_code }) => {
        const location = locationOf([alpha2code, region, city, postal_code].map((value) => String(value ?? '')))
        return { network, noiseClass: 'hosting', location }
      }),
    builtAt: (json) => json.updated,
  },
]

/**
 * Reads a file of ranges in the format of a cloud or CDN provider, which it recognises by members.
 * @param noiseClass overrides the class that the format implies
 * @param bot that the file is published for
 * @throws InputError with the reason
 */
export function readPublished(text: Buffer, noiseClass: NoiseClass | undefined, rowsMax: number, bot?: Bot): NoiseList {
  const json = parseJson(text)
  const format = FORMATS.find((candidate) => candidate.matches(json))
  if (format === undefined) {
    const members = Object.keys(json).slice(0, 10).join(', ')
    throw new InputError(`not a known format of a range file: an object with ${members || 'no members'}`)
  }
  const published = format.networks(json)
  if (published.length === 0) throw new InputError('the file holds no networks')
  if (published.length > rowsMax) throw new InputError(`the file holds more than ${rowsMax} networks`)
  const skipped = new SkippedEntries()
  const builtAt = new Date(String(format.builtAt?.(json)))
  const named = noiseClass === 'bot' ? bot : undefined
  const entries = published.flatMap((entry, i) =>
    checked(entry, i, noiseClass, skipped).map((found) => withBot(found, named)),
  )
  if (entries.length === 0) throw new InputError(`the file holds no networks: ${skipped.warnings.join('')}`)
  return {
    recognisedAs: format.name,
    entries,
    warnings: skipped.warnings,
    ...(Number.isNaN(builtAt.getTime()) ? {} : { builtAt }),
  }
}

function withBot(entry: ListEntry, bot: Bot | undefined): ListEntry {
  return bot === undefined ? entry : { ...entry, bot }
}

/** Skips a network with a malformed location. */
function checked(
  entry: Published,
  index: number,
  noiseClass: NoiseClass | undefined,
  skipped: SkippedEntries,
): ListEntry[] {
  const range = typeof entry.network === 'string' ? parseCidr(entry.network) : 'not text'
  if (typeof range === 'string') throw new InputError(`network ${index + 1}: ${range}`)
  const { location } = entry
  if (typeof location === 'string') {
    skipped.add(`network ${index + 1}`, location)
    return []
  }
  return [{ range, noiseClass: noiseClass ?? entry.noiseClass, ...(location !== undefined && { location }) }]
}

function awsClass(prefix: Json): NoiseClass {
  return String(prefix.service).startsWith('CLOUDFRONT') ? 'cdn' : 'cloud'
}

function cloud(networks: readonly unknown[]): Published[] {
  return networks.map((network) => ({ network, noiseClass: 'cloud' }))
}

function cdn(lists: readonly unknown[]): Published[] {
  return lists
    .flatMap((networks) => (Array.isArray(networks) ? networks : []))
    .map((network) => ({
      network: network as unknown,
      noiseClass: 'cdn',
    }))
}

function isNetworkList(value: unknown): value is unknown[] {
  return Array.isArray(value) && typeof value[0] === 'string' && typeof parseCidr(value[0]) !== 'string'
}

function hasMember(value: unknown, key: string): boolean {
  return list(value).some((item) => key in item)
}

/** The objects of a list; empty when the value is not a list. */
function list(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(object) : []
}

function object(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {}
}

function parseJson(text: Buffer): Json {
  let json: unknown
  try {
    json = JSON.parse(text.toString('utf8'))
  } catch {
    throw new InputError(describeJsonError(text.toString('utf8')))
  }
  if (typeof json !== 'object' || json === null || Array.isArray(json)) throw new InputError('not a JSON object')
  return json as Json
}
