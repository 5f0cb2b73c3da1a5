import assert from 'node:assert/strict'
import { test } from 'node:test'
import { LOCATION_ATTRIBUTES } from '../../../schemas/attributes.ts'
import { evidenceOf, type Finding, merge } from '../../../src/enrichment/answers/merge.ts'
import { QUALITY_PARTS, qualityOf } from '../../../src/enrichment/answers/quality.ts'
import { type Facts, makeFacts } from '../../../src/enrichment/facts.ts'
import type { Provider, ProviderKind } from '../../../src/enrichment/providers/provider.ts'
import { businessName } from '../../../src/enrichment/rules/business-name.ts'
import { companyIdOf } from '../../../src/enrichment/rules/company-id.ts'
import type { Evidence, Organisation } from '../../../src/enrichment/rules/evidence.ts'
import { slug } from '../../../src/enrichment/rules/normalise.ts'
import type { EnrichmentData } from '../../../src/pipeline/event/enrichment.ts'
import { DOUBTFUL_AS } from '../../support/doubtful.ts'

function finding(name: string, kind: ProviderKind, facts: Facts, scope: Finding['scope'] = 'address'): Finding {
  const provider: Provider = {
    name,
    kind,
    recognisedAs: kind,
    builtAt: undefined,
    records: 1,
    warnings: [],
    find: () => facts,
    networkOf: () => undefined,
  }
  return { provider, facts, scope }
}

const table = (data: EnrichmentData, evidence: Evidence = {}, organisation?: Organisation) =>
  finding('table', 'table', makeFacts(data, evidence, organisation))
const asn = (name: string, domain?: string) =>
  finding(
    'asn',
    'asn',
    makeFacts({ asn: 64_500, as_name: name, org_name: name }, { asn: 64_500, asName: name, asDomain: domain }),
  )
const location = finding('city', 'location', makeFacts({ country: 'Germany', country_code: 'DE', city: 'Köln' }))

test('the first provider that knows an attribute supplies it', () => {
  const merged = merge([
    table(
      { business_name: 'Example', country_code: 'FR' },
      { orgName: 'Example' },
      { name: 'Example', domain: undefined },
    ),
    asn('Carrier AS'),
    location,
  ])
  assert.deepEqual(merged.data, {
    business_name: 'Example',
    org_name: 'Carrier AS',
    classification: merged.decision.classification,
    asn: 64_500,
    as_name: 'Carrier AS',
    country_code: 'FR',
  })
  const { business_name, org_name, country_code } = merged.sources
  assert.deepEqual([business_name, org_name, country_code], ['table', 'asn', 'table'])
})

test('the place comes from one provider: of those that agree on the country, the most detailed', () => {
  const at = (name: string, data: EnrichmentData) => finding(name, 'location', makeFacts(data))
  const company = (country_code: string) => table({ business_name: 'Example', country_code })
  const boxford = at('boxford', { continent: 'Europe', country_code: 'GB', city: 'Boxford', timezone: 'Europe/London' })
  const london = at('london', { country: 'United Kingdom', country_code: 'GB', region: 'England', city: 'London' })
  const lite = at('lite', { country: 'United Kingdom', country_code: 'GB', continent: 'Europe' })
  const hour = at('hour', { timezone: 'Europe/Paris', latitude: 48 })
  const cases: (readonly [findings: Finding[], source: string])[] = [
    [[company('FR'), boxford, london], 'table'],
    [[company('GB'), lite], 'lite'],
    [[company('GB'), lite, boxford, london], 'london'],
    [[boxford, hour], 'boxford'],
    [[hour, boxford], 'boxford'],
    [[hour], 'hour'],
    [[at('fr', { country: 'France' }), boxford], 'fr'],
  ]
  // A row about an AS says where its holder is, and counts when no provider knows the address.
  const seat = finding('seat', 'table', makeFacts({ business_name: 'Example', country_code: 'US' }), 'as')
  cases.push([[seat, boxford], 'boxford'], [[seat, lite, london], 'london'], [[seat], 'seat'], [[seat, hour], 'seat'])
  for (const [findings, source] of cases) {
    const { data, sources } = merge(findings)
    const given = findings.find(({ provider }) => provider.name === source)!.facts.data
    for (const attribute of LOCATION_ATTRIBUTES) {
      assert.deepEqual([data[attribute], sources[attribute] ?? source], [given[attribute], source], attribute)
    }
  }
})

