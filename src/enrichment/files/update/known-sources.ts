import { InputError } from '../../../run/errors.ts'
import type { SourceEntry } from './sources.ts'

/** A source of data that is known by name. */
export interface KnownSource {
  readonly name: string
  /** In words, what it holds. */
  readonly holds: string
  /** What it is trusted for first: sets of one kind take each other's place. */
  readonly kind: 'asn' | 'location'
  /** `{key}` stands for the key, `{month}` for the month. */
  readonly url: string
  /** Name of the file in the folder. */
  readonly file: string
  readonly schedule: 'daily' | 'weekly' | 'monthly'
  /** Environment variable that holds the key; undefined: none is needed. */
  readonly keyEnv: string | undefined
  /** Of a vendor with accounts: what the address is for who has the number of his in this variable. */
  readonly account?: { readonly env: string; readonly url: string }
  /** Where a key is to be had. */
  readonly keyFrom: string | undefined
  readonly licence: string
  /** What the licence wants to be said wherever results are shown; undefined: nothing. */
  readonly attribution: string | undefined
}

const MAXMIND = {
  keyEnv: 'MAXMIND_LICENSE_KEY',
  keyFrom: 'https://www.maxmind.com/en/geolite2/signup',
  licence: 'GeoLite End User License Agreement, which wants old versions to be deleted',
  attribution: 'This product includes GeoLite Data created by MaxMind, available from https://www.maxmind.com',
} as const

/** The address with the key alone is an old one, and may cease. */
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
 * @param accountNumber of the vendor's account, which leads to the newer of two addresses
 */
export function entryOf({ url, file, schedule, keyEnv, account }: KnownSource, accountNumber?: string): SourceEntry {
  const key = keyEnv === undefined ? {} : { key_env: keyEnv }
  const from = account === undefined || !accountNumber ? { url } : { url: account.url, key_user: accountNumber }
  return { file, ...from, ...key, schedule }
}

/** @throws InputError that names those that are known */
export function knownSource(name: string): KnownSource {
  const source = KNOWN_SOURCES.find((candidate) => candidate.name === name)
  if (source !== undefined) return source
  throw new InputError(`no source is known as "${name}": ${KNOWN_SOURCES.map((known) => known.name).join(', ')}`)
}
