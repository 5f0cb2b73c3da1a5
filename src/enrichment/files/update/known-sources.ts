import { InputError } from '../../../run/errors.ts'
import type { SourceEntry } from './sources.ts'

/** A data source that `ipid db add` knows by name. */
export interface KnownSource {
  readonly name: string
  /** Description of the data. */
  readonly holds: string
  /** Data sets of one kind replace each other. */
  readonly kind: 'asn' | 'location'
  /** `{key}` stands for the key, `{month}` for the month. */
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