test('number and name of the AS come from one provider', () => {
  const as = (name: string, data: EnrichmentData) => finding(name, 'asn', makeFacts(data))
  const number = as('number', { asn: 64_500 })
  const other = as('other', { asn: 64_501, as_name: 'Other' })
  const same = as('same', { asn: 64_500, as_name: 'Example' })
  const name = as('name', { as_name: 'Nameless' })
  const of = (...findings: Finding[]) => {
    const { data, sources } = merge(findings)
    return [data.asn, data.as_name, sources.asn ?? sources.as_name]
  }
  assert.deepEqual(of(number, other), [64_500, undefined, 'number'])
  assert.deepEqual(of(number, other, same), [64_500, 'Example', 'same'])
  assert.deepEqual(of(name, other, number), [64_501, 'Other', 'other'])
  assert.deepEqual(of(name), [undefined, 'Nameless', 'name'])
  const stating = (evidence: Evidence) => finding('asn', 'asn', makeFacts({}, evidence))
  const carrier = stating({ asn: 64_501, asName: 'Example Telecom', asType: 'isp' })
  assert.deepEqual(
    evidenceOf([stating({ asn: 64_500 }), carrier]),
    { asn: 64_500 },
    'facts about another AS are left out',
  )
  assert.equal(evidenceOf([stating({ asn: 64_501 }), carrier]).asType, 'isp')
})

test('when only an AS is known and it is no carrier, the AS is the organisation', () => {
  const merged = merge([asn('Example Software GmbH', 'example.com')])
  assert.equal(merged.noise, false)
  assert.equal(merged.data.business_name, 'Example Software')
  assert.equal(merged.data.domain, 'example.com')
  assert.equal(merged.sources.business_name, 'asn')
  assert.equal(merged.companyId, 'example.com')
  assert.equal(merge([asn('Example Software GmbH')]).companyId, 'example-software')
})

test('a carrier is no organisation', () => {
  const carrier = finding('list', 'noise', makeFacts({}, { explicit: 'isp' }))
  const merged = merge([carrier, asn('Example Telecom', 'example.net')])
  assert.equal(merged.noise, true)
  assert.deepEqual(merged.data, {
    org_name: 'Example Telecom',
    classification: 'isp',
    asn: 64_500,
    as_name: 'Example Telecom',
  })
  assert.equal(merged.sources.classification, 'list')
  assert.equal(merged.companyId, '')
})

test("inside a carrier's network, a domain that is not the carrier's is the organisation", () => {
  const domain = (text: string) => finding('domain', 'domain', makeFacts({ domain: text }, { domain: text }))
  const merged = merge([asn('Example Telecom Broadband', 'telecom.example'), domain('acme-anvils.com')])
  assert.equal(merged.noise, false)
  assert.equal(merged.companyId, 'acme-anvils.com')
  assert.equal(merged.data.business_name, undefined)
  assert.equal(merged.data.org_name, 'Example Telecom Broadband')
  const known = merge([asn('Acme Anvils GmbH'), domain('acme-anvils.com')])
  assert.equal(known.companyId, 'acme-anvils')
  assert.equal(known.data.business_name, 'Acme Anvils')
})

test('a place alone is no organisation', () => {
  const merged = merge([location])
  assert.equal(merged.companyId, '')
  assert.equal(merged.noise, false)
  assert.equal(merged.decision.classification, undefined)
  assert.equal(merged.quality, QUALITY_PARTS.country + QUALITY_PARTS.city)
})

test('without any facts the result is empty', () => {
  const merged = merge([])
  assert.deepEqual([merged.data, merged.quality, merged.companyId, merged.noise], [{}, 0, '', false])
})

