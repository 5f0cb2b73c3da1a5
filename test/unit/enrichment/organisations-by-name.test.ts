import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Snapshot } from '../../../src/enrichment/answers/snapshot.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../../src/enrichment/limits.ts'
import type { MmdbValue } from '../../../src/enrichment/providers/mmdb/encode.ts'
import { loadMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import { byTrust } from '../../../src/enrichment/providers/provider.ts'
import { loadTable } from '../../../src/enrichment/providers/tables/provider.ts'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'

const TABLE = `network,business_name,org_name,domain,industry,classification,country_code
AS64500,Quux,Quux SE,quux.example.com,Software,business,DE
AS64501,Quux,Quux Deutschland AG,quux.example.com,Software,business,DE
AS64502,Kibo Anvil Works,Kibo Anvil Works Ltd,kibo.example.net,Metals,business,GB
AS64503,Ministry of Anvils,Ministry of Anvils,anvils.example.org,,government,KE
AS64504,Apex,Apex Ltd,apex.example.com,,business,GB
AS64505,Apex,Apex PLC,apex.example.net,,business,GB
AS64506,Zug Telecom,Zug Telecom AG,zug.example.com,,isp,CH
AS64508,NVIDIA,NVIDIA Corporation,nvidia.com,Semiconductors,business,US
AS64509,Kibo Informatica,J L Kibo Informatica ME,kibo.example.com,Software,business,BR
AS64510,LEARN,Example Research Network,learn.example.lk,Research,education,LK
AS64511,LEARN,LEARN,,Research,education,US
AS64512,LEARN,Lanka LEARN,,Research,education,LK
AS64513,Kibo Anvil Works,Kibo Anvil Works SA,,Metals,business,FR
AS64507,Amazon,"Amazon.com, Inc.",amazon.com,,business,US
`

/** The answer for an address in an AS that the table has no row for. */
async function answerFor(asName: string, country: string, asn = 64_599) {
  const table = await loadTable({ name: 'organisations', format: 'csv', text: Buffer.from(TABLE), rowsMax: 30 })
  const file = (name: string, type: string, record: MmdbValue) =>
    loadMmdb({ name, bytes: mmdb(type, { '81.2.69.0/24': record }), mapping: undefined, recordsBytesMax: 10_000 })
  const asRecord = { autonomous_system_number: asn, autonomous_system_organization: asName }
  const providers = [
    table,
    await file('asn', 'GeoLite2-ASN', asRecord),
    await file('country', 'GeoLite2-Country', { country: { iso_code: country, names: { en: country } } }),
  ].sort(byTrust)
  const { data, companyId, noise } = new Snapshot(providers, DEFAULT_ENRICHMENT_LIMITS, (_, error) =>
    assert.ifError(error),
  ).resolve(address('81.2.69.7'))
  return { ...data, companyId, noise }
}

test('a network of an organisation in the table gets its domain and industry, and keeps its own facts', async () => {
  const answer = await answerFor('QUUX SE', 'US')
  assert.equal(answer.companyId, 'example.com')
  assert.equal(answer.business_name, 'Quux')
  assert.equal(answer.industry, 'Software')
  assert.equal(answer.classification, 'business')
  assert.equal(answer.org_name, 'QUUX SE')
  assert.equal(answer.asn, 64_599)
  assert.equal(answer.country_code, 'US')
})

test('a name without its legal form matches in the country of the row', async () => {
  assert.equal((await answerFor('Quux GmbH', 'DE')).domain, 'quux.example.com')
  assert.equal((await answerFor('QUUX-AS Quux AG', 'DE')).domain, 'quux.example.com')
  assert.equal((await answerFor('Quux Ltda', 'BR')).domain, undefined)
})

test('a name of several words matches in any country, a public body does not', async () => {
  assert.equal((await answerFor('Kibo Anvil Works GmbH', 'DE')).companyId, 'example.net')
  assert.equal((await answerFor('Ministry Of Anvils', 'KE')).domain, 'anvils.example.org')
  assert.equal((await answerFor('The Ministry of Anvils', 'TZ')).domain, undefined)
  assert.equal((await answerFor('Ministry of Anvils', 'TZ')).domain, undefined)
})

test('a brand that one company has in the whole world matches in any country', async () => {
  assert.equal((await answerFor('NVIDIA Ltd', 'IN')).companyId, 'nvidia.com')
})

test('two organisations with one name match neither', async () => {
  assert.equal((await answerFor('Apex GmbH', 'GB')).domain, undefined)
})

test('access providers and noise networks are not named by a table', async () => {
  assert.equal((await answerFor('Zug Telecom AG', 'CH')).domain, undefined)
  const cloud = await answerFor('Amazon.com, Inc.', 'US', 16_509)
  assert.equal(cloud.classification, 'cloud')
  assert.equal(cloud.noise, true)
})

test('a row outranks a vote of the model, and no other rule', async () => {
  const name = 'J L KIBO INFORMATICA ME'
  assert.match(classify({ asn: 269_306, asName: name, asAddresses: 256, asHasV6: false }).rule, /^model:isp/)
  const answer = await answerFor(name, 'BR', 269_306)
  assert.deepEqual([answer.companyId, answer.noise], ['example.com', false])
  assert.equal((await answerFor('Zug Telecom AG', 'CH')).noise, true)
})

test("a row about a provider's network does not hide a customer with an AS of its own", async () => {
  const text = Buffer.from(
    'network,business_name,domain,classification,asn\n81.2.0.0/16,Zug,zug.example.com,isp,64506\n',
  )
  const table = await loadTable({ name: 'organisations', format: 'csv', text, rowsMax: 30 })
  const nameIn = async (asn: number) => {
    const record = { autonomous_system_number: asn, autonomous_system_organization: 'Kibo Bank' }
    const bytes = mmdb('GeoLite2-ASN', { '81.2.69.0/24': record })
    const ofAs = await loadMmdb({ name: 'asn', bytes, mapping: undefined, recordsBytesMax: 10_000 })
    const snapshot = new Snapshot([table, ofAs].sort(byTrust), DEFAULT_ENRICHMENT_LIMITS, (_, error) =>
      assert.ifError(error),
    )
    const { data, noise } = snapshot.resolve(address('81.2.69.7'))
    return [data.business_name, noise]
  }
  assert.deepEqual(await nameIn(64_599), ['Kibo Bank', false])
  assert.deepEqual(await nameIn(64_506), ['Zug', true])
})

test('rows without a domain share that of their name in their country, or of a name that one company has', async () => {
  const idOf = async (asn: number) => (await answerFor('Other', 'US', asn)).companyId
  assert.equal(await idOf(64_511), 'learn')
  assert.equal(await idOf(64_512), 'example.lk')
  assert.equal(await idOf(64_513), 'example.net')
})
