/** A data set that is used unless DEFAULT_DATA is off. */
export interface DefaultSet {
  /** The provider's name. */
  readonly name: string
  /** The optional npm package with the data. */
  readonly package: string
  /** Files of the package: an MMDB, or CSVs of ranges `first,last,number,name` of autonomous systems. */
  readonly files: readonly string[]
  readonly licence: string
  /** The text that the licence requires wherever results are shown. */
  readonly attribution: string
  readonly kind: 'asn' | 'location'
  /** Name of a known source with newer data that needs no key. */
  readonly newer: string
}

export const DEFAULT_SETS: readonly DefaultSet[] = [
  {
    name: 'ip-location-db-asn',
    package: '@ip-location-db/asn',
    files: ['asn-ipv4.csv', 'asn-ipv6.csv'],
    licence: 'CC BY 4.0',
    attribution: 'data of RouteViews (routeviews.org), NRO (nro.net), IP Geolocation by DB-IP (https://db-ip.com)',
    kind: 'asn',
    newer: 'iptoasn',
  },
  {
    name: 'ip-location-db-country',
    package: '@ip-location-db/geo-whois-asn-country-mmdb',
    files: ['geo-whois-asn-country.mmdb'],
    licence: 'CC0 1.0, with data of the NRO under CC BY 4.0',
    attribution: 'data of the NRO (nro.net)',
    kind: 'location',
    newer: 'dbip-lite-country',
  },
]
