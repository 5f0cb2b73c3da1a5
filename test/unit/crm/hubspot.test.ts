import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { Destinations } from '../../../src/alerts/sending/destinations.ts'
import { CrmBusyError, CrmStoppedError, type OutgoingCompany } from '../../../src/crm/crm.ts'
import { HubSpot } from '../../../src/crm/hubspot/hubspot.ts'
import { wireTo } from '../../../src/crm/request.ts'
import { type Asked, TestHubSpot, TOKEN } from '../../support/hubspot.ts'

const open = new Destinations({ allowsPrivate: true })
const { signal } = new AbortController()

/** A server, and a client whose clock moves with its pauses. */
async function start(t: TestContext, token = TOKEN) {
  const server = await TestHubSpot.start(t)
  const clock = { nowMs: Date.UTC(2026, 10, 25), now: () => clock.nowMs }
  const pauses: number[] = []
  const pause = async (ms: number) => {
    pauses.push(ms)
    clock.nowMs += ms
  }
  const hubspot = new HubSpot({ origin: server.url, token, send: wireTo(open, 'ipid/test'), clock, pause })
  const sync = (companies: readonly OutgoingCompany[], sent = companies) =>
    hubspot.sync(companies, (id) => sent.some(({ company_id }) => company_id === id), signal)
  return { server, hubspot, clock, pauses, sync }
}

const company = (id: string, given: Partial<OutgoingCompany> = {}): OutgoingCompany => ({
  ...{ company_id: id, name: `Name of ${id}`, domain: id, last_visit: '2026-11-24T10:00:00.000Z', visits: 3, heat: 40 },
  ...{ pages: [`shop.example/${id}`], segments: ['Keen'] },
  ...given,
})

const limited = (policyName: string, headers: Record<string, string> = {}) => ({
  ...{ status: 429, headers },
  body: { status: 'error', message: 'You have reached your limit.', errorType: 'RATE_LIMIT', policyName },
})

test('properties are created once in the group ipid, and labels that people changed stay', async (t) => {
  const { server, hubspot } = await start(t)
  await hubspot.begin(signal)
  const own = server.properties.filter(({ groupName }) => groupName === 'ipid')
  assert.deepEqual(
    own.map(({ name, type, hasUniqueValue = false }) => [name, type, hasUniqueValue]),
    [
      ['ipid_company_id', 'string', true],
      ['ipid_last_visit', 'datetime', false],
      ['ipid_visits', 'number', false],
      ['ipid_heat', 'number', false],
      ['ipid_pages', 'string', false],
      ['ipid_segments', 'string', false],
    ],
  )
  own[1]!.label = 'Letzter Besuch'
  server.properties.splice(server.properties.indexOf(own[4]!), 1)
  await hubspot.begin(signal)
  assert.equal(server.properties.filter(({ groupName }) => groupName === 'ipid').length, 6)
  assert.equal(server.calls('batch/create').at(-1)!.body.inputs.length, 1)
  await hubspot.begin(signal)
  assert.deepEqual(
    [server.calls('batch/create').length, server.calls('POST /crm/v3/properties/companies/groups').length],
    [2, 1],
  )
  assert.equal(own[1]!.label, 'Letzter Besuch')
})

test('a company is created once, updated by what changed, and left alone otherwise', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  server.indexes = false
  const [a, b] = [company('a.example'), company('b.example')]
  assert.deepEqual(await sync([a, b]), { created: 2, updated: 0, unchanged: 0, refused: [], brought: [] })
  assert.deepEqual(server.all()[0], {
    ...{
      ipid_company_id: 'a.example',
      name: 'Name of a.example',
      domain: 'a.example',
      ipid_visits: '3',
      ipid_heat: '40',
    },
    ...{ ipid_last_visit: '2026-11-24T10:00:00.000Z', ipid_pages: 'shop.example/a.example', ipid_segments: 'Keen' },
  })
  // HubSpot writes times and numbers in its own way; a person renames the company.
  server.set(server.records[0]!, { ipid_last_visit: '2026-11-24T10:00:00Z', ipid_heat: '40.0', name: 'Apple' })
  const { unchanged, created } = await sync([a, b])
  assert.deepEqual([created, unchanged], [0, 2])
  const more = company('a.example', { visits: 4, name: 'Other', segments: [] })
  assert.equal((await sync([more, b])).updated, 1)
  assert.deepEqual(
    server.calls('batch/update').map(({ body }) => body.inputs),
    [
      [
        {
          id: server.records[0]!.id,
          properties: { ipid_visits: '4', ipid_segments: '' },
          objectWriteTraceId: 'a.example',
        },
      ],
    ],
  )
  assert.deepEqual(
    server.all().map(({ name }) => name),
    ['Apple', 'Name of b.example'],
  )
})

