import type { Bot } from '../../../../schemas/bots.ts'
import { InputError } from '../../../run/errors.ts'
import type { SourceEntry } from './sources.ts'

/** A data source that `ipid db add` knows by name. */
export interface KnownSource {
  readonly name: string
  /** Description of the data. */
  readonly holds: string
  /** Data sets of one kind replace each other, except lists of networks. */
  readonly kind: 'asn' | 'location' | 'registry' | 'list'
  /** `{key}` is replaced by the key, `{month}` by the month. */
  readonly url: string
  /** Name of the file in the folder. */
  readonly file: string
  readonly schedule: 'daily' | 'weekly' | 'monthly'
  /** Environment variable with the key; undefined when no key is needed. */
  readonly keyEnv: string | undefined
  /** Environment variable with the account number, and the URL to use with it. */
  readonly account?: { readonly env: string; readonly url: string }
  /** Page that issues keys. */
  readonly keyFrom: string | undefined
  readonly licence: string
  /** The text that the licence requires wherever results are shown, if any. */
  readonly attribution: string | undefined
  /** Names of sources that it needs. */
  readonly needs?: readonly string[]
}

const MAXMIND = {
  keyEnv: 'MAXMIND_LICENSE_KEY',
  keyFrom: 'https://www.maxmind.com/en/geolite2/signup',
  licence: 'GeoLite End User License Agreement, which requires you to delete old versions',
  attribution: 'This product includes GeoLite Data created by MaxMind, available from https://www.maxmind.com',
} as const

/** The URL with only a key is deprecated. */
function maxmindAccount(edition: string) {
  const url = `https://download.maxmind.com/geoip/databases/${edition}/download?suffix=tar.gz`
  return { env: 'MAXMIND_ACCOUNT_ID', url }
}

const DB_IP = {
  schedule: 'monthly',
  keyEnv: undefined,
  keyFrom: undefined,
  licence: 'CC BY 4.0',
  attribution: 'IP Geolocation by DB-IP (https://db-ip.com)',
} as const

/** Names of customers below the AS. The terms of all registries forbid marketing. */
const REGISTRY = {
  kind: 'registry',
  schedule: 'weekly',
  keyEnv: undefined,
  keyFrom: undefined,
  attribution: undefined,
} as const

/** The files that a registry publishes, one for each type of object. */
function splitFiles(registry: string, folder: string, licence: string): readonly KnownSource[] {
  const entry = (type: string, holds: string, needs?: readonly string[]) => {
    const file = `${registry}.db.${type}.gz`
    return {
      ...REGISTRY,
      name: `${registry}-${type}`,
      holds,
      url: `${folder}${file}`,
      file,
      licence,
      ...(needs && { needs }),
    }
  }
  const needs = [`${registry}-organisation`]
  return [
    entry('inetnum', 'holders of IPv4 blocks', needs),
    entry('inet6num', 'holders of IPv6 blocks', needs),
    entry('organisation', 'names of holders'),
  ]
}

const RIPE_TERMS =
  'RIPE Database Terms and Conditions, article 4.4: no use for advertising, direct marketing, marketing research or similar purposes (https://docs.db.ripe.net/terms-conditions.html)'
const APNIC_TERMS =
  'APNIC whois data copyright: only for Internet operational purposes that APNIC approves, no use to target advertising (https://www.apnic.net/db/dbcopyright.html)'
const AFRINIC_TERMS =
  'AFRINIC whois terms: only for Internet operations and technical research, no advertising, marketing or redistribution (https://afrinic.net/terms-2)'

const PUBLISHED = {
  kind: 'list',
  schedule: 'daily',
  keyEnv: undefined,
  keyFrom: undefined,
  licence: 'none stated; published for everyone, so that sites can recognise these addresses',
  attribution: undefined,
} as const

const GOOGLE_RANGES = 'https://developers.google.com/static/crawling/ipranges'

/** Name, address, and description of the bots. The file is `bot-NAME.json`, which states the bot. */
const BOT_LISTS: readonly (readonly [bot: Bot, url: string, of: string])[] = [
  ['googlebot', `${GOOGLE_RANGES}/common-crawlers.json`, 'Googlebot and other crawlers of Google'],
  ['google-special', `${GOOGLE_RANGES}/special-crawlers.json`, 'AdsBot and other crawlers of Google’s products'],
  ['google-fetcher', `${GOOGLE_RANGES}/user-triggered-fetchers-google.json`, 'fetchers of Google, for a person'],
  ['google-agent', `${GOOGLE_RANGES}/user-triggered-agents.json`, 'agents of Google, for a person'],
  ['bingbot', 'https://www.bing.com/toolbox/bingbot.json', 'Bingbot'],
  ['applebot', 'https://search.developer.apple.com/applebot.json', 'Applebot'],
  ['gptbot', 'https://openai.com/gptbot.json', 'GPTBot'],
  ['oai-searchbot', 'https://openai.com/searchbot.json', 'OAI-SearchBot'],
  ['chatgpt-user', 'https://openai.com/chatgpt-user.json', 'ChatGPT, for a person'],
  ['claudebot', 'https://claude.com/crawling/bots.json', 'ClaudeBot, Claude-SearchBot and Claude-User'],
  ['perplexitybot', 'https://www.perplexity.com/perplexitybot.json', 'PerplexityBot'],
  ['perplexity-user', 'https://www.perplexity.com/perplexity-user.json', 'Perplexity, for a person'],
  ['duckduckbot', 'https://duckduckgo.com/duckduckbot.json', 'DuckDuckBot'],
  ['duckassistbot', 'https://duckduckgo.com/duckassistbot.json', 'DuckAssistBot, for a person'],
  ['ccbot', 'https://index.commoncrawl.org/ccbot.json', 'CCBot of Common Crawl'],
  ['ahrefsbot', 'https://api.ahrefs.com/v3/public/crawler-ip-ranges', 'AhrefsBot and AhrefsSiteAudit'],
]

