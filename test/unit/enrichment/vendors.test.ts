import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loadMmdb, readMmdb } from '../../../src/enrichment/providers/mmdb/provider.ts'
import { classify } from '../../../src/enrichment/rules/classify.ts'
import { address, mmdb } from '../../support/enrichment-data.ts'
import { IPINFO } from '../../support/vendors/ipinfo.ts'
import { MAXMIND } from '../../support/vendors/maxmind.ts'
import { OTHERS } from '../../support/vendors/others.ts'

for (const vendor of [...MAXMIND, ...IPINFO, ...OTHERS]) {
  test(`${vendor.type} with ${Object.keys(vendor.record).join(', ')} is read`, async () => {
    const bytes = mmdb(vendor.type, { '81.2.69.0/24': vendor.record })
    const provider = await loadMmdb({ name: 'vendor', bytes, mapping: undefined, recordsBytesMax: 10_000 })
    assert.equal(provider.kind, vendor.kind)
    const { asnOf, read } = await readMmdb(bytes, undefined)
    assert.equal(asnOf(vendor.record), read(vendor.record)?.evidence.asn)
    assert.equal(provider.recognisedAs, vendor.recognisedAs)
    assert.equal(provider.networkOf(address('81.2.69.7')), '81.2.69.0/24')
    assert.equal(provider.builtAt?.getTime(), 1_760_000_000_000)
    const facts = provider.find(address('81.2.69.7'))
    const known = Object.fromEntries(Object.entries(vendor.data).filter(([, value]) => value !== undefined))
    assert.deepEqual(facts?.data, known)
    if (vendor.evidence !== undefined) {
      const { asAddresses, asHasV6, asScatter, ...stated } = { ...facts?.evidence }
      assert.deepEqual(stated, vendor.evidence)
      const isCounted = vendor.kind === 'asn' && stated.asn !== undefined
      const counted = isCounted ? [256, false, 81_000] : [undefined, undefined, undefined]
      assert.deepEqual([asAddresses, asHasV6, asScatter], counted)
    }
    assert.equal(provider.find(address('81.2.70.7')), undefined)
  })
}

test('members of only some records are found', async () => {
  const bytes = mmdb('GeoIP2-Anonymous-IP', {
    '81.2.69.0/24': { is_anonymous: true },
    '81.2.70.0/24': { is_anonymous: true, is_tor_exit_node: true },
  })
  const provider = await loadMmdb({ name: 'anonymous', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  assert.deepEqual(provider.find(address('81.2.69.1'))?.evidence, { isAnonymous: true })
  assert.deepEqual(provider.find(address('81.2.70.1'))?.evidence, { isTor: true })
})

test('empty values are left out', async () => {
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
  const provider = await loadMmdb({ name: 'company', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  assert.deepEqual(provider.find(address('81.2.69.1'))?.data, { business_name: 'Example', org_name: 'Example' })
  assert.deepEqual(provider.find(address('81.2.70.1'))?.data, { org_name: 'Carrier', as_name: 'Carrier' })
})

test('a text about the purpose of a block is no organisation', async () => {
  const isp = { autonomous_system_number: 64500, autonomous_system_organization: 'Kibo', isp: 'Kibo' }
  const bytes = mmdb('GeoIP2-ISP', {
    '81.2.69.0/24': { ...isp, organization: 'DSLAM WAN Allocation' },
    '81.2.70.0/24': { ...isp, organization: 'Static Controls GmbH' },
  })
  const provider = await loadMmdb({ name: 'isp', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  const block = provider.find(address('81.2.69.1'))!
  assert.equal(block.data.org_name, 'Kibo')
  assert.deepEqual([block.evidence.allocation, block.evidence.orgName], ['dslam', undefined])
  assert.equal(classify(block.evidence).rule, 'allocation:dslam')
  assert.equal(classify({ ...block.evidence, asName: 'Kibo College' }).classification, 'education')
  const company = provider.find(address('81.2.70.1'))!
  assert.deepEqual([company.evidence.allocation, company.evidence.orgName], [undefined, 'Static Controls GmbH'])
})

test('the address space of each AS is counted in files about autonomous systems', async () => {
  const as = (asn: number) => ({ autonomous_system_number: asn, autonomous_system_organization: 'Kibo' })
  const bytes = mmdb('GeoLite2-ASN', {
    '81.2.68.0/24': as(64500),
    '81.2.70.0/23': as(64500),
    '81.3.0.0/16': as(64501),
    '81.4.0.0/24': as(64501),
    '128.0.0.0/9': as(64503),
    '128.128.0.0/9': as(64503),
    '193.0.0.0/24': as(64503),
    '2a01:db8::/32': as(64500),
    '2a02:db8::/32': as(64502),
  })
  const provider = await loadMmdb({ name: 'asn', bytes, mapping: undefined, recordsBytesMax: 10_000 })
  const sizeOf = (ip: string) => {
    const { asAddresses, asHasV6, asScatter } = provider.find(address(ip))!.evidence
    return [asAddresses, asHasV6, asScatter]
  }
  assert.deepEqual(sizeOf('81.2.68.1'), [768, true, 81_100], 'two blocks in one /16')
  assert.deepEqual(sizeOf('2a01:db8::1'), [768, true, 81_100])
  assert.deepEqual(sizeOf('81.3.1.1'), [65_792, false, 81_001], 'adjacent networks are one block')
  assert.deepEqual(sizeOf('193.0.0.1'), [2 ** 24 + 256, false, 128_118], 'the largest block has the first byte')
  assert.deepEqual(sizeOf('2a02:db8::1'), [0, true, 0])
})
