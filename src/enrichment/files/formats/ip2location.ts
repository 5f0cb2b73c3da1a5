import { headerlessTable } from './headerless.ts'
import type { VendorRecord } from './vendor-table.ts'

const LOCATION = [
  ...['country_code', 'country_name', 'region_name', 'city_name', 'latitude', 'longitude', 'zip_code', 'time_zone'],
]
const PROXY = [
  ...['proxy_type', 'country_code', 'country_name', 'region_name', 'city_name', 'isp', 'domain', 'usage_type'],
  ...['asn', 'as_name', 'last_seen', 'threat', 'provider', 'fraud_score'],
]

/**
 * The LITE files of IP2Location and IP2Proxy as CSV (lite.ip2location.com), in which addresses are decimal numbers, or networks in files
 * named `…CIDR.CSV`.
 */
export const ip2location = headerlessTable({
  name: 'ip2location csv',
  vendor: 'IP2Location',
  isOwn: ([first = '', last = ''], file) =>
    (isNumber(first) && isNumber(last)) || (first.includes('/') && /^ip2(?:location|proxy)/i.test(file)),
  layouts: [
    ...[2, 4, 6, 7, 8].map((count) => LOCATION.slice(0, count)),
    ...[3, 5, 6, 7, 8, 10, 11, 12, 13, 14].map((count) => PROXY.slice(0, count)),
    ['cidr', 'asn', 'as_name'],
    ['asn', 'as_name'],
  ],
  products: 'DB1, DB3, DB5, DB9, DB11, ASN and PX2 to PX12',
  record: recordOf,
})

function isNumber(cell: string): boolean {
  return /^\d{1,39}$/.test(cell)
}

/** What a type of proxy says of an address. An enterprise's private network (EPN) is no proxy: its visitors are at work. */
const PROXY_TYPES: Readonly<Record<string, VendorRecord>> = {
  VPN: { is_vpn: true },
  CPN: { is_relay: true },
  TOR: { is_tor: true },
  DCH: { is_hosting: true },
  PUB: { is_proxy: true },
  WEB: { is_proxy: true },
  RES: { is_residential_proxy: true },
  SES: { usage_type: 'SES' },
}

/** The domain is the provider's, not the visitor's. */
const UNUSED: ReadonlySet<string> = new Set([
  ...['cidr', 'proxy_type', 'domain', 'last_seen', 'threat', 'provider', 'fraud_score'],
])

function recordOf(values: Record<string, string>): VendorRecord {
  const record: Record<string, VendorRecord[string]> = { ...PROXY_TYPES[values.proxy_type ?? ''] }
  for (const column in values) if (!UNUSED.has(column)) record[column] ??= values[column]!
  return record
}