export const KNOWN_SOURCES: readonly KnownSource[] = [
  {
    name: 'iptoasn',
    holds: 'AS numbers and names',
    kind: 'asn',
    url: 'https://iptoasn.com/data/ip2asn-combined.tsv.gz',
    file: 'iptoasn.mmdb',
    schedule: 'weekly',
    keyEnv: undefined,
    keyFrom: undefined,
    licence: 'PDDL 1.0',
    attribution: undefined,
  },
  {
    name: 'ipinfo-lite',
    holds: 'AS numbers, names and domains, countries',
    kind: 'asn',
    url: 'https://ipinfo.io/data/ipinfo_lite.mmdb?token={key}',
    file: 'ipinfo-lite.mmdb',
    schedule: 'weekly',
    keyEnv: 'IPINFO_TOKEN',
    keyFrom: 'https://ipinfo.io/signup',
    licence: 'CC BY-SA 4.0',
    attribution: 'IP address data powered by IPinfo (https://ipinfo.io)',
  },
  {
    name: 'dbip-lite',
    holds: 'AS numbers and names',
    kind: 'asn',
    url: 'https://download.db-ip.com/free/dbip-asn-lite-{month}.mmdb.gz',
    file: 'dbip-asn-lite.mmdb',
    ...DB_IP,
  },
  {
    name: 'dbip-lite-country',
    holds: 'countries',
    kind: 'location',
    url: 'https://download.db-ip.com/free/dbip-country-lite-{month}.mmdb.gz',
    file: 'dbip-country-lite.mmdb',
    ...DB_IP,
  },
  {
    name: 'dbip-lite-city',
    holds: 'countries, regions, cities',
    kind: 'location',
    url: 'https://download.db-ip.com/free/dbip-city-lite-{month}.mmdb.gz',
    file: 'dbip-city-lite.mmdb',
    ...DB_IP,
  },
  {
    name: 'geolite2',
    holds: 'AS numbers and names',
    kind: 'asn',
    url: 'https://download.maxmind.com/app/geoip_download?edition_id=GeoLite2-ASN&license_key={key}&suffix=tar.gz',
    account: maxmindAccount('GeoLite2-ASN'),
    file: 'geolite2-asn.mmdb',
    schedule: 'weekly',
    ...MAXMIND,
  },
  {
    name: 'geolite2-city',
    holds: 'countries, regions, cities, postal codes',
    kind: 'location',
    url: 'https://download.maxmind.com/app/geoip_download?edition_id=GeoLite2-City&license_key={key}&suffix=tar.gz',
    account: maxmindAccount('GeoLite2-City'),
    file: 'geolite2-city.mmdb',
    schedule: 'weekly',
    ...MAXMIND,
  },
  ...splitFiles('ripe', 'https://ftp.ripe.net/ripe/dbase/split/', RIPE_TERMS),
  ...splitFiles('apnic', 'https://ftp.apnic.net/apnic/whois/', APNIC_TERMS),
  {
    ...REGISTRY,
    name: 'afrinic',
    holds: 'holders of IPv4 and IPv6 blocks',
    url: 'https://ftp.afrinic.net/dbase/afrinic.db.gz',
    file: 'afrinic.db.gz',
    licence: AFRINIC_TERMS,
  },
  ...BOT_LISTS.map(([bot, url, of]) => ({
    name: bot,
    holds: `networks of ${of}`,
    url,
    file: `bot-${bot}.json`,
    ...PUBLISHED,
  })),
  {
    name: 'tor-exits',
    holds: 'addresses of Tor exits',
    url: 'https://check.torproject.org/torbulkexitlist',
    file: 'vpn-tor-exits.txt',
    ...PUBLISHED,
  },
  {
    name: 'private-relay',
    holds: 'networks of Apple’s iCloud Private Relay, and the places of its users',
    url: 'https://mask-api.icloud.com/egress-ip-ranges.csv',
    file: 'vpn-private-relay.csv',
    ...PUBLISHED,
  },
]

/**
 * The entry of `sources.json` for a known source.
 * @param accountNumber selects the newer of the vendor's two URLs
 */
export function entryOf({ url, file, schedule, keyEnv, account }: KnownSource, accountNumber?: string): SourceEntry {
  const key = keyEnv === undefined ? {} : { key_env: keyEnv }
  const from = account === undefined || !accountNumber ? { url } : { url: account.url, key_user: accountNumber }
  return { file, ...from, ...key, schedule }
}

/** @throws InputError with the known names */
export function knownSource(name: string): KnownSource {
  const source = KNOWN_SOURCES.find((candidate) => candidate.name === name)
  if (source !== undefined) return source
  throw new InputError(`unknown source "${name}": must be ${KNOWN_SOURCES.map((known) => known.name).join(', ')}`)
}