test("a company's own block inside a carrier's AS is the company", () => {
  const carrierRow = finding(
    'table',
    'table',
    makeFacts(
      { business_name: 'Carrier' },
      { explicit: 'isp', orgName: 'Carrier' },
      { name: 'Carrier', domain: undefined },
    ),
    'as',
  )
  const company = finding(
    'company',
    'company',
    makeFacts(
      { business_name: 'Example GmbH', org_name: 'Example GmbH', domain: 'example.com' },
      { orgName: 'Example GmbH', domain: 'example.com', orgType: 'business', asType: 'isp', asName: 'Carrier Telecom' },
      { name: 'Example GmbH', domain: 'example.com' },
    ),
  )
  const merged = merge([company, carrierRow])
  assert.equal(merged.noise, false)
  assert.equal(merged.data.business_name, 'Example')
  assert.equal(merged.companyId, 'example.com')
  assert.equal(evidenceOf([carrierRow]).explicit, 'isp')
})

test("an ISP's customer wins over a row that calls the AS a cloud; the ISP's alias does not", () => {
  const row = finding(
    'table',
    'table',
    makeFacts(
      { business_name: 'Cloud', industry: 'Clouds' },
      { explicit: 'cloud', orgName: 'Cloud' },
      { name: 'Cloud', domain: 'cloud.example' },
    ),
    'as',
  )
  const isp = (orgName: string, asName = 'Elsewhere Ltd') =>
    finding('isp', 'isp', makeFacts({ org_name: orgName, asn: 64500 }, { asn: 64500, asName, orgName }))
  const anonymous = finding('anonymous', 'anonymity', makeFacts({}, { isHosting: true }))
  for (const findings of [
    [row, isp('Kibo High School')],
    [row, isp('Kibo High School'), anonymous],
    [isp('Kibo High School'), row, anonymous],
  ]) {
    const school = merge(findings)
    assert.equal(school.decision.classification, 'education')
    assert.equal(school.companyId, 'kibo-high-school')
    assert.deepEqual([school.data.business_name, school.data.industry], ['Kibo High School', 'Schools'])
  }
  assert.equal(merge([row, isp('Cloud Inc')]).decision.rule, 'table:table')
  assert.equal(merge([row, isp('Elsewhere Customers', 'Elsewhere')]).decision.rule, 'table:table')
})

test('facts about the address outrank facts about its AS', () => {
  const row = finding(
    'table',
    'table',
    makeFacts({}, { explicit: 'business' }, { name: 'Example', domain: undefined }),
    'as',
  )
  const list = finding('cloud-acme', 'noise', makeFacts({}, { explicit: 'cloud' }))
  const evidence = evidenceOf([row, list])
  assert.deepEqual([evidence.explicit, evidence.explicitSource], ['cloud', 'cloud-acme'])
})

test('the identity of an organisation comes from one record, whatever others add', () => {
  const organisation = { name: 'Example', domain: undefined }
  const row = table({ business_name: 'Example' }, { orgName: 'Example' }, organisation)
  const domain = finding('domain', 'domain', makeFacts({ domain: 'pool.example.net' }))
  assert.equal(merge([row]).companyId, 'example')
  assert.equal(merge([row, domain]).companyId, 'example')
  assert.equal(merge([row, domain]).data.domain, 'pool.example.net')
})

test('the registrable domain is that of the domain, or else of the host name', () => {
  const domain = merge([table({ domain: 'www.shop.example.co.uk', hostname: 'a.example.net' })])
  assert.equal(domain.data.etld_plus_one, 'example.co.uk')
  const host = merge([table({ hostname: 'ec2-81-2-69-1.compute-1.amazonaws.com' })])
  assert.equal(host.data.etld_plus_one, 'amazonaws.com')
  assert.equal(merge([table({ hostname: 'localhost' })]).data.etld_plus_one, undefined)
})

test('a company id is the registrable domain in lower case, or else the key of the name', () => {
  assert.equal(companyIdOf({ name: 'Example', domain: 'WWW.Example.CO.UK' }), 'example.co.uk')
  assert.equal(companyIdOf({ name: 'Example', domain: 'one.github.io' }), 'one.github.io')
  assert.equal(companyIdOf({ name: 'Example', domain: 'github.io' }), 'github.io')
  assert.equal(companyIdOf({ name: 'Example, Inc.', domain: undefined }), 'example')
  assert.equal(companyIdOf({ name: 'THE EXAMPLE COMPANY', domain: undefined }), 'example')
  assert.equal(companyIdOf({ name: 'OOO «Example»', domain: undefined }), 'example')
  assert.equal(companyIdOf({ name: '—', domain: undefined }), '')
  assert.equal(companyIdOf(undefined), '')
  assert.equal(slug("L'Oréal  S.A."), 'loreal-s-a')
  assert.equal(slug('日本電気 株式会社'), '日本電気-株式会社')
  assert.equal(slug('Straße & Söhne'), 'straße-sohne')
  assert.equal(slug('ACME corp'), slug('Acme  Corp.'))
})

