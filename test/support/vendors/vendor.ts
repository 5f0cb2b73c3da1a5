import { type MmdbValue, typed } from '../../../src/enrichment/providers/mmdb/encode.ts'
import type { ProviderKind } from '../../../src/enrichment/providers/provider.ts'
import type { Evidence } from '../../../src/enrichment/rules/evidence.ts'
import type { EnrichmentData } from '../../../src/pipeline/event/enrichment.ts'

/** A record of a vendor's database, and the values to read from it. */
export interface Vendor {
  readonly type: string
  readonly record: Readonly<Record<string, MmdbValue>>
  readonly kind: ProviderKind
  readonly recognisedAs: string
  readonly data: EnrichmentData
  readonly evidence?: Evidence
}

/** A place in MaxMind's form, which other vendors use too. */
export const place = {
  continent: { code: 'EU', geoname_id: 6_255_148, names: { en: 'Europe', fr: 'Europe' } },
  country: { iso_code: 'GB', names: { en: 'United Kingdom', fr: 'Royaume-Uni' } },
  registered_country: { iso_code: 'FR', names: { en: 'France' } },
  city: { names: { en: 'Boxford' } },
  location: {
    latitude: typed('double', 51.75),
    longitude: typed('double', -1.25),
    accuracy_radius: typed('uint16', 100),
    time_zone: 'Europe/London',
  },
  postal: { code: 'OX1' },
  subdivisions: [
    { iso_code: 'ENG', names: { en: 'England' } },
    { iso_code: 'WBK', names: { en: 'West Berkshire' } },
  ],
}
export const placeData: EnrichmentData = {
  continent: 'Europe',
  country: 'United Kingdom',
  country_code: 'GB',
  region: 'England',
  city: 'Boxford',
  postal_code: 'OX1',
  latitude: 51.75,
  longitude: -1.25,
  timezone: 'Europe/London',
}
