import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type CountryResponse, open, type Reader } from 'maxmind'

const FILE = fileURLToPath(
  new URL('../../node_modules/@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb', import.meta.url),
)

/** Whether the product's default data set is installed. */
export function hasAddressData(): boolean {
  return existsSync(FILE)
}

/** The country of an address. The product returns more, from more data. */
interface AddressData {
  countryOf(ip: string): string | undefined
}

export async function openAddressData(): Promise<AddressData> {
  const reader = (await open(FILE)) as unknown as Reader<CountryResponse & { country_code?: string }>
  return { countryOf: (ip) => reader.get(ip)?.country_code }
}
