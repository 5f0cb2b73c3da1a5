import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Snapshot } from '../../../src/enrichment/answers/snapshot.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../../src/enrichment/limits.ts'
import type { MmdbValue } from '../../../src/enrichment/providers/mmdb/encode.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import { byTrust, type Provider } from '../../../src/enrichment/providers/provider.ts'
import { loadTable } from '../../../src/enrichment/providers/tables/provider.ts'
import { businessName } from '../../../src/enrichment/rules/business-name.ts'
import { nameKey } from '../../../src/enrichment/rules/company-id.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'

const BLOCK = '81.2.69.0/24'
const CLOUD = { name: 'Amazon.com', domain: 'amazon.com', asn: 16_509 }

const file = (name: string, type: string, record: Readonly<Record<string, MmdbValue>>) =>
  loadMmdb({ name, bytes: mmdb(type, { [BLOCK]: record }), mapping: undefined, recordsBytesMax: 10_000 })
const table = (name: string, row: string) =>
  loadTable({
    name,
    format: 'csv',
    text: Buffer.from(`network,business_name,domain,classification\n${row}\n`),
    rowsMax: 10,
  })

/** Sources that name the company that owns the block, each in its own way. */
function companySources(name: string, type: string): Promise<Provider>[] {
  const asn = { autonomous_system_number: CLOUD.asn, autonomous_system_organization: 'AMAZON-02' }
  const company = { name, domain: '', type }
  const cloud = { asn: `AS${CLOUD.asn}`, as_name: CLOUD.name, as_domain: CLOUD.domain, as_type: 'hosting' }
  return [
    table('own', `${BLOCK},${name},,`),
    file('company', 'ipinfo standard_company.mmdb', { ...company, ...cloud }),
    file('company-alone', 'ipinfo companySample.mmdb', company),
    file('enterprise', 'GeoIP2-Enterprise', { traits: { organization: name, isp: CLOUD.name, ...asn } }),
    file('isp', 'GeoIP2-ISP', { isp: CLOUD.name, organization: name, ...asn }),
    // "Dundonald High School" in MaxMind's file: it is its own ISP, and has no AS or the cloud's.
    file('isp-of-itself', 'GeoIP2-ISP', { isp: name, organization: name }),
    file('isp-in-as', 'GeoIP2-ISP', { isp: name, organization: name, ...asn }),
  ]
}

/** Sources that call the AS and everything in it a cloud's. */
const cloudSources = (): Promise<Provider>[] => [
  table('as-rows', `AS${CLOUD.asn},${CLOUD.name},${CLOUD.domain},cloud`),
  table('zz-as-rows', `AS${CLOUD.asn},${CLOUD.name},,cloud`),
  file('asn', 'GeoLite2-ASN', {
    autonomous_system_number: CLOUD.asn,
    autonomous_system_organization: 'AMAZON-02',
  }),
  file('lite', 'ipinfo bundle_location_lite_sample.mmdb', {
    ...{ asn: `AS${CLOUD.asn}`, as_name: CLOUD.name, as_domain: CLOUD.domain },
    ...{ country: 'United States', country_code: 'US', continent: 'North America', continent_code: 'NA' },
  }),
  file('types', 'ipinfo generic_asn_mmdb_v4.mmdb', {
    ...{ asn: `AS${CLOUD.asn}`, name: CLOUD.name, domain: CLOUD.domain, type: 'hosting', route: BLOCK },
  }),
]

function* subsets<T>(all: readonly T[], sizeMax = all.length): Generator<T[]> {
  for (let bits = 0; bits < 2 ** all.length; bits++) {
    const chosen = all.filter((_, i) => (bits >> i) & 1)
    if (chosen.length <= sizeMax) yield chosen
  }
}

for (const [name, classification] of [
  ['Kibo High School', 'education'],
  ['Quux Anvils GmbH', 'business'],
] as const) {
  test(`a company's own block in a cloud's AS is the company's by any sources: ${name}`, async () => {
    const companies = await Promise.all(companySources(name, classification))
    const clouds = await Promise.all(cloudSources())
    const wrong: string[] = []
    for (const known of subsets(companies, 2)) {
      if (known.length === 0) continue
      for (const others of subsets(clouds)) {
        const providers = [...known, ...others].sort(byTrust)
        const answer = new Snapshot(providers, DEFAULT_ENRICHMENT_LIMITS, () => {}).resolve(address('81.2.69.7'))
        // When no source knows the AS, a name like Quux has no class.
        const said = [
          answer.noise,
          answer.classification ?? 'business',
          answer.companyId,
          businessName(String(answer.data.business_name)),
        ]
        const expected = [false, classification, nameKey(name), businessName(name)]
        if (`${said}` !== `${expected}`) wrong.push(`${providers.map((provider) => provider.name)}: ${said}`)
      }
    }
    assert.deepEqual(wrong, [])
  })
}