test('a company that HubSpot has by its domain is taken over, the oldest first, and keeps its name', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  const old = server.add({ name: 'ACME Ltd', domain: 'a.example' })
  server.add({ name: 'ACME again', domain: 'a.example' })
  const theirs = server.add({ name: 'Theirs', domain: 'b.example', ipid_company_id: 'b-group' })
  const former = server.add({ name: 'Former', domain: 'c.example', ipid_company_id: 'gone.example' })
  const companies = ['a.example', 'b.example', 'c.example'].map((id) => company(id))
  const { updated, created, refused } = await sync(companies, [...companies, company('b-group')])
  assert.deepEqual([created, updated], [0, 2])
  assert.deepEqual(refused, [
    {
      ...{ company_id: 'b.example', name: 'Name of b.example', domain: 'b.example' },
      reason: 'HubSpot has b.example as b-group: merge the two companies in ipid',
    },
  ])
  assert.deepEqual([server.values(old).name, server.values(old).ipid_company_id], ['ACME Ltd', 'a.example'])
  assert.equal(server.values(theirs).ipid_visits, undefined)
  assert.equal(server.values(former).ipid_company_id, 'c.example')
  assert.equal(server.records.length, 4)
})

test('a deleted company is not made again, and is refused with the reason', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  await sync([company('a.example')])
  server.records[0]!.archived = true
  const { created, refused } = await sync([company('a.example')])
  assert.equal(created, 0)
  assert.match(refused[0]!.reason, /^it was deleted in HubSpot/)
  assert.deepEqual(server.all(), [])
})

test('one faulty company of a batch is refused alone, in a 207 and in a 400', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  const companies = Array.from({ length: 50 }, (_, i) => company(`c${i}.example`))
  companies[17] = company('c17', { domain: 'no domain' })
  const first = await sync(companies)
  assert.deepEqual([first.created, first.refused.map(({ company_id }) => company_id)], [49, ['c17']])
  assert.match(first.refused[0]!.reason, /not valid: no domain is not a valid domain/)
  assert.equal(server.calls('batch/upsert').length, 1)

  // A server that answers as if there were no trace ids.
  server.answer = ({ call, body }) => {
    if (!call.includes('batch/update') || !body.inputs.some(({ id }: { id: string }) => id === server.records[3]!.id))
      return undefined
    return {
      status: 400,
      body: { status: 'error', category: 'VALIDATION_ERROR', message: 'Property values were not valid' },
    }
  }
  const changed = companies.map((one) => ({ ...one, visits: 9 }))
  const second = await sync(changed.filter((_, i) => i !== 17))
  assert.deepEqual([second.updated, second.refused.map(({ company_id }) => company_id)], [48, ['c3.example']])
  assert.equal(server.all().filter(({ ipid_visits }) => ipid_visits === '9').length, 48)

  // A 207 whose error names no company.
  let isFirst = true
  server.answer = ({ call, body }) => {
    if (!call.includes('batch/update') || !isFirst) return undefined
    isFirst = false
    assert.equal(body.inputs.length, 2)
    const errors = [{ status: 'error', category: 'INTERNAL_ERROR', message: 'internal' }]
    return { status: 207, body: { status: 'COMPLETE', results: [], errors, numErrors: 1 } }
  }
  const third = await sync(companies.slice(0, 2))
  assert.deepEqual([third.updated, third.refused], [2, []])
})

test('when HubSpot refuses every company, a run ends with the reason after some 200 writes', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  server.answer = ({ call }) =>
    call.includes('batch/upsert')
      ? { status: 400, body: { status: 'error', message: 'ipid_visits is not a number property' } }
      : undefined
  const part = (from: number) => Array.from({ length: 50 }, (_, i) => company(`c${from + i}.example`))
  const ended = async () => {
    for (let from = 0; from < 1_000; from += 50) await sync(part(from))
  }
  await assert.rejects(ended(), (error: Error) => {
    assert.ok(!(error instanceof CrmStoppedError))
    assert.match(
      error.message,
      /^HubSpot refuses all companies: ipid_visits is not a number property\. Was a property of the group ipid changed/,
    )
    return true
  })
  const writes = server.calls('batch/upsert').length
  assert.ok(writes > 100 && writes <= 250, String(writes))
})

