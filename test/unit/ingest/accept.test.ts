import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { IngestResponse } from '../../../schemas/api/event.ts'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import type { Enricher, Enrichment } from '../../../src/pipeline/event/enrichment.ts'
import { EnvelopeState } from '../../../src/pipeline/event/envelope.ts'
import { enrichmentColumns } from '../../../src/pipeline/event/row.ts'
import { acceptEvents, acceptManyEvents } from '../../../src/pipeline/sources/live/keep.ts'
import { sliceEvent } from '../../../src/pipeline/sources/live/slice-event.ts'
import { readEvents } from '../../support/read-events.ts'

const company: Enrichment = known('business', 70, 'example.com')
const cloud: Enrichment = known('cloud', 40, 'cloud.example')

const enricher: Enricher = { enrich: (address) => (address.text.startsWith('203.') ? cloud : company) }
const receipt = { tenantId: 'acme', receivedAtMs: Date.UTC(2026, 10, 21, 1, 2, 3, 4), requestId: 'a\\b' }

function known(classification: 'business' | 'cloud', quality: number, domain: string): Enrichment {
  const part = { companyId: domain, classification, quality, data: { org_name: 'Example', domain, classification } }
  const answerJson = `"enrichment":{"org_name":"Example","classification":"${classification}"},"quality":${quality}`
  return { ...part, noise: classification === 'cloud', answerJson, ...enrichmentColumns(part) }
}

function accept(text: string) {
  const { envelopes, outcomes, response } = acceptEvents(text, readEvents(text), receipt, enricher)
  return { envelopes, outcomes, answer: JSON.parse(response) as IngestResponse }
}

/** Reads a row like ClickHouse does. It ends before the source, which requests with API keys have not. */
function columns(row: string): Record<string, string> {
  const unescaped = row
    .split('\t')
    .map((value) =>
      value.replace(
        /\\(.)/g,
        (_, char: string) => ({ n: '\n', t: '\t', r: '\r', '0': '\0', b: '\b', f: '\f' })[char] ?? char,
      ),
    )
  assert.equal(unescaped.length, ROW_COLUMNS.indexOf('source_id'))
  return Object.fromEntries(ROW_COLUMNS.map((column, i) => [column, unescaped[i] ?? '']))
}

test('a slice of many events is bounded in events and in characters', () => {
  const slicesOf = (count: number, chars: number) => {
    const event = `{"ip":"8.8.8.8","properties":{"a":"${'x'.repeat(chars)}"}}`
    const text = `{"events":[${Array(count).fill(event).join()}]}`
    const work = acceptManyEvents(text, readEvents(text), receipt, enricher)
    let slices = 0
    let step = work.next()
    for (; step.done !== true; step = work.next()) slices++
    assert.equal(step.value.envelopes.length, count)
    return slices
  }
  assert.deepEqual([slicesOf(65, 1), slicesOf(3, 70_000), slicesOf(8, 40_000)], [2, 3, 4])
})

test('properties and unknown keys are kept unchanged', () => {
  const properties =
    '{ "n": 1.0, "big": 12345678901234567890, "b":1,"10":2,"a":1,"a":2, "s":"tab\\t\\u00e9 \\\\ \\" }{"}'
  const user = '[1e400, -0, null, "\\ud83d\\ude00"]'
  const text = `{"x":{"events":[1]},"events":[{"\\u0069p":"8.8.8.8","properties":${properties},"user_properties" : ${user} ,"odd\\nkey":{"deep":[{}]},"z": 1.50}]}`
  const { envelopes } = accept(text)
  const row = columns(envelopes[0]!.row)
  assert.equal(row.properties, properties)
  assert.equal(row.user_properties, user)
  assert.equal(row.extra, '{"odd\\nkey":{"deep":[{}]},"z": 1.50}')
  assert.equal(row.ip, '8.8.8.8')
  assert.deepEqual([row.job_id, row.request_id], ['', 'a\\b'])
})

test('of repeated keys the last one counts, as in JSON.parse', () => {
  const { envelopes } = accept(
    '{"events":[{"ip":"1.1.1.1"}],"events":[{"ip":"8.8.8.8","properties":1,"properties":2}]}',
  )
  assert.equal(envelopes.length, 1)
  const row = columns(envelopes[0]!.row)
  assert.equal(row.ip, '8.8.8.8')
  assert.equal(row.properties, '2')
})

test('unused values of a repeated key are not checked', () => {
  for (const unused of ['["a"]', '"x"', '5', '{}', '[[]]', 'null', '[{"ip":1}]', '["\\""]']) {
    const { envelopes } = accept(`{"events":${unused},"events":[{"ip":"8.8.8.8"}]}`)
    assert.equal(envelopes.length, 1, unused)
  }
})

