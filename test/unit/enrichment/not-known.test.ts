import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readGeofeed } from '../../../src/enrichment/providers/lists/geofeed.ts'
import { readPublished } from '../../../src/enrichment/providers/lists/published.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import { readAttributes } from '../../../src/enrichment/providers/tables/organisation-row.ts'
import { isNotKnownName } from '../../../src/enrichment/rules/not-known.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'

const MARKERS = [
  'Unknown',
  'N/A',
  'n.a.',
  'null',
  'None',
  '-',
  '--',
  '?',
  '(unknown)',
  '<NULL>',
  'NA',
  'AS0',
  'Not routed',
  ...['#N/A', '#NULL!', 'N / A', 'none;', 'unknown\u200b', '\uff55nknown', 'Not-Available', 'data not available'],
  ...['-Reserved AS-', 'UNKNOWN-AS', 'AS-0', 'NO-NAME', '00'],
]
const COMPANIES = [
  'Unknown Worlds',
  'Nonesuch',
  'NA Corp',
  'Null Island Ltd',
  'None of Us BV',
  'Nil Tech',
  '\u5927\u5b66',
  '3M',
  ...['N26', 'Null-Modem GmbH', 'Reserved AS Ltd', 'AS-Interactive', 'O2'],
]

async function factsOf(record: object) {
  const bytes = mmdb('Example', { '81.2.69.0/24': record as never, '81.2.70.0/24': SEEN })
  const provider = await loadMmdb({ name: 'a', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  return provider.find(address('81.2.69.1'))
}

/** Another record of the file, which identifies its members. */
const SEEN = {
  name: 'Seen',
  domain: 'seen.example',
  as_name: 'Seen',
  asn: 7,
  country_code: 'DE',
  country_name: 'Germany',
  city: 'Berlin',
  region: 'Berlin',
}

test('markers for "not known" are no names, but names that contain one are', () => {
  for (const marker of MARKERS) assert.equal(isNotKnownName(marker), true, marker)
  for (const name of COMPANIES) assert.equal(isNotKnownName(name), false, name)
})

test('a record of markers has no facts, whatever the vendor writes', async () => {
  for (const marker of MARKERS) {
    const facts = await factsOf({
      name: marker,
      as_name: marker,
      domain: '-',
      asn: 0,
      country_code: 'ZZ',
      country_name: 'Unknown',
    })
    assert.equal(facts, undefined, marker)
  }
  const facts = await factsOf({ name: 'Unknown Worlds', as_name: 'n/a', country_code: 'na' })
  assert.equal(facts?.organisation?.name, 'Unknown Worlds')
  assert.deepEqual([facts.data.as_name, facts.data.country_code], [undefined, 'NA'])
})

test('a country code in lower case is accepted', async () => {
  const bytes = mmdb('Example', { '81.2.69.0/24': { country: 'us' } })
  const provider = await loadMmdb({ name: 'a', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  assert.deepEqual(provider.find(address('81.2.69.1'))?.data, { country_code: 'US' })
})

test('a place named like a marker is a place in its country, and elsewhere a marker', async () => {
  const places = [
    ['Nan', 'Nan', 'TH', true],
    ['NAN', 'NAN', 'th', true],
    ['None', 'None', 'IT', true],
    ['No Name', 'Colorado', 'US', true],
    ['nan', 'NaN', 'TH', false],
    ['Nan', 'nan', 'DE', false],
    ['None', 'none', 'TH', false],
    ['none', 'Missing', 'IT', false],
    ['Nan', 'None', '', false],
  ] as const
  for (const [city, region, country, isKnown] of places) {
    const facts = await factsOf({ city, region, country_code: country, country_name: '-', as_name: 'A' })
    const { location } = (await readGeofeed(Buffer.from(`81.2.69.0/24,${country},${region},${city},1`), 'isp', 'f', 9))
      .entries[0]!
    for (const data of [facts!.data, location!]) {
      assert.deepEqual(
        [data.city, data.region],
        isKnown ? [city, region] : [undefined, undefined],
        `${city}, ${country}`,
      )
    }
  }
  const named = await factsOf({ city: 'None', country_name: 'Italy', as_name: 'A' })
  assert.equal(named?.data.city, 'None')
})

test('a row of a table leaves out markers, and Namibia stays', () => {
  const row = {
    business_name: 'N/A',
    org_name: 'Unknown',
    domain: 'null',
    asn: 'AS0',
    as_name: '-',
    country_code: '--',
  }
  assert.deepEqual(readAttributes(row), {})
  assert.deepEqual(readAttributes({ country_code: 'XX', industry: 'None' }), {})
  assert.deepEqual(readAttributes({ country_code: 'na', business_name: 'NA Corp' }), {
    country_code: 'NA',
    business_name: 'NA Corp',
  })
})

test('wrong entries of a geofeed are left out and reported; comments are removed', async () => {
  const rows = [
    '81.2.69.0/24,GB,GB-ENG,London,SW1 # our "first" site',
    '81.2.70.0/24,USA,,,',
    '81.2.71.0/33,US,,,',
    '81.2.72.0/24,"US,,,',
    '# a comment',
    '81.2.73.0/24,ZZ,-,"Unit #1, Town",',
  ]
  const { entries, warnings } = await readGeofeed(Buffer.from(rows.join('\r\n')), 'isp', 'feed', 10)
  assert.deepEqual(
    entries.map(({ location }) => location),
    [{ country_code: 'GB', region: 'GB-ENG', city: 'London', postal_code: 'SW1' }, { city: 'Unit #1, Town' }],
  )
  assert.match(
    warnings!.join(),
    /^skipped entries: 3 \(line 2: "USA" is not a country code .*line 3: .*line 4: .* is not CSV\)$/,
  )
  await assert.rejects(readGeofeed(Buffer.from(rows[1]!), 'isp', 'feed', 10), /holds no networks: skipped entries: 1/)

  const vultr = {
    subnets: [
      { ip_prefix: '81.2.69.0/24', alpha2code: 'USA' },
      { ip_prefix: '81.2.70.0/24', alpha2code: 'us' },
    ],
  }
  const published = readPublished(Buffer.from(JSON.stringify(vultr)), undefined, 10)
  assert.deepEqual([published.entries.length, published.warnings?.length], [1, 1])
})
