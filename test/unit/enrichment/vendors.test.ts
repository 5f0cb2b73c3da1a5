import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EnrichmentData } from '../../../src/core/event/enrichment.ts'
import { type MmdbValue, typed } from '../../../src/enrichment/providers/mmdb/encode.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import type { ProviderKind } from '../../../src/enrichment/providers/provider.ts'
import type { Evidence } from '../../../src/enrichment/rules/evidence.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'

interface Vendor {
  readonly type: string
  readonly record: Readonly<Record<string, MmdbValue>>
  readonly kind: ProviderKind
  readonly recognisedAs: string
  readonly data: EnrichmentData
  readonly evidence?: Evidence
}

const place = {
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
const placeData: EnrichmentData = {
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

const VENDORS: readonly Vendor[] = [
  {
    type: 'GeoLite2-ASN',
    record: { autonomous_system_number: 64_500, autonomous_system_organization: 'Example Net' },
    kind: 'asn',
    recognisedAs: 'MaxMind ASN',
    data: { org_name: 'Example Net', asn: 64_500, as_name: 'Example Net' },
    evidence: { asn: 64_500, asName: 'Example Net' },
  },
  {
    type: 'GeoIP2-ISP',
    record: {
      autonomous_system_number: 64_500,
      autonomous_system_organization: 'Carrier AS',
      isp: 'Carrier',
      organization: 'Example GmbH',
      mobile_country_code: '310',
    },
    kind: 'isp',
    recognisedAs: 'MaxMind ISP',
    data: { org_name: 'Example GmbH', asn: 64_500, as_name: 'Carrier AS' },
    evidence: { asn: 64_500, asName: 'Carrier AS', orgName: 'Example GmbH' },
  },
  {
    type: 'GeoIP2-ISP',
    record: { isp: 'Carrier', organization: 'CARRIER' },
    kind: 'isp',
    recognisedAs: 'MaxMind ISP',
    data: { org_name: 'CARRIER' },
    evidence: { asName: 'Carrier' },
  },
  {
    type: 'GeoIP2-City',
    record: { ...place, traits: { is_anycast: true } },
    kind: 'location',
    recognisedAs: 'MaxMind City',
    data: placeData,
  },
  {
    type: 'GeoLite2-Country',
    record: { continent: { code: 'OC' }, country: { iso_code: 'AU' } },
    kind: 'location',
    recognisedAs: 'MaxMind Country',
    data: { continent: 'Oceania', country_code: 'AU' },
  },
  {
    type: 'GeoIP2-Enterprise',
    record: {
      ...place,
      traits: {
        autonomous_system_number: 64_500,
        autonomous_system_organization: 'Carrier AS',
        isp: 'Carrier',
        organization: 'Example GmbH',
        domain: 'example.co.uk',
        connection_type: 'Corporate',
        user_type: 'business',
      },
    },
    kind: 'company',
    recognisedAs: 'MaxMind Enterprise',
    data: {
      ...placeData,
      business_name: 'Example GmbH',
      org_name: 'Example GmbH',
      domain: 'example.co.uk',
      asn: 64_500,
      as_name: 'Carrier AS',
    },
    evidence: {
      asn: 64_500,
      asName: 'Carrier AS',
      orgName: 'Example GmbH',
      domain: 'example.co.uk',
      orgType: 'business',
      connectionType: 'Corporate',
    },
  },
  {
    type: 'GeoIP2-Domain',
    record: { domain: 'example.com' },
    kind: 'domain',
    recognisedAs: 'MaxMind Domain',
    data: { domain: 'example.com' },
    evidence: { domain: 'example.com' },
  },
  {
    type: 'GeoIP2-Connection-Type',
    record: { connection_type: 'Cable/DSL' },
    kind: 'connection',
    recognisedAs: 'MaxMind Connection Type',
    data: {},
    evidence: { connectionType: 'Cable/DSL' },
  },
  {
    type: 'GeoIP2-Anonymous-IP',
    record: { is_anonymous: true, is_hosting_provider: true, is_residential_proxy: true },
    kind: 'anonymity',
    recognisedAs: 'MaxMind Anonymous IP',
    data: {},
    evidence: { isHosting: true, isProxy: true },
  },
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
    recognisedAs: 'IPinfo ASN',
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
    // The older file has codes where the newer one has names.
    type: 'ipinfo generic_country_free_country_asn.mmdb',
    record: {
      country: 'AU',
      country_name: 'Australia',
      continent: 'OC',
      continent_name: 'Oceania',
      asn: 'AS64500',
      as_name: 'Example, Inc.',
      as_domain: 'example.com',
    },
    kind: 'asn',
    recognisedAs: 'IPinfo ASN',
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
    type: 'ipinfo generic_asn_mmdb_v4.mmdb',
    record: {
      asn: 'AS64500',
      name: 'Example',
      domain: 'example.com',
      type: 'hosting',
      route: '81.2.69.0/24',
      country: 'US',
    },
    kind: 'asn',
    recognisedAs: 'IPinfo ASN',
    data: { org_name: 'Example', asn: 64_500, as_name: 'Example' },
    evidence: { asn: 64_500, asName: 'Example', asDomain: 'example.com', asType: 'hosting' },
  },
  {
    type: 'ipinfo standard_company.mmdb',
    record: {
      name: 'Example GmbH',
      domain: 'example.com',
      type: 'business',
      asn: 'AS64500',
      as_name: 'Carrier',
      as_domain: 'carrier.example.net',
      as_type: 'isp',
      country: 'DE',
    },
    kind: 'company',
    recognisedAs: 'IPinfo company',
    data: {
      country_code: 'DE',
      business_name: 'Example GmbH',
      org_name: 'Example GmbH',
      domain: 'example.com',
      asn: 64_500,
      as_name: 'Carrier',
    },
    evidence: {
      asn: 64_500,
      asName: 'Carrier',
      asDomain: 'carrier.example.net',
      asType: 'isp',
      orgName: 'Example GmbH',
      domain: 'example.com',
      orgType: 'business',
    },
  },
  {
    type: 'ipinfo standard_location_mmdb.mmdb',
    record: {
      city: 'Boxford',
      region: 'England',
      country: 'GB',
      lat: '51.75000',
      lng: '-1.25000',
      postal_code: 'OX1',
      timezone: 'Europe/London',
      geoname_id: '2655045',
    },
    kind: 'location',
    recognisedAs: 'IPinfo location',
    data: {
      country_code: 'GB',
      region: 'England',
      city: 'Boxford',
      postal_code: 'OX1',
      latitude: 51.75,
      longitude: -1.25,
      timezone: 'Europe/London',
    },
  },
  {
    type: 'ipinfo standard_privacy.mmdb',
    record: { hosting: 'true', proxy: '', relay: 'true', tor: '', vpn: 'true', service: 'ExampleVPN' },
    kind: 'anonymity',
    recognisedAs: 'IPinfo anonymity',
    data: {},
    evidence: { isHosting: true, isProxy: true, isAnonymousVpn: true },
  },
  {
    type: 'ipinfo asnSample.mmdb',
    record: {
      asn: '64500',
      org: 'Example, Inc.',
      descr: 'EXAMPLENET',
      domain: 'example.com',
      type: 'hosting',
      country: 'us',
      abuser_score: '0.0097 (Low)',
    },
    kind: 'asn',
    recognisedAs: 'ipapi.is ASN',
    data: { org_name: 'Example, Inc.', asn: 64_500, as_name: 'Example, Inc.' },
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com', asType: 'hosting' },
  },
  {
    type: 'ipinfo companySample.mmdb',
    record: {
      company: 'Example Bank',
      domain: 'example.com',
      type: 'banking',
      netname: 'EX-BANK',
      network: '81.2.69.0/24',
    },
    kind: 'company',
    recognisedAs: 'ipapi.is company',
    data: { business_name: 'Example Bank', org_name: 'Example Bank', domain: 'example.com' },
    evidence: { orgName: 'Example Bank', domain: 'example.com', orgType: 'banking' },
  },
  {
    type: 'ipinfo HostingRangesIPv4-Sample.mmdb',
    record: { datacenter: 'Example Hosting', domain: 'example.com', network: '81.2.69.0 - 81.2.69.255' },
    kind: 'anonymity',
    recognisedAs: 'ipapi.is anonymity',
    data: { org_name: 'Example Hosting', domain: 'example.com' },
    evidence: { isHosting: true, orgName: 'Example Hosting', domain: 'example.com' },
  },
  {
    type: 'DBIP-ASN-Lite (compat=GeoLite2-ASN)',
    record: { autonomous_system_number: 64_500, autonomous_system_organization: 'Example Net' },
    kind: 'asn',
    recognisedAs: 'DB-IP ASN',
    data: { org_name: 'Example Net', asn: 64_500, as_name: 'Example Net' },
  },
  {
    type: 'DBIP-ISP (compat=Enterprise)',
    record: {
      traits: {
        autonomous_system_number: 64_500,
        autonomous_system_organization: 'Carrier AS',
        isp: 'Carrier',
        organization: 'Example GmbH',
        connection_type: 'Corporate',
        user_type: 'business',
      },
    },
    kind: 'company',
    recognisedAs: 'DB-IP company',
    data: { business_name: 'Example GmbH', org_name: 'Example GmbH', asn: 64_500, as_name: 'Carrier AS' },
  },
  {
    type: 'DBIP-Location (compat=City)',
    record: place,
    kind: 'location',
    recognisedAs: 'DB-IP location',
    data: placeData,
  },
  {
    type: 'iplocate ip-to-asn-20251001.mmdb',
    record: { asn: '64500', country_code: 'US', name: 'EXAMPLENET', org: 'Example, Inc.', domain: 'example.com' },
    kind: 'asn',
    recognisedAs: 'IPLocate ASN',
    data: { org_name: 'Example, Inc.', asn: 64_500, as_name: 'Example, Inc.' },
    evidence: { asn: 64_500, asName: 'Example, Inc.', asDomain: 'example.com' },
  },
  {
    type: 'iplocate ip-to-country-20251001.mmdb',
    record: { continent_code: 'EU', country_code: 'DE', country_name: 'Germany' },
    kind: 'location',
    recognisedAs: 'IPLocate location',
    data: { continent: 'Europe', country: 'Germany', country_code: 'DE' },
  },
  {
    type: 'IP2LITE-City',
    record: { ...place, postal: { code: '-' } },
    kind: 'location',
    recognisedAs: 'IP2Location location',
    data: { ...placeData, postal_code: undefined },
  },
  {
    type: 'some-country-database',
    record: { country_code: 'DE' },
    kind: 'location',
    recognisedAs: 'by its fields: location',
    data: { country_code: 'DE' },
  },
  {
    type: 'ipid organisations',
    record: { business_name: 'Example GmbH', domain: 'example.com', industry: 'Software', classification: 'business' },
    kind: 'table',
    recognisedAs: 'ipid organisations',
    data: { business_name: 'Example GmbH', domain: 'example.com', industry: 'Software' },
    evidence: { orgName: 'Example GmbH', domain: 'example.com', explicit: 'business' },
  },
]

for (const vendor of VENDORS) {
  test(`${vendor.type} with ${Object.keys(vendor.record).join(', ')} is read`, async () => {
    const bytes = mmdb(vendor.type, { '81.2.69.0/24': vendor.record })
    const provider = await loadMmdb({ name: 'vendor', bytes, mapping: undefined, recordsMax: 10 })
    assert.equal(provider.kind, vendor.kind)
    assert.equal(provider.recognisedAs, vendor.recognisedAs)
    assert.equal(provider.networkOf(address('81.2.69.7')), '81.2.69.0/24')
    assert.equal(provider.builtAt?.getTime(), 1_760_000_000_000)
    const facts = provider.find(address('81.2.69.7'))
    const known = Object.fromEntries(Object.entries(vendor.data).filter(([, value]) => value !== undefined))
    assert.deepEqual(facts?.data, known)
    if (vendor.evidence !== undefined) assert.deepEqual(facts?.evidence, vendor.evidence)
    assert.equal(provider.find(address('81.2.70.7')), undefined)
  })
}

test('members that only some records have are found', async () => {
  const bytes = mmdb('GeoIP2-Anonymous-IP', {
    '81.2.69.0/24': { is_anonymous: true },
    '81.2.70.0/24': { is_anonymous: true, is_tor_exit_node: true },
  })
  const provider = await loadMmdb({ name: 'anonymous', bytes, mapping: undefined, recordsMax: 10 })
  assert.equal(provider.find(address('81.2.69.1')), undefined)
  assert.deepEqual(provider.find(address('81.2.70.1'))?.evidence, { isTor: true })
})

test('values that say nothing are left out', async () => {
  const bytes = mmdb('ipinfo standard_company.mmdb', {
    '81.2.69.0/24': {
      name: 'Example',
      domain: '',
      type: '',
      asn: '',
      as_name: '',
      as_domain: '',
      as_type: '',
      country: '-',
    },
    '81.2.70.0/24': {
      name: ' ',
      domain: 'x',
      type: '',
      asn: 'AS0',
      as_name: 'Carrier',
      as_domain: '',
      as_type: 'isp',
      country: '',
    },
  })
  const provider = await loadMmdb({ name: 'company', bytes, mapping: undefined, recordsMax: 10 })
  assert.deepEqual(provider.find(address('81.2.69.1'))?.data, { business_name: 'Example', org_name: 'Example' })
  assert.deepEqual(provider.find(address('81.2.70.1'))?.data, { org_name: 'Carrier', as_name: 'Carrier' })
})