test('a company that HubSpot cannot read or search is refused alone, and not created', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  const companies = Array.from({ length: 50 }, (_, i) => company(`c${i}.example`))
  const faulty = { status: 400, body: { status: 'error', category: 'VALIDATION_ERROR', message: 'odd input' } }
  const cases: readonly (readonly [call: string, answer: { status: number; body: object }, reason: RegExp])[] = [
    ['batch/read?archived=false', faulty, /^odd input$/],
    ['/search', faulty, /^odd input$/],
    ['batch/read?archived=true', faulty, /^odd input$/],
    [
      'batch/read?archived=false',
      { status: 207, body: { results: [], errors: [{ category: 'INTERNAL_ERROR', message: 'internal' }] } },
      /^HubSpot cannot read it: internal$/,
    ],
  ]
  for (const [kind, answer, reason] of cases) {
    server.records.length = 0
    server.answer = ({ call, body }) =>
      call.includes(kind) && JSON.stringify(body).includes('"c17.example"') ? answer : undefined
    const { created, refused } = await sync(companies)
    assert.deepEqual([created, refused.map(({ company_id }) => company_id)], [49, ['c17.example']], kind)
    assert.match(refused[0]!.reason, reason)
    assert.equal(server.records.length, 49)
  }
})

test('a company is found by a further domain of HubSpot’s, after the one with that main domain', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  const merged = server.add({ name: 'Merged', domain: 'main.example', hs_additional_domains: 'a.example;b.example' })
  const own = server.add({ name: 'B', domain: 'b.example' })
  const [a, b] = [company('a.example'), company('b.example')]
  assert.deepEqual(await sync([b, a]), { created: 0, updated: 2, unchanged: 0, refused: [], brought: [] })
  const keys = () => [merged, own].map((record) => server.values(record).ipid_company_id)
  assert.deepEqual(keys(), ['a.example', 'b.example'])
  assert.equal(server.values(merged).domain, 'main.example')

  // One record for two companies: it goes to the one with its main domain.
  server.records.length = 0
  const both = server.add({ name: 'Both', domain: 'b.example', hs_additional_domains: 'a.example' })
  const { updated, created, refused } = await sync([a, b])
  assert.deepEqual([updated, created, server.values(both).ipid_company_id], [1, 0, 'b.example'])
  assert.deepEqual(
    refused.map(({ company_id, reason }) => [company_id, reason]),
    [['a.example', 'HubSpot has a.example as b.example: merge the two companies in ipid']],
  )
})

test('owner and stage are read back with their times, also when people removed them', async (t) => {
  const { server, hubspot, sync } = await start(t)
  for (let i = 0; i < 600; i++) server.owners.push({ id: String(i), email: `p${i}@us.example` })
  await hubspot.begin(signal)
  const companies = ['a.example', 'b.example', 'c.example', 'd.example'].map((id) => company(id))
  await sync(companies)
  const [a, b, c, d] = server.records as [TestHubSpot['records'][0], ...TestHubSpot['records']]
  server.set(a, { hubspot_owner_id: '1', lifecyclestage: 'lead' })
  server.set(a, { hubspot_owner_id: '599', lifecyclestage: 'opportunity' })
  const atMs = Date.parse(a.history.lifecyclestage![0]!.timestamp)
  server.set(b!, { hubspot_owner_id: '2' })
  server.set(b!, { hubspot_owner_id: '' })
  server.set(c!, { hubspot_owner_id: '777', lifecyclestage: '4711' })
  assert.deepEqual(
    (await sync(companies)).brought.map(({ company_id, field, value }) => [company_id, field, value]),
    [
      ['a.example', 'owner', 'p599@us.example'],
      ['a.example', 'status', 'open deal'],
      ['b.example', 'owner', ''],
      ['c.example', 'status', ''],
    ],
  )
  assert.equal((await sync(companies)).brought[1]!.atMs, atMs)
  assert.equal(d?.history.lifecyclestage, undefined)
})

