import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EventEnvelope } from '../../../schemas/api/event.ts'
import type { Classification } from '../../../schemas/classification.ts'
import { NOISE } from '../../../schemas/classification.ts'
import { RULES_MAX, type TenantRules } from '../../../schemas/tenant-rules.ts'
import { enrichmentOf } from '../../../src/enrichment/answers/answer.ts'
import { ruleSetOf, tenantEnricher, tenantLookups } from '../../../src/enrichment/judge.ts'
import { parseRule } from '../../../src/enrichment/tenant-rules/rule.ts'
import { RuleScope, storedJudged } from '../../../src/enrichment/tenant-rules/rule-scope.ts'
import { RuleSet } from '../../../src/enrichment/tenant-rules/rule-set.ts'
import { tryRules } from '../../../src/enrichment/tenant-rules/trial.ts'
import type { Lookup } from '../../../src/lookup/lookup.ts'
import { type Address, parseAddress } from '../../../src/pipeline/event/address.ts'
import type { Enricher, EnrichmentData } from '../../../src/pipeline/event/enrichment.ts'
import { EnvelopeState } from '../../../src/pipeline/event/envelope.ts'
import { columnOf } from '../../../src/pipeline/event/row.ts'
import { compileValidator } from '../../../src/pipeline/event/validator.ts'
import { runStages } from '../../../src/pipeline/runner/step-worker.ts'
import { acceptEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { enrich } from '../../../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../../../src/pipeline/stages/filter-noise.ts'
import { readWhole } from '../../support/batch.ts'
import { readEvents } from '../../support/read-events.ts'

function known(classification: Classification | undefined, companyId: string, data: EnrichmentData) {
  const noise = classification !== undefined && NOISE.has(classification)
  return enrichmentOf({
    noise,
    classification,
    quality: 30,
    companyId,
    data: { ...data, ...(classification && { classification }) },
  })
}

const company = known('business', 'example.com', { org_name: 'Example Inc.', domain: 'example.com', asn: 64500 })
const access = known('isp', '', { org_name: 'Zug Telecom AG', domain: 'telecom.example', asn: 64501 })
const silent = known(undefined, 'quux', { org_name: 'Quux', asn: 64502 })
const reserved = known('reserved', '', {})
const doubtful = known(undefined, '', { business_name: 'Kibo', org_name: 'Kibo Ltd', as_name: 'Kibo Ltd', asn: 64503 })
const person = known(undefined, '', { asn: 64504 })

/** By the first octet: 10 reserved, 20 access, 30 without a class, 40 a doubtful name, 50 a private person, all others a company. */
const enricher: Enricher = {
  enrich({ v4 }) {
    const first = v4 >>> 24
    return { 10: reserved, 20: access, 30: silent, 40: doubtful, 50: person }[first] ?? company
  },
}

function judgedAs(ip: string, tenant: TenantRules) {
  const { noise, rule, filteredAs, companyId } = tenantEnricher(enricher, tenant).enrich(parseAddress(ip)!)
  return [noise ? 'filtered' : 'ok', rule, filteredAs, companyId]
}

test('a rule is stored in one spelling, and an invalid rule gets a clear error', () => {
  const spelled = (kind: string, subject: string) => {
    const rule = parseRule(kind, subject)
    return typeof rule === 'string' ? rule : rule.text
  }
  assert.equal(spelled('own', '203.0.113.77/24'), 'own 203.0.113.0/24')
  assert.equal(spelled('own', '::ffff:203.0.113.7'), 'own 203.0.113.7/32')
  assert.equal(spelled('never-noise', '2001:DB8::1/32'), 'never-noise 2001:db8::/32')
  assert.equal(spelled('never-noise', 'as64500'), 'never-noise AS64500')
  assert.equal(spelled('always-noise', 'WWW.Example.com'), 'always-noise example.com')
  assert.equal(spelled('always-noise', 'Zug Telecom AG'), 'always-noise zug-telecom')
  assert.equal(spelled('keep', 'ISP'), 'keep isp')
  assert.equal(spelled('never-noise', 'the-boeing-company'), 'never-noise the-boeing-company')
  assert.equal(spelled('never-noise', 'The Boeing Company'), 'never-noise boeing')
  assert.equal(spelled('never-noise', 'Maersk A/S'), 'never-noise maersk')
  assert.equal(spelled('never-noise', 'Re: Brand'), 'never-noise re-brand')
  assert.equal(spelled('always-noise', 'https://www.Example.com/about'), 'always-noise example.com')
  assert.equal(spelled('always-noise', 'AS 64500'), 'always-noise AS64500')
  assert.equal(
    spelled('is', ' 203.0.113.77/24  WWW.Acme.com  Acme\u202e  Inc. '),
    'is 203.0.113.0/24 acme.com Acme Inc.',
  )
  assert.equal(spelled('is', '2001:DB8::1/48 acme.co.uk'), 'is 2001:db8::/48 acme.co.uk')
  for (const text of ['203.0.113.0/24', '203.0.113.0/24 acme', '203.0.113.0/24 co.uk', '203.0.113.0/24 1.2.3.4']) {
    assert.match(spelled('is', text), /^is 203\.0\.113\.0\/24 ".*": must be a network and the domain of its org/, text)
  }
  assert.match(spelled('is', 'acme.com'), /^is "acme\.com" is not a network: must be one like 203/)
  assert.equal(spelled('is', 'as64500  -  Booking.com  B.V.'), 'is AS64500 - Booking.com B.V.')
  assert.equal(spelled('is', 'AS64500 www.Acme.com'), 'is AS64500 acme.com')
  assert.equal(spelled('is', '203.0.113.7 - Acme Inc'), 'is 203.0.113.7/32 - Acme Inc')
  assert.match(spelled('is', 'AS64500 -'), /^is AS64500 -: must end with the name of the organisation/)
  assert.match(spelled('is', 'AS64500 - !'), /^is AS64500 -: must end with the name/)
  assert.match(
    spelled('is', 'AS64500 Acme'),
    /^is AS64500 "Acme": must be a network and the domain .* or - and its name/,
  )
  assert.match(spelled('is', 'AS4294967296 - Acme'), /^is "AS4294967296" is not an AS number/)
  assert.equal(spelled('never-noise', 'a\u202eb\nc\u0007'), 'never-noise ab-c')
  assert.equal(spelled('never-noise', 'x'.repeat(5_000)).length, 140)
  for (const text of [
    '2001:db8::/129',
    'example.com/24',
    '2001:db8',
    '10.0.0.0/8 10.1.0.0/16',
    '203.0.113.0/255.255.255.0',
  ]) {
    assert.match(spelled('never-noise', text), /^never-noise ".*" (is not a network|has .*): .* like 203/, text)
  }
  assert.match(spelled('own', '203.0.113.0/33'), /^own "203\.0\.113\.0\/33" has a prefix length out of range/)
  assert.match(spelled('own', '300.1.1.1'), /^own "300\.1\.1\.1" is not a network: must be one like/)
  assert.match(spelled('never-noise', '203.0.113.1-203.0.113.9'), /is not a network/)
  assert.match(spelled('own', 'example.com'), /^own "example\.com": must be a network/)
  assert.match(spelled('never-noise', 'AS0'), /"AS0" is not an AS number/)
  assert.match(spelled('never-noise', '!!'), /is not a network, AS number or organisation/)
  assert.match(
    spelled('keep', 'business'),
    /must be a class that is filtered by default: isp, hosting, cloud, cdn, vpn, bot, reserved/,
  )
  assert.match(spelled('mine', '203.0.113.0/24'), /"mine" is not a kind of rule: must be own, is, never-noise/)
})

test('the most specific network wins, then the organisation, the AS, the class', () => {
  const rules = [
    ...[
      'keep isp',
      'always-noise 20.0.0.0/8',
      'never-noise 20.1.0.0/16',
      'own 20.1.2.0/24',
      'always-noise 20.1.2.0/24',
    ],
    ...['never-noise zug-telecom-ag', 'always-noise AS64501', 'always-noise 64:ff9b::/96', 'own 2001:db8::/32'],
  ]
  assert.deepEqual(judgedAs('20.9.9.9', { rules }), ['filtered', 'always-noise 20.0.0.0/8', 'always_noise', ''])
  assert.deepEqual(judgedAs('20.1.9.9', { rules }), ['ok', 'never-noise 20.1.0.0/16', undefined, 'telecom.example'])
  assert.deepEqual(judgedAs('20.1.2.3', { rules }), ['filtered', 'own 20.1.2.0/24', 'own', ''])
  assert.deepEqual(judgedAs('2001:db8::7', { rules })[1], 'own 2001:db8::/32')
  assert.deepEqual(judgedAs('64:ff9b::102:304', { rules })[1], 'always-noise 64:ff9b::/96')
  // An address with an embedded IPv4 address is judged by that one: Teredo and 6to4 of 20.1.2.3.
  assert.deepEqual(judgedAs('2002:1401:203::1', { rules })[1], 'own 20.1.2.0/24')
  const without = (...left: string[]) => ({ rules: rules.filter((rule) => !/\d\//.test(rule) && !left.includes(rule)) })
  assert.equal(judgedAs('20.9.9.9', without())[1], 'never-noise zug-telecom-ag')
  assert.equal(judgedAs('20.9.9.9', without('never-noise zug-telecom-ag'))[1], 'always-noise AS64501')
  assert.deepEqual(judgedAs('20.9.9.9', { rules: ['keep isp'] }), ['ok', 'keep isp', undefined, ''])
  assert.equal(judgedAs('20.9.9.9', { rules: ['always-noise telecom.example', 'never-noise zug-telecom-ag'] })[0], 'ok')
  assert.deepEqual(judgedAs('9.9.9.9', { rules: ['keep isp'] }), ['ok', undefined, undefined, 'example.com'])
  assert.equal(judgedAs('0.0.0.1', { rules: ['own 0.0.0.0/0'] })[1], 'own 0.0.0.0/0')
  assert.equal(judgedAs('255.1.2.3', { rules: ['own 255.1.2.3'] })[1], 'own 255.1.2.3/32')
})

test('a network without evidence becomes an account, an event, or noise', () => {
  assert.deepEqual(judgedAs('30.0.0.1', {}), ['ok', undefined, undefined, 'quux'])
  assert.deepEqual(judgedAs('30.0.0.1', { unclassified: 'event' }), ['ok', 'unclassified event', undefined, ''])
  const filtered = ['filtered', 'unclassified filtered', 'unclassified', 'quux']
  assert.deepEqual(judgedAs('30.0.0.1', { unclassified: 'filtered' }), filtered)
  assert.equal(judgedAs('30.0.0.1', { unclassified: 'filtered', rules: ['never-noise Quux'] })[3], 'quux')
  assert.equal(judgedAs('9.9.9.9', { unclassified: 'filtered' })[0], 'ok')
})

test('a doubtful name becomes an account by a rule only, and is filtered with names of unknown class', () => {
  assert.deepEqual(judgedAs('40.0.0.1', {}), ['ok', undefined, undefined, ''])
  assert.deepEqual(judgedAs('40.0.0.1', { unclassified: 'event' }), ['ok', 'unclassified event', undefined, ''])
  const filtered = ['filtered', 'unclassified filtered', 'unclassified', '']
  assert.deepEqual(judgedAs('40.0.0.1', { unclassified: 'filtered' }), filtered)
  assert.deepEqual(judgedAs('50.0.0.1', { unclassified: 'filtered' }), ['ok', undefined, undefined, ''], 'a person')
  for (const rule of ['never-noise kibo', 'never-noise AS64503', 'never-noise 40.0.0.0/16']) {
    assert.deepEqual(judgedAs('40.0.0.1', { rules: [rule], unclassified: 'filtered' }), ['ok', rule, undefined, 'kibo'])
  }
  assert.deepEqual(judgedAs('50.0.0.1', { rules: ['never-noise AS64504'] })[3], '', 'a person has no name')
})

test('a tenant without rules costs nothing, and answers decided by a rule are shared', () => {
  assert.equal(tenantEnricher(enricher, {}), enricher)
  assert.equal(tenantEnricher(enricher, { rules: [], unclassified: 'account' }), enricher)
  const own = tenantEnricher(enricher, { rules: ['own 9.0.0.0/8', 'from-a-later-version x'] })
  assert.equal(own.enrich(parseAddress('9.0.0.1')!), own.enrich(parseAddress('9.0.0.2')!))
  assert.equal(own.enrich(parseAddress('8.0.0.1')!), company)
  // A record that was read again, or for another key, brings no new rules: they are parsed once.
  assert.equal(ruleSetOf({ rules: ['own 9.0.0.0/8'] }), ruleSetOf({ rules: ['own 9.0.0.0/8'] }))
  assert.notEqual(
    ruleSetOf({ rules: ['own 9.0.0.0/8'] }),
    ruleSetOf({ rules: ['own 9.0.0.0/8'], unclassified: 'event' }),
  )
  const many = new RuleSet({ rules: Array.from({ length: RULES_MAX }, (_, i) => `own 9.0.${i >> 8}.${i & 255}/32`) })
  assert.equal(many.find(parseAddress('9.0.3.231')!, company)?.rule, 'own 9.0.3.231/32')
})

const tenant: TenantRules = {
  rules: ['own 9.9.9.0/24', 'keep reserved', 'always-noise AS64500', 'never-noise telecom.example'],
  unclassified: 'filtered',
}
const LINES = ['9.9.9.9', '8.8.8.8', '10.0.0.1', '20.0.0.1', '30.0.0.1', 'nowhere'].map((ip) => `{"ip":"${ip}"}`)
const receipt = { tenantId: 'acme', receivedAtMs: Date.UTC(2026, 10, 21, 12) }

test('live events and lines of a job are judged the same, counted by the rule, and name it', async () => {
  const judging = tenantEnricher(enricher, tenant)
  const text = `{"events":[${LINES.join()}]}`
  const live = acceptEvents(text, readEvents(text), receipt, judging)
  const { results, stats } = JSON.parse(live.response)
  assert.deepEqual(
    results.map(({ status, rule }: { status: string; rule?: string }) => [status, rule]),
    [
      ['filtered', 'own 9.9.9.0/24'],
      ['filtered', 'always-noise AS64500'],
      ['ok', 'keep reserved'],
      ['ok', 'never-noise telecom.example'],
      ['filtered', 'unclassified filtered'],
      ['invalid_ip', undefined],
    ],
  )
  assert.deepEqual([stats.accepted, stats.filtered, stats.invalid_ip], [2, 3, 1])
  const check = compileValidator(EventEnvelope)
  const context = { ...receipt, job: 'job', partitions: 1, check, enricher: judging, isJudged: true }
  const chunk = { firstLine: 1, gaps: [], bytes: Buffer.from(LINES.join('\n')) }
  const reading = readWhole(chunk, context)
  const block = reading.blocks.get(0)!
  assert.deepEqual([...block.states].includes(EnvelopeState.Raw), false)
  const delivery = { entry: '1-0', partition: 0, repeated: false, owner: Buffer.alloc(8) }
  const tools = {
    enricher: { enrich: () => assert.fail('judged once') },
    hostnames: undefined,
    seen: { claim: async () => [], held: async () => [] },
  }
  const settled = await runStages([enrich, filterNoise], block, delivery as never, tools)
  assert.deepEqual(columnOf(settled.output!, 'ip'), ['10.0.0.1', '20.0.0.1'])
  assert.deepEqual(columnOf(settled.output!, 'company_id'), ['', 'telecom.example'])
  assert.deepEqual(columnOf(settled.output!, 'business_name'), ['', 'Zug Telecom'])
  assert.deepEqual([...settled.dropped], [['filtered', 3]])
  assert.deepEqual(Object.fromEntries(settled.counts), {
    identified: 1,
    'filtered:own': 1,
    'filtered:always_noise': 1,
    'filtered:unclassified': 1,
  })
  const bySumOf = (counts: Iterable<readonly [string, number]>) =>
    [...counts].map(([key, n]) => `${key.split('\t').slice(3).join()} ${n}`).sort()
  const expected = [
    ...['filtered,always_noise,business 1', 'filtered,own,business 1', 'filtered,unclassified, 1', 'invalid_ip,, 1'],
  ]
  assert.deepEqual(bySumOf(live.outcomes), expected)
  assert.deepEqual(bySumOf([...settled.outcomes, ...reading.outcomes]), expected)
})

/** Everything that an event and an answer get, with a table that knows a domain. */
function heldAs(ip: string, ...rules: string[]) {
  const organisation = {
    business_name: 'Acme Corp',
    industry: 'Software',
    domain: 'acme.com',
    classification: 'business',
  }
  const organisationOf = (domain: string) => (domain === 'acme.com' ? organisation : undefined)
  const { data, answerJson, ...rest } = tenantEnricher({ ...enricher, organisationOf }, { rules }).enrich(
    parseAddress(ip)!,
  )
  const { noise, companyId, quality, rule, classification } = rest
  return { data, answer: JSON.parse(`{${answerJson}}`), noise, companyId, quality, rule, classification }
}

test('a rule `is` names the organisation of a network, with the facts of tables', () => {
  const rule = 'is 20.1.2.0/24 acme.com'
  const { data, answer, quality, ...rest } = heldAs('20.1.2.3', rule)
  assert.deepEqual(rest, { noise: false, companyId: 'acme.com', rule, classification: 'business' })
  const facts = { business_name: 'Acme Corp', domain: 'acme.com', industry: 'Software', classification: 'business' }
  assert.deepEqual(data, { ...facts, etld_plus_one: 'acme.com', asn: 64501 })
  assert.deepEqual([answer.rule, answer.quality, answer.enrichment.business_name], [rule, quality, 'Acme Corp'])
  assert.equal(quality, 40 + 15 + 15 + 10 + 5)
  assert.equal(heldAs('20.1.3.3', rule).noise, true)

  const names = (ip: string, text: string) => {
    const { data: found, companyId, classification } = heldAs(ip, text)
    return [companyId, found.business_name, classification]
  }
  assert.deepEqual(names('9.1.2.3', 'is 9.1.2.0/24 acme.com Acme Labs'), ['acme.com', 'Acme Labs', 'business'])
  assert.deepEqual(names('10.0.0.1', 'is 10.0.0.0/8 mail.other.co.uk'), ['other.co.uk', 'Other', 'business'])
  assert.deepEqual(names('9.9.9.9', 'is 9.0.0.0/8 example.edu'), ['example.edu', 'Example', 'education'])
  assert.deepEqual(names('::ffff:9.9.9.9', 'is 9.0.0.0/8 example.org'), ['example.org', 'Example', 'business'])
})

test('a rule `is` names the organisation of an AS, outside of smaller networks with such a rule', () => {
  const rule = 'is AS64503 - Kibo GmbH'
  const { data, answer, quality, ...rest } = heldAs('40.0.0.1', rule)
  assert.deepEqual(rest, { noise: false, companyId: 'kibo', rule, classification: 'business' })
  assert.deepEqual(data, { business_name: 'Kibo GmbH', classification: 'business', asn: 64503, as_name: 'Kibo Ltd' })
  assert.deepEqual([answer.rule, answer.quality, answer.enrichment.business_name], [rule, quality, 'Kibo GmbH'])
  const idOf = (ip: string, ...rules: string[]) => heldAs(ip, ...rules).companyId
  assert.equal(idOf('30.0.0.1', rule), 'quux', 'another AS')
  assert.equal(idOf('40.0.0.1', rule, 'is 40.0.0.0/24 acme.com'), 'acme.com')
  assert.equal(idOf('40.0.1.1', rule, 'is 40.0.0.0/24 acme.com'), 'kibo')
  assert.equal(idOf('40.0.0.1', rule, 'is AS64503 acme.com Kibo Labs'), 'acme.com', 'the newer one')
  assert.equal(idOf('50.0.0.1', 'is AS64504 - Doe & Sons'), 'doe-sons', 'a person, by its customer')
  assert.equal(heldAs('40.0.0.1', rule, 'always-noise 40.0.0.0/8').noise, true)
})

test('other rules decide about the organisation that a rule `is` names', () => {
  const is = 'is 20.1.2.0/24 acme.com'
  const decided = (...rules: string[]) => {
    const { noise, rule, companyId, answer } = heldAs('20.1.2.3', ...rules)
    assert.equal(answer.rule, rule)
    return [noise, rule, companyId]
  }
  assert.deepEqual(decided(is, 'always-noise acme.com'), [true, 'always-noise acme.com', 'acme.com'])
  assert.deepEqual(decided(is, 'own 20.1.2.0/24'), [true, 'own 20.1.2.0/24', 'acme.com'])
  assert.deepEqual(decided(is, 'own 20.1.2.0/25'), [true, 'own 20.1.2.0/25', 'acme.com'])
  assert.deepEqual(decided(is, 'always-noise 20.1.0.0/16', 'keep isp'), [false, is, 'acme.com'])
  assert.deepEqual(decided(is, 'is 20.1.2.0/28 other.com'), [false, 'is 20.1.2.0/28 other.com', 'other.com'])
  assert.deepEqual(decided(is, 'is 20.1.2.0/24 other.com'), [false, 'is 20.1.2.0/24 other.com', 'other.com'])
})

test('new facts of the tables take effect for a rule `is`', () => {
  let industry = 'Software'
  const organisationOf = () => ({ industry })
  const judging = tenantEnricher({ ...enricher, organisationOf }, { rules: ['is 9.9.9.0/24 acme.com'] })
  const found = () => judging.enrich(parseAddress('9.9.9.9')!).data.industry
  assert.equal(found(), 'Software')
  industry = 'Retail'
  assert.equal(found(), 'Retail')
})

test('lookups get the organisation of a rule `is`, with the rule as its source', () => {
  const service = {
    providerNames: () => ['a'],
    lookup: (address: Address) => ({
      ...({ address: address.text, classification: 'isp', noise: true, rule: 'x', quality: 5, companyId: '' } as const),
      ...{ answered: ['a'], partial: [] },
      data: { org_name: 'Zug Telecom AG', network: '20.0.0.0/8', asn: 64501, city: 'Zug' },
      provenance: { asn: { provider: 'a', network: undefined }, org_name: { provider: 'a', network: undefined } },
    }),
  }
  assert.equal(tenantLookups(service, { rules: ['own 20.1.2.0/24'] }), service)
  const found = tenantLookups(service, { rules: ['is 20.1.2.0/24 acme.com'] })
  const { data, provenance, noise, companyId } = found.lookup(parseAddress('20.1.2.3')!, {}) as Lookup
  assert.deepEqual([noise, companyId, data.city, data.org_name], [false, 'acme.com', 'Zug', undefined])
  assert.deepEqual(provenance.domain, { provider: 'rule', network: '20.1.2.0/24' })
  assert.deepEqual(provenance.asn, { provider: 'a', network: undefined })
  assert.equal((found.lookup(parseAddress('20.1.3.3')!, {}) as Lookup).noise, true)
})

test('a trial shows the effect of rules on stored events, and the unknown rest', async () => {
  async function* groups() {
    const stored = { companyId: 'example.com', classification: 'business', data: { asn: 64500 } }
    yield { ...stored, ip: '9.9.9.9', events: 3, days: [20_000, 20_001] }
    yield { ...stored, ip: '9.9.9.9', events: 2, days: [20_001] }
    yield { ...stored, ip: '#0123456789abcdef', events: 7, days: [20_000] }
    yield { ip: '20.0.0.1', companyId: '', classification: 'isp', data: {}, events: 3, days: [20_000] }
  }
  const sums = [
    { reason: '', classification: 'isp', events: 100 },
    { reason: '', classification: 'cloud', events: 10 },
    { reason: 'own', classification: 'isp', events: 1 },
  ]
  async function* hidden() {
    const stored = { companyId: 'b.example', classification: 'business', data: {}, days: [20_000] }
    yield { ...stored, ip: '9.9.8.1', events: 11 }
    yield { ...stored, ip: '9.9.9.1', events: 13 }
  }
  const noRules = new RuleSet({})
  const report = await tryRules(
    groups(),
    hidden(),
    sums,
    noRules,
    new RuleSet({ rules: ['own 9.9.9.0/24', 'keep isp'] }),
  )
  assert.deepEqual(report, {
    ...{ stored: 15, newly_filtered: { 'own 9.9.9.0/24': 5 }, newly_held: {} },
    // Events that the rules would hide too stay hidden.
    ...{ shown: 11, filtered: 111, newly_kept: { 'keep isp': 100 }, unknown: 11, without_address: 7 },
    companies: [{ company_id: 'example.com', name: 'example.com', events: 5, visits: 2 }],
  })
  // Events that the rules of today would filter too, and that were stored before them, are not new.
  const today = ['keep isp', 'own 9.9.9.8/31']
  const then = ['own 9.9.9.8/31', 'always-noise AS64500']
  const other = await tryRules(groups(), hidden(), sums, new RuleSet({ rules: today }), new RuleSet({ rules: then }))
  assert.deepEqual(other.newly_filtered, { 'always-noise AS64500': 7, isp: 3 })
  const holders = new RuleSet({ rules: ['is 9.9.9.0/24 acme.com'] })
  assert.deepEqual((await tryRules(groups(), hidden(), sums, noRules, holders)).newly_held, {
    'is 9.9.9.0/24 acme.com': 5,
  })
  assert.deepEqual((await tryRules(groups(), hidden(), sums, holders, noRules)).companies, report.companies)
  const system = new RuleSet({ rules: ['is AS64500 - Acme'] })
  assert.deepEqual((await tryRules(groups(), hidden(), sums, noRules, system)).newly_held, { 'is AS64500 - Acme': 5 })
})

test('a changed rule about an AS is tried on its events only', () => {
  const scope = new RuleScope(['is AS64503 - Kibo'], false)
  assert.deepEqual(scope.narrowed, { networks: [], asns: [64503], domains: [] })
  const stored = (asn: number) => storedJudged('', '', { asn })
  assert.deepEqual([scope.matches(undefined, stored(64503)), scope.matches(undefined, stored(64504))], [true, false])
  // Stored without an account, so nothing but the name tells them from those of a private person.
  const unclassified = new RuleScope([], true)
  const named = storedJudged('', '', { business_name: 'Kibo', asn: 64503 })
  assert.deepEqual(
    [unclassified.matches(undefined, named), unclassified.matches(undefined, stored(64504))],
    [true, false],
  )
})