test('dropped events are counted by outcome, and get no envelope', () => {
  const ips = ['203.0.113.1', 'nowhere', '203.0.113.2', '8.8.8.8', '']
  const { envelopes, outcomes } = accept(JSON.stringify({ events: ips.map((ip) => ({ ip })) }))
  assert.equal(envelopes.length, 1)
  assert.deepEqual(Object.fromEntries(outcomes), {
    'acme\t2026-11-21\t\tfiltered\t\tcloud': 2,
    'acme\t2026-11-21\t\tinvalid_ip\t\t': 2,
  })
})

test('slicing invalid JSON throws and ends', () => {
  for (const text of ['', '"a"', '{', '{"a', '{"a"', '{"a":', '{"a":[', '{"a":"', '{"a":{"b":1}', '[]', '{a:1}']) {
    assert.throws(() => sliceEvent(text, 0, { ip: '' }), text)
  }
})

test("the row holds the caller's values, and line feeds and tabs stay inside their column", () => {
  const event = {
    ip: '::ffff:8.8.8.8',
    event_id: 'a\tb\nc\\d\0',
    timestamp: '2026-11-20T10:00:00.5+01:00',
    event_type: 'page\rview',
    session_id: -5,
    platform: 'ios',
    account_id: 'acc',
  }
  const { envelopes, answer } = accept(JSON.stringify({ events: [event] }))
  assert.ok(!envelopes[0]!.row.includes('\n'))
  const row = columns(envelopes[0]!.row)
  assert.equal(row.ip, '8.8.8.8')
  assert.equal(row.tenant_id, 'acme')
  assert.equal(row.event_id, event.event_id)
  assert.equal(row.received_at, '1795222923.004')
  assert.equal(row.timestamp, '1795165200.500')
  assert.equal(row.event_type, event.event_type)
  assert.equal(row.session_id, '-5')
  assert.equal(row.account_id, 'acc')
  assert.equal(row.company_id, 'example.com')
  assert.equal(row.quality, '70')
  assert.equal(answer.results[0]!.ip, '::ffff:8.8.8.8')
  assert.equal(answer.results[0]!.event_id, event.event_id)
})

test('a row ends with the domain of a work address, and no other row has one', () => {
  const user_properties = { email: 'jane@Mail.Example.com' }
  const events = [{ ip: '8.8.8.8', user_properties }, { ip: '8.8.8.8' }]
  const [known, other] = accept(JSON.stringify({ events })).envelopes.map(({ row }) => row.split('\t'))
  assert.deepEqual(known!.slice(ROW_COLUMNS.indexOf('job_id')), ['', 'a\\\\b', '', 'example.com'])
  assert.deepEqual(other!.slice(ROW_COLUMNS.indexOf('job_id')), ['', 'a\\\\b'])
})

test('without an account the organisation is used, without a timestamp the receipt', () => {
  const row = columns(accept('{"events":[{"ip":"8.8.8.8"}]}').envelopes[0]!.row)
  assert.equal(row.account_id, 'example.com')
  assert.equal(row.timestamp, row.received_at)
  assert.match(row.event_id!, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

test('the answer counts and lists every event in order', () => {
  const events = ['8.8.8.8', 'nonsense', '203.0.113.1', '::ffff:8.8.8.8', ''].map((ip, i) => ({
    ip,
    event_id: `e${i}`,
  }))
  const { answer, envelopes } = accept(JSON.stringify({ events }))
  assert.deepEqual(answer.stats, { received: 5, accepted: 2, rejected: 3, filtered: 1, invalid_ip: 2, unique_ips: 2 })
  assert.deepEqual(
    answer.results.map(({ event_id, status }) => [event_id, status]),
    [
      ['e0', 'ok'],
      ['e1', 'invalid_ip'],
      ['e2', 'filtered'],
      ['e3', 'ok'],
      ['e4', 'invalid_ip'],
    ],
  )
  assert.deepEqual(answer.results[1], {
    event_id: 'e1',
    ip: 'nonsense',
    status: 'invalid_ip',
    enrichment: {},
    quality: 0,
  })
  assert.equal(answer.results[2]!.enrichment.classification, 'cloud')
  assert.deepEqual(
    envelopes.map((envelope) => envelope.state),
    [EnvelopeState.Enriched, EnvelopeState.Enriched],
  )
})

test('an event id has the same identity within a tenant, and another one in another tenant', () => {
  const text = '{"events":[{"ip":"8.8.8.8","event_id":"x"}]}'
  const identity = (tenantId: string) =>
    acceptEvents(text, readEvents(text), { ...receipt, tenantId }, enricher).envelopes[0]!.identity
  assert.equal(identity('a'), identity('a'))
  assert.notEqual(identity('a'), identity('b'))
  assert.equal(identity('a').length, 16)
})
