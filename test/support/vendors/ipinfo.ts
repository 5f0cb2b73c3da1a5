import { typed } from '../../../src/enrichment/providers/mmdb/encode.ts'
import type { Vendor } from './vendor.ts'

const IPINFO_PLACE = {
  city: 'Sydney',
  region: 'New South Wales',
  region_code: 'NSW',
  country: 'Australia',
  country_code: 'AU',
  continent: 'Oceania',
  continent_code: 'OC',
  latitude: typed('double', -33.5),
  longitude: typed('double', 151.25),
  timezone: 'Australia/Sydney',
  postal_code: '2000',
}
const { region_code: _, continent_code: _c, ...named } = IPINFO_PLACE
const IPINFO_PLACE_DATA = { ...named, latitude: -33.5, longitude: 151.25 }
const IPINFO_AS = { asn: 'AS64500', as_name: 'Example, Inc.', as_domain: 'example.com', as_type: 'isp' }
const IPINFO_EVIDENCE = { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com', asType: 'isp' }

/** IPinfo's files of AS and place together. */
export const IPINFO: readonly Vendor[] = [
  {
    type: 'ipinfo bundle_location_lite_sample.mmdb',
    record: {
      country: 'Australia',
      country_code: 'AU',
      continent: 'Oceania',
      continent_code: 'OC',
      asn: 'AS64500',
      as_name: 'Example, Inc.',
      as_domain: 'example.com',
    },
    kind: 'asn',
    recognisedAs: 'IPinfo Lite',
    data: {
      continent: 'Oceania',
      country: 'Australia',
      country_code: 'AU',
      org_name: 'Example, Inc.',
      asn: 64_500,
      as_name: 'Example, Inc.',
    },
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com' },
  },
  {
    type: 'ipinfo bundle_location_core.mmdb',
    record: {
      ...IPINFO_PLACE,
      ...IPINFO_AS,
      is_anonymous: false,
      is_anycast: false,
      is_hosting: false,
      is_mobile: true,
      is_satellite: false,
    },
    kind: 'asn',
    recognisedAs: 'IPinfo Core',
    data: { ...IPINFO_PLACE_DATA, org_name: 'Example, Inc.', asn: 64_500, as_name: 'Example, Inc.' },
    evidence: { ...IPINFO_EVIDENCE, connectionType: 'Cellular' },
  },
  {
    type: 'ipinfo bundle_location_plus.mmdb',
    record: {
      ...IPINFO_PLACE,
      ...IPINFO_AS,
      radius: 50,
      is_anonymous: true,
      is_hosting: false,
      is_mobile: false,
      is_proxy: false,
      is_relay: false,
      is_satellite: true,
      is_tor: false,
      is_vpn: false,
    },
    kind: 'asn',
    recognisedAs: 'IPinfo Plus',
    data: { ...IPINFO_PLACE_DATA, org_name: 'Example, Inc.', asn: 64_500, as_name: 'Example, Inc.' },
    evidence: { ...IPINFO_EVIDENCE, connectionType: 'Satellite', isAnonymous: true },
  },
  {
    type: 'some flags',
    record: { is_mobile: true },
    kind: 'connection',
    recognisedAs: 'by its fields: connection type',
    data: {},
    evidence: { connectionType: 'Cellular' },
  },
]
