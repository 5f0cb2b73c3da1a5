import assert from 'node:assert/strict'
import { test } from 'node:test'
import { enrichmentOf, NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import { RuleSet } from '../../../src/enrichment/tenant-rules/rule-set.ts'
import { verdictOf } from '../../../src/operations/accuracy/attribution.ts'
import { compare } from '../../../src/operations/accuracy/compare.ts'
import { wilson } from '../../../src/operations/accuracy/interval.ts'
import { proposals } from '../../../src/operations/accuracy/learn.ts'
import { namedByRule } from '../../../src/operations/accuracy/named-by-rule.ts'
import { type Accuracy, qualityOf } from '../../../src/operations/accuracy/quality.ts'
import type { Meeting, TruthAddress, TruthGroup } from '../../../src/operations/accuracy/truth.ts'
import type { DemoOrganisation } from '../../../src/operations/demo/organisations.ts'
import { type DemoEvent, demoPeople, demoVisits } from '../../../src/operations/demo/visits.ts'
import type { Address } from '../../../src/pipeline/event/address.ts'
import { knownDomainOf } from '../../../src/pipeline/event/known-domain.ts'

/** Every /24 of 20.0.0.0/8 is one organisation, with its domain; each second one is named by the data set `b`. */
const ORGANISATIONS: DemoOrganisation[] = Array.from({ length: 60 }, (_, i) => ({
  companyId: `company-${i}.com`,
  domain: `company-${i}.com`,
  country: 'DE',
  addresses: Array.from({ length: 1 + (i % 3) }, (_, last) => `20.0.${i}.${last + 1}`),
}))
const NOISE: DemoOrganisation[] = [{ companyId: undefined, domain: 'isp.com', country: 'DE', addresses: ['30.0.0.1'] }]
const SEED = 3
const people = demoPeople(ORGANISATIONS, SEED)
const visits = [
  ...demoVisits({
    organisations: ORGANISATIONS,
    noise: NOISE,
    seed: SEED,
    days: 30,
    nowMs: Date.UTC(2026, 10, 26, 12),
  }),
].filter(({ ip }) => ip.startsWith('20.'))

const organisationAt = (ip: string) => ORGANISATIONS[Number(ip.split('.')[2])]!
const sessionOf = ({ session_id }: DemoEvent) => session_id - SEED * 10_000_000

/** The known domain of each session, as `ClickHouseTruth` joins it. */
const known = new Map<number, string>()
for (const event of visits) {
  const { properties, user_properties: user } = event
  const texts = { properties: JSON.stringify(properties), userProperties: user ? JSON.stringify(user) : '', extra: '' }
  const domain = knownDomainOf(texts)
  if (domain !== '') known.set(event.session_id, domain)
}

/** The data take each network for its organisation. */
function companyAt(ip: string, isWrong = (_third: number) => false) {
  const third = Number(ip.split('.')[2])
  const domain = `company-${isWrong(third) ? third + 1_000 : third}.com`
  return { companyId: domain, domain }
}

async function* groups(): AsyncGenerator<TruthGroup> {
  const counted = new Map<string, number>()
  for (const { ip, session_id } of visits) {
    const domain = known.get(session_id)
    if (domain !== undefined) counted.set(`${ip} ${domain}`, (counted.get(`${ip} ${domain}`) ?? 0) + 1)
  }
  for (const [key, events] of [...counted].sort()) {
    const [place, knownDomain] = key.split(' ') as [string, string]
    yield { place, knownDomain, ...companyAt(place), classification: 'business', quality: 85, events }
  }
}

test('an interval holds for few cases and for certain shares', () => {
  const rounded = (share: number, cases: number) => {
    const { low, high } = wilson(share, cases)!
    return [low, high].map((value) => Math.round(value * 1e4) / 1e4)
  }
  assert.deepEqual(rounded(0.5, 10), [0.2366, 0.7634])
  assert.deepEqual(rounded(1, 10), [0.7225, 1])
  assert.deepEqual(rounded(0, 3), [0, 0.5615])
  assert.equal(wilson(1, 0), undefined)
})

test('companies are compared by registrable domain, or else by name', () => {
  const verdict = (companyId: string, domain: string, knownDomain: string) =>
    verdictOf({ companyId, domain }, knownDomain)
  assert.equal(verdict('acme.com', 'acme.com', 'acme.com'), 'right')
  assert.equal(verdict('acme.com', 'www.acme.com', 'acme.com'), 'right')
  assert.equal(verdict('acme.com', '', 'acme.com'), 'right')
  assert.equal(verdict('acme.de', 'acme.de', 'acme.com'), 'other')
  assert.equal(verdict('acme', '', 'acme.com'), 'right')
  assert.equal(verdict('acme', '', 'acme.co.uk'), 'right')
  assert.equal(verdict('acme-energy', '', 'acmeenergy.com'), 'right')
  assert.equal(verdict('acme-energy', '', 'acme.com'), 'other')
  assert.equal(verdict('', '', 'acme.com'), 'none')
  assert.equal(verdict('', 'acme.com', 'acme.com'), 'none')
})

test('the reported precision of the demo has the true one in its interval', async () => {
  // Counts every visitor of the demo, not only those who give an address.
  const cases = new Map<string, { right: number; events: number }>()
  for (const event of visits) {
    const visitor = organisationAt(event.ip)
    const one = cases.get(event.ip) ?? { right: 0, events: 0 }
    if (people.domainOf(sessionOf(event), visitor) === visitor.domain) one.right++
    one.events++
    cases.set(event.ip, one)
  }
  const truth = [...cases.values()].reduce((sum, { right, events }) => sum + right / events, 0) / cases.size
  const { all, data_sets, qualities, classifications } = await qualityOf(groups(), {
    dataSetOf: ({ place }) => (Number(place.split('.')[2]) % 2 === 0 ? 'a' : 'b'),
    isByRule: () => false,
  })
  assert.ok(truth < 0.95 && truth > 0.5, String(truth))
  assert.ok(all.low! < truth && truth < all.high!, `${truth} is not within ${all.low} to ${all.high}`)
  assert.ok(all.cases > 50 && all.cases < all.events)
  assert.equal(all.right + all.other + all.none, all.events)
  assert.deepEqual(data_sets.map(({ name }) => name).sort(), ['a', 'b'])
  assert.equal(
    data_sets.reduce((sum, { events }) => sum + events, 0),
    all.events,
  )
  assert.deepEqual(
    classifications.map(({ name, events }) => [name, events]),
    [['business', all.events]],
  )
  assert.deepEqual(
    qualities.map(({ from, to, events }) => [from, to, events]),
    [
      [0, 19, 0],
      [20, 39, 0],
      [40, 59, 0],
      [60, 79, 0],
      [80, 100, all.events],
    ],
  )
  assert.equal(qualities[0]!.precision, null)
})

test('precision and its interval count cases, however many events they have', async () => {
  async function* each(): AsyncGenerator<TruthGroup> {
    const of = (place: string, domain: string, events: number, quality = 85, knownDomain = 'a.com') =>
      ({ place, knownDomain, companyId: domain, domain, classification: 'business', quality, events }) as const
    yield of('20.0.0.1', 'a.com', 1_000)
    yield of('20.0.0.2', 'c.com', 1)
    yield of('20.0.0.2', 'c.com', 1, 85, 'b.com')
    yield of('20.0.0.3', 'a.com', 2)
    // The data named another company at first.
    yield of('20.0.0.4', 'a.com', 3)
    yield of('20.0.0.4', 'b.com', 1)
    yield of('20.0.0.4', '', 5)
    yield of('20.0.0.5', '', 7)
    yield of('20.0.0.6', 'a.com', 1, 10)
    yield of('20.0.0.6', 'b.com', 3, 30)
  }
  const { all, qualities } = await qualityOf(each(), { dataSetOf: () => 'a', isByRule: () => false })
  const { low, high } = wilson(0.6, 5)!
  assert.deepEqual(all, {
    ...{ events: 1_024, right: 1_006, other: 6, none: 12, precision: 0.6, low, high },
    // 20.0.0.4 is right in three parts of four, 20.0.0.6 in one; nothing of 20.0.0.5 was attributed.
    ...{ cases: 5, right_cases: 3, other_cases: 2, none_cases: 1 },
  })
  assert.deepEqual(
    qualities.map(({ cases, right_cases, other_cases, none_cases, precision }) => [
      ...[cases, right_cases, other_cases, none_cases, precision],
    ]),
    [
      [1, 1, 0, 0, 1],
      [1, 0, 1, 0, 0],
      [0, 0, 0, 0, null],
      [0, 0, 0, 0, null],
      [4, 2.75, 1.25, 0, 0.6875],
    ],
  )
})

test('events that a rule "is" named say nothing about the data', async () => {
  const rules = new RuleSet({
    rules: ['is 203.0.113.8/29 acme.com', 'is 2001:db8::/48 acme.com', 'is 198.51.100.0/24 b.com'],
  })
  const named = namedByRule(rules)
  const of = (place: string, companyId: string) => named({ place, companyId })
  assert.ok(of('203.0.113.9', 'acme.com') && of('2001:db8:0:7::1', 'acme.com') && of('2002:cb00:7109::1', 'acme.com'))
  assert.ok(of('203.0.113.0/24', 'acme.com') && of('2002:cb00:7100::/40', 'acme.com'), 'the rule may be the reason')
  assert.ok(of('#acme.com', 'acme.com') && of('#guest.com', 'acme.com'))
  assert.ok(!of('203.0.113.7', 'acme.com') && !of('203.0.113.9', 'b.com') && !of('203.0.112.0/24', 'acme.com'))
  assert.ok(!of('203.0.113.9', '') && !of('#c.com', 'c.com') && !namedByRule(undefined)({ place: '#', companyId: 'a' }))

  async function* each(): AsyncGenerator<TruthGroup> {
    const at = (place: string, companyId: string, knownDomain: string) =>
      ({
        place,
        knownDomain,
        companyId,
        domain: companyId,
        classification: 'business',
        quality: 85,
        events: 2,
      }) as const
    // Before the rule, the data were wrong here.
    yield at('203.0.113.9', 'provider.com', 'acme.com')
    yield at('203.0.113.9', 'acme.com', 'acme.com')
    yield at('203.0.113.9', 'acme.com', 'guest.com')
    yield at('203.0.113.77', 'acme.com', 'acme.com')
  }
  const report = await qualityOf(each(), { dataSetOf: () => 'a', isByRule: named })
  const counts = ({ right, other, cases, precision }: Accuracy) => [right, other, cases, precision]
  assert.deepEqual(counts(report.all), [2, 2, 2, 0.5])
  assert.deepEqual(counts(report.rules), [2, 2, 1, 0.5])
  for (const [part] of [report.data_sets, report.classifications, report.qualities.slice(-1)]) {
    assert.deepEqual(counts(part!), [2, 2, 2, 0.5])
  }
})

function dataOf(isWrong: (third: number) => boolean, isUnknown = (_third: number) => false) {
  return {
    enrich({ text }: Address) {
      if (isUnknown(Number(text.split('.')[2]))) return NOTHING_KNOWN
      const { companyId, domain } = companyAt(text, isWrong)
      return enrichmentOf({ noise: false, classification: 'business', quality: 80, companyId, data: { domain } })
    },
  }
}

async function* addresses(): AsyncGenerator<TruthAddress> {
  const byIp = new Map<string, { events: number; domains: Set<string> }>()
  for (const { ip, session_id } of visits) {
    const of = byIp.get(ip) ?? { events: 0, domains: new Set() }
    of.events++
    const domain = known.get(session_id)
    if (domain !== undefined) of.domains.add(domain)
    byIp.set(ip, of)
  }
  for (const [ip, { events, domains }] of byIp) {
    yield { ip, hostname: '', events, knownDomain: domains.size === 1 ? [...domains][0]! : '' }
  }
  yield { ip: '#0123456789abcdef', hostname: '', events: 7, knownDomain: 'company-1.com' }
}

test('a planted wrong data set loses the comparison', async () => {
  const right = dataOf(() => false)
  const wrong = dataOf(
    (third) => third % 2 === 0,
    (third) => third % 7 === 3,
  )
  const report = await compare(addresses(), right, wrong)
  assert.equal(report.better, 'this')
  assert.equal((await compare(addresses(), wrong, right)).better, 'other')
  assert.equal((await compare(addresses(), right, right)).better, null)
  assert.equal(report.without_address, 7)
  assert.ok(report.this.precision! > 0.8 && report.other.precision! < 0.65)
  assert.ok(report.only_this.addresses > 0 && report.differ.addresses > 0 && report.agree.addresses > 0)
  assert.deepEqual([report.only_other.addresses, report.neither.addresses], [0, 0])
  assert.ok(report.differ.this_right > report.differ.other_right)
  assert.equal(report.events, visits.length)
})

test('names that mean one domain agree', async () => {
  const named = (companyId: string) => ({
    enrich: () => enrichmentOf({ noise: false, classification: undefined, quality: 20, companyId, data: {} }),
  })
  const report = await compare(addresses(), named('company-1'), named('company-1.com'))
  assert.equal(report.agree.addresses, report.addresses)
})

/** The people met at the addresses of the demo. */
async function* meetings(): AsyncGenerator<Meeting> {
  const met = new Map<string, { people: Set<string>; days: Set<string>; events: number }>()
  for (const event of visits) {
    const email = event.user_properties?.email
    if (email === undefined) continue
    const key = `${event.ip} ${known.get(event.session_id) ?? ''}`
    const of = met.get(key) ?? { people: new Set(), days: new Set(), events: 0 }
    of.people.add(email)
    of.days.add(event.timestamp.slice(0, 10))
    of.events++
    met.set(key, of)
  }
  const byNetwork = [...met].sort(([a], [b]) => (a < b ? -1 : 1))
  for (const [key, { people: all, days, events }] of byNetwork) {
    const [ip, knownDomain] = key.split(' ') as [string, string]
    const network = `${ip.split('.').slice(0, 3).join('.')}.0`
    yield { network, ip, knownDomain, people: [...all], days: [...days], events, company: companyAt(ip) }
  }
}

test('a planted office is proposed, and no café', async () => {
  const found = await proposals(meetings(), undefined)
  assert.deepEqual(
    found.map(({ domain, now }) => [domain, now]),
    [[people.officeOf, people.office!.domain]],
  )
  const [office] = found
  assert.match(office!.network, /^20\.0\.2\.\d+\/(29|30|31|32)$/)
  assert.equal(office!.rule, `is ${office!.network} ${people.officeOf}`)
  assert.ok(office!.people >= 3 && office!.days >= 3 && office!.share === 1)
  assert.deepEqual(await proposals(meetings(), new RuleSet({ rules: [office!.rule] })), [])
})

/** Met at one address: people by domain. */
function met(ip: string, domain: string, count: number, { days = 5, company = '' } = {}): Meeting {
  const network = ip.includes(':') ? '2001:db8::' : `${ip.split('.').slice(0, 3).join('.')}.0`
  return {
    ...{ network, ip, knownDomain: domain, events: count, company: { companyId: company, domain: '' } },
    people: Array.from({ length: count }, (_, i) => `${ip} ${domain} ${i}`),
    days: Array.from({ length: days }, (_, i) => `2026-11-0${i + 1}`),
  }
}

async function proposed(...all: Meeting[]): Promise<string[]> {
  async function* each() {
    yield* all
  }
  return (await proposals(each(), undefined)).map(({ rule }) => rule)
}

/** Met at some addresses of one network, each by other people on other days. */
function scattered(network: string, lasts: readonly number[], each: number, domain = 'acme.com'): Meeting[] {
  return lasts.map((last, i) => ({
    ...met(`${network}.${last}`, domain, each),
    days: Array.from({ length: each }, (_, day) => `2026-10-${10 + i * each + day}`),
  }))
}

test('an address is proposed by itself, and only with its own people and days', async () => {
  assert.deepEqual(await proposed(met('203.0.113.9', 'acme.com', 3)), ['is 203.0.113.9/32 acme.com'])
  // Addresses of IPv6 change within a /64.
  const v6 = [met('2001:db8:0:1::1', 'acme.com', 2), met('2001:db8:0:1:ffff::', 'acme.com', 2)]
  assert.deepEqual(await proposed(...v6), ['is 2001:db8:0:1::/64 acme.com'])
  const far = [met('203.0.113.1', 'acme.com', 2), met('203.0.113.250', 'acme.com', 20)]
  assert.deepEqual(await proposed(...far), ['is 203.0.113.250/32 acme.com'])
  const two = [met('203.0.113.1', 'acme.com', 4), met('203.0.113.250', 'acme.com', 20)]
  assert.deepEqual(await proposed(...two), ['is 203.0.113.250/32 acme.com', 'is 203.0.113.1/32 acme.com'])
})

test('a few people who are scattered over a network are not proposed', async () => {
  assert.deepEqual(await proposed(...scattered('203.0.113', [5, 77, 240], 1)), [])
  assert.deepEqual(await proposed(...scattered('203.0.113', [8, 14], 2)), [])
  const v6 = [1, 2, 3].map((i) => met(`2001:db8:0:${i}::1`, 'acme.com', 1))
  assert.deepEqual(await proposed(...v6), [])
})

test('addresses next to one another become one network, unless others are met between them', async () => {
  const office = [met('203.0.113.8', 'acme.com', 3), met('203.0.113.14', 'acme.com', 4)]
  assert.deepEqual(await proposed(...office), ['is 203.0.113.8/29 acme.com'])
  const afar = [met('203.0.113.77', 'b.com', 1), met('203.0.113.77', 'c.com', 1), met('203.0.113.200', '', 2)]
  assert.deepEqual(await proposed(...office, ...afar), ['is 203.0.113.8/29 acme.com'])
  const alone = ['is 203.0.113.14/32 acme.com', 'is 203.0.113.8/32 acme.com']
  assert.deepEqual(await proposed(...office, met('203.0.113.11', 'b.com', 1)), alone)
  assert.deepEqual(await proposed(...office, met('203.0.113.11', '', 1)), alone)
  const few = [met('203.0.113.9', 'acme.com', 4, { days: 2 }), met('203.0.113.13', 'acme.com', 4, { days: 2 })]
  const brief = [met('203.0.113.8', 'acme.com', 3, { days: 3 }), met('203.0.113.14', 'acme.com', 4, { days: 3 })]
  assert.deepEqual(await proposed(...brief, ...few), alone, 'most people were met at other addresses')
  const after = met('203.0.113.15', 'acme.com', 1)
  const pair = [met('203.0.113.8', 'acme.com', 3), met('203.0.113.9', 'acme.com', 3), after]
  assert.deepEqual(await proposed(...pair), ['is 203.0.113.8/31 acme.com'], 'one person does not make it wider')
  const v6 = [0, 7].map((i) => met(`2001:db8:0:${i}::1`, 'acme.com', 3))
  assert.deepEqual(await proposed(...v6), ['is 2001:db8::/61 acme.com'])
})

test('an office of many addresses is proposed, and the larger it is the more people it needs', async () => {
  const small = scattered('203.0.113', [65, 90, 100, 126], 2)
  assert.deepEqual(await proposed(...small), ['is 203.0.113.64/26 acme.com'])
  assert.deepEqual(await proposed(...small.slice(1)), [], 'three addresses')
  assert.deepEqual(await proposed(...scattered('203.0.113', [65, 90, 100, 126], 1)), [], 'four people')
  assert.deepEqual(await proposed(...small, met('203.0.113.80', '', 1)), [], 'private mail between them')
  assert.deepEqual(await proposed(...scattered('203.0.113', [1, 60, 100, 126], 2)), [], 'too wide for eight people')
  const large = scattered('203.0.113', [1, 30, 60, 100, 130, 170, 200, 250], 2)
  assert.deepEqual(await proposed(...large), ['is 203.0.113.0/24 acme.com'])
  const straggler = [
    ...scattered('203.0.113', [65, 80, 90, 100, 110, 120, 126], 2),
    met('203.0.113.250', 'acme.com', 1),
  ]
  assert.deepEqual(await proposed(...straggler), ['is 203.0.113.64/26 acme.com'])
  const v6 = [0, 5, 9, 15].map((i) => met(`2001:db8:0:${i.toString(16)}::1`, 'acme.com', 2))
  assert.deepEqual(await proposed(...v6), ['is 2001:db8::/60 acme.com'])
})

test('a network that a rule names in part only is proposed again', async () => {
  async function* each() {
    yield* [met('203.0.113.8', 'acme.com', 3), met('203.0.113.9', 'acme.com', 3)]
  }
  const rulesOf = async (...rules: string[]) =>
    (await proposals(each(), new RuleSet({ rules }))).map(({ network }) => network)
  assert.deepEqual(await rulesOf('is 203.0.113.8/32 acme.com'), ['203.0.113.8/31'])
  assert.deepEqual(await rulesOf('is 203.0.113.8/32 acme.com', 'is 203.0.113.9/32 acme.com'), [])
})

test('few people, few days, several domains, private mail and known networks are not proposed', async () => {
  assert.deepEqual(await proposed(met('203.0.113.9', 'acme.com', 2)), [])
  assert.deepEqual(await proposed(met('203.0.113.9', 'acme.com', 9, { days: 2 })), [])
  assert.deepEqual(await proposed(met('203.0.113.9', 'acme.com', 8), met('203.0.113.9', 'b.com', 1)), [])
  assert.deepEqual(await proposed(met('203.0.113.9', 'acme.com', 8), met('203.0.113.9', '', 1)), [])
  assert.deepEqual(await proposed(met('203.0.113.9', '', 9)), [])
  assert.deepEqual(await proposed(met('203.0.113.9', 'acme.com', 9, { company: 'acme' })), [])
})