test('quality is the sum of its parts, and at most 100', () => {
  const everything: EnrichmentData = {
    business_name: 'x',
    org_name: 'x',
    hostname: 'x',
    domain: 'x',
    industry: 'x',
    asn: 1,
    country_code: 'DE',
    city: 'x',
  }
  assert.equal(qualityOf(everything, 'business', { named: true }), 100)
  assert.equal(qualityOf(everything, 'business', { named: true, derived: true }), 90)
  assert.equal(qualityOf(everything, 'business', { named: false }), 80)
  assert.equal(qualityOf({}, undefined, { named: false }), 0)
  for (const [part, data] of [
    ['domain', { domain: 'x' }],
    ['industry', { industry_category: 'x' }],
    ['country', { country: 'x' }],
    ['city', { city: 'x' }],
    ['asn', { asn: 1 }],
    ['hostname', { hostname: 'x' }],
    ['networkName', { as_name: 'x' }],
  ] as const) {
    assert.equal(qualityOf(data, undefined, { named: false }), QUALITY_PARTS[part], part)
  }
})

test('a network without evidence is an account without a class, and scores no class points', () => {
  const unknown = merge([asn('Qorvex')])
  assert.equal(unknown.decision.classification, undefined)
  assert.match(unknown.decision.rule, /^unknown:0\.\d\d$/)
  assert.deepEqual([unknown.noise, unknown.companyId, unknown.data.classification], [false, 'qorvex', undefined])
  assert.equal(unknown.quality, QUALITY_PARTS.networkName + QUALITY_PARTS.asn)
  const bank = unknown.quality + QUALITY_PARTS.classification + QUALITY_PARTS.derivedCategory
  assert.equal(merge([asn('Kibo Bank')]).quality, bank)
})

test('a doubtful name makes no account, and stays in the answer', () => {
  const { asn: number, name } = DOUBTFUL_AS
  const of = (asDomain?: string) =>
    finding(
      'asn',
      'asn',
      makeFacts({ asn: number, as_name: name, org_name: name }, { asn: number, asName: name, asDomain }),
    )
  const doubtful = merge([of(), location])
  assert.match(doubtful.decision.rule, /^doubtful:0\.\d\d$/)
  assert.deepEqual([doubtful.companyId, doubtful.noise, doubtful.data.classification], ['', false, undefined])
  const { business_name, org_name, as_name } = doubtful.data
  assert.deepEqual([business_name, org_name, as_name], [businessName(name), name, name])
  assert.equal(
    doubtful.quality,
    QUALITY_PARTS.networkName + QUALITY_PARTS.asn + QUALITY_PARTS.country + QUALITY_PARTS.city,
  )

  const organisation = { name, domain: 'kibo.example' }
  const row = finding('table', 'table', makeFacts({ business_name: name }, {}, organisation), 'as')
  const company = finding('company', 'company', makeFacts({ org_name: name }, { orgName: name }, organisation))
  for (const named of [row, company]) {
    const { decision, companyId } = merge([named, of()])
    assert.match(decision.rule, /^doubtful:/, 'the evidence is the same')
    assert.equal(companyId, 'kibo.example', `named by a ${named.provider.kind}`)
  }
})

test('a vote of the model counts half in the quality', () => {
  const evidence = { asn: 269_306, asName: 'J L KIBO INFORMATICA ME', asAddresses: 1024, asHasV6: true }
  const voted = merge([finding('asn', 'asn', makeFacts({ asn: 269_306, as_name: evidence.asName }, evidence))])
  assert.match(voted.decision.rule, /^model:isp:/)
  assert.equal(voted.noise, true)
  assert.equal(voted.quality, QUALITY_PARTS.networkName + QUALITY_PARTS.asn + QUALITY_PARTS.vote)
})