test('it waits as HubSpot says: Retry-After, the policy, the window; and it spaces requests', async (t) => {
  const { server, hubspot, pauses, sync, clock } = await start(t)
  const answers = [
    limited('SECONDLY', { 'retry-after': '7' }),
    limited('SECONDLY'),
    limited('TEN_SECONDLY_ROLLING'),
    limited('SOMETHING_NEW'),
  ]
  server.answer = () => answers.shift()
  await hubspot.begin(signal)
  assert.deepEqual(
    pauses.filter((ms) => ms >= 1_000),
    [7_000, 1_000, 10_000, 10_000],
  )
  // Each request at least 110 ms after the one before.
  assert.ok(pauses.some((ms) => ms > 0 && ms <= 110))

  pauses.length = 0
  const window = { 'x-hubspot-ratelimit-remaining': '0', 'x-hubspot-ratelimit-interval-milliseconds': '10000' }
  server.answer = ({ call }) =>
    call.includes('/search') ? { status: 200, body: { total: 0, results: [] }, headers: window } : undefined
  await sync([company('a.example')])
  assert.deepEqual(
    pauses.filter((ms) => ms > 1_000),
    [10_000],
  )

  for (const [answer, waitMs] of [
    [limited('DAILY'), 3_600_000],
    [limited('SECONDLY', { 'retry-after': '120' }), 120_000],
    [{ status: 503, body: {}, headers: { 'retry-after': new Date(clock.nowMs + 90_000).toUTCString() } }, undefined],
  ] as const) {
    server.answer = () => answer
    await assert.rejects(hubspot.begin(signal), (error: CrmBusyError) => {
      assert.ok(error instanceof CrmBusyError, String(error))
      if (waitMs !== undefined) assert.equal(error.waitMs, waitMs)
      else assert.ok(error.waitMs > 80_000 && error.waitMs <= 90_000)
      return true
    })
  }
  server.answer = () => limited('SECONDLY')
  const before = server.asked.length
  await assert.rejects(hubspot.begin(signal), CrmBusyError)
  assert.equal(server.asked.length - before, 5)
})

test('a clock that is set back delays no request by more than a minute', async (t) => {
  const { hubspot, clock, pauses } = await start(t)
  await hubspot.begin(signal)
  clock.nowMs -= 86_400_000
  pauses.length = 0
  await hubspot.begin(signal)
  assert.ok(Math.max(...pauses) <= 60_000, String(pauses))
})

test('a wrong token, a missing scope and a property of others stop it, with what to do', async (t) => {
  const wrong = await start(t, 'pat-eu1-wrong-wrong-wrong')
  const stopped = (message: RegExp) => (error: Error) => {
    assert.ok(error instanceof CrmStoppedError, String(error))
    assert.match(error.message, message)
    assert.doesNotMatch(error.message, /pat-/)
    return true
  }
  await assert.rejects(wrong.hubspot.begin(signal), stopped(/does not accept the token.*Connect again/))
  assert.equal(wrong.server.asked.length, 1)

  const { server, hubspot, sync } = await start(t)
  server.scopes.delete('crm.objects.owners.read')
  await assert.rejects(hubspot.begin(signal), stopped(/lacks the scope crm\.objects\.owners\.read\. Add it in HubSpot/))
  server.answer = () => ({ status: 403, body: { message: 'This app has no scope.', category: 'MISSING_SCOPES' } })
  await assert.rejects(hubspot.begin(signal), stopped(/Give the private app the scopes it needs/))
  server.answer = () => undefined
  server.scopes.add('crm.objects.owners.read')
  server.properties.push({ ...server.properties[0]!, name: 'ipid_company_id' })
  await assert.rejects(hubspot.begin(signal), stopped(/ipid_company_id in HubSpot does not require unique values/))
  server.properties.pop()
  await hubspot.begin(signal)
  server.scopes.delete('crm.objects.companies.write')
  await assert.rejects(sync([company('a.example')]), stopped(/crm\.objects\.companies\.write/))
})

test('an answer that is not HubSpot’s, a fault and a redirect fail without a stop', async (t) => {
  const { server, hubspot } = await start(t)
  for (const [status, body, message] of [
    [200, 'hello', /not the JSON that HubSpot documents/],
    [500, { message: 'internal error', category: 'INTERNAL' }, /HubSpot fails: internal error/],
    [302, {}, /redirects \(302\)/],
    [403, { message: 'blocked', category: 'BANNED' }, /^HubSpot does not allow it: blocked$/],
  ] as const) {
    server.answer = () => ({ status, body })
    await assert.rejects(hubspot.begin(signal), (error: Error) => {
      assert.equal(error.name, 'Error')
      assert.match(error.message, message)
      return true
    })
  }
})

test('long domains are searched in several requests, and pages of a search are followed', async (t) => {
  const { server, hubspot, sync } = await start(t)
  await hubspot.begin(signal)
  const companies = Array.from({ length: 50 }, (_, i) => company(`${'x'.repeat(60)}.${'y'.repeat(50)}${i}.example`))
  for (let i = 0; i < 201; i++) server.add({ name: 'Copy', domain: companies[7]!.domain })
  const { created, updated } = await sync(companies)
  assert.deepEqual([created, updated], [49, 1])
  const searches = server.calls('/search') as Asked[]
  assert.ok(searches.length > 2)
  assert.equal(searches.filter(({ body }) => body.after !== '0').length, 1)
})