test('a private person makes no account, and no answer holds the name', () => {
  const person = merge([asn('Jan Kowalski'), location])
  assert.equal(person.companyId, '')
  assert.equal(person.decision.rule, 'person')
  assert.equal(person.noise, false)
  assert.deepEqual(Object.keys(person.data), ['asn', 'country', 'country_code', 'city'])
  assert.deepEqual(Object.keys(person.sources), ['asn', 'country', 'country_code', 'city'])

  const customer = merge([
    finding(
      'isp',
      'isp',
      makeFacts(
        { org_name: 'Jan Kowalski', domain: 'jankowalski.example' },
        { orgName: 'Jan Kowalski', asn: 64_500, asName: 'Example Telecom' },
        { name: 'Jan Kowalski', domain: 'jankowalski.example' },
      ),
    ),
    asn('Example Telecom'),
  ])
  assert.equal(customer.companyId, '')
  assert.ok(!JSON.stringify(customer).toLowerCase().includes('kowalski'))
  assert.equal(customer.data.as_name, 'Example Telecom')
})

test('a company that a table names is no private person, and keeps its account in a person’s network', () => {
  const acme = { name: 'Frank Kowalski', domain: undefined }
  const known = merge([
    table({ business_name: 'Frank Kowalski' }, { orgName: 'Frank Kowalski' }, acme),
    asn('Frank Kowalski'),
  ])
  assert.equal(known.companyId, 'frank-kowalski')
  assert.equal(known.data.as_name, 'Frank Kowalski')
})

test('the name of a private person is removed from other records than the table’s row', () => {
  const acme = { name: 'Acme', domain: undefined }
  const known = merge([
    table({ business_name: 'Acme' }, { orgName: 'Acme' }, acme),
    finding('isp', 'isp', makeFacts({ description: 'network of Jan KOWALSKI, Warsaw' })),
    asn('Jan Kowalski'),
  ])
  assert.equal(known.companyId, 'acme')
  assert.equal(known.data.business_name, 'Acme')
  assert.ok(!JSON.stringify(known).toLowerCase().includes('kowalski'), JSON.stringify(known.data))
})

test('a name with the type or the domain of a company is no private person’s', () => {
  const company = (name: string, domain: string | undefined, orgType?: string) =>
    merge([
      finding(
        'company',
        'company',
        makeFacts(
          { business_name: name, org_name: name, ...(domain && { domain }) },
          { orgName: name, ...(domain && { domain }), ...(orgType && { orgType }) },
          { name, domain },
        ),
      ),
    ])
  for (const merged of [
    company('Hans Grunwald', 'hansgrunwald.example', 'business'),
    company('Hans Grunwald', 'hans-grunwald-group.example'),
    company('Hans Grunwald', 'grunwald.example', 'education'),
  ]) {
    assert.equal(merged.data.business_name, 'Hans Grunwald')
    assert.match(merged.companyId, /grunwald.*\.example/)
  }
  assert.equal(company('Hans Grunwald', undefined).companyId, '')
  assert.equal(company('Hans Grunwald', 'other.example', 'isp').data.business_name, undefined)
})

test('a bare handle makes no account', () => {
  const merged = merge([asn('AS64500')])
  assert.equal(merged.companyId, '')
  assert.equal(merged.data.business_name, undefined)
  assert.equal(merged.data.as_name, 'AS64500')
})

test('a word of the name states category and industry only if no provider does, and never of noise', () => {
  const derived = merge([asn('Northfield University')])
  assert.equal(derived.data.industry_category, 'Education')
  assert.equal(derived.data.industry, 'Higher Education')
  assert.equal(derived.sources.industry_category, 'rules')
  const { word, precision } = derived.derived.industry_category!
  assert.equal(word, 'university')
  assert.ok(precision >= 0.93 && precision <= 1)
  const without = merge([asn('Northfield')])
  assert.deepEqual(without.derived, {})

  const stated = merge([
    table({ org_name: 'Northfield University', industry: 'Banking' }),
    asn('Northfield University'),
  ])
  assert.deepEqual([stated.data.industry, stated.data.industry_category], ['Banking', undefined])
  assert.deepEqual(stated.derived, {})
  assert.equal(stated.quality - derived.quality, QUALITY_PARTS.industry - QUALITY_PARTS.derivedCategory)

  const noise = merge([asn('Bank Street Telecom Broadband')])
  assert.equal(noise.noise, true)
  assert.deepEqual([noise.data.industry_category, noise.derived], [undefined, {}])
})
