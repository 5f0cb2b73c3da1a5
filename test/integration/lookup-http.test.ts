import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { API_KEY, startHttp } from '../support/http.ts'
import { ACME, freeQuota, lookupOf, TestLookups } from '../support/lookups.ts'

async function startLookups(t: TestContext, lookups = new TestLookups()) {
  const quota = freeQuota()
  const { url } = await startHttp(t, { lookups, quota })
  const post = async (body?: unknown, query = '', path = '/v1/lookup') => {
    const answer = await fetch(`${url}${path}${query}`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY, 'content-type': 'application/json' },
      body: typeof body === 'string' || body === undefined ? body : JSON.stringify(body),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, text, json: parse(text) }
  }
  return { lookups, quota, post, url }
}

// biome-ignore lint/suspicious/noExplicitAny: answers of unknown shape
function parse(text: string): any {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

test('a lookup answers every known value in order, and the rest of the quota', async (t) => {
  const { post, lookups } = await startLookups(t)
  const { status, headers, text } = await post({ ip: '198.51.100.7' })
  assert.equal(status, 200)
  assert.equal(headers.get('content-type'), 'application/json; charset=utf-8')
  const expected = {
    ip: '198.51.100.7',
    tenant_id: 'acme',
    quality: 60,
    status: 'ok',
    data: ACME,
    quota: {
      daily_limit: 1_000_000,
      daily_used: 1,
      daily_remaining: 999_999,
      reset_at: '2026-11-22T00:00:00+00:00',
    },
  }
  assert.equal(text, JSON.stringify(expected), 'fields and attributes in their order')
  const inHeaders = ['limit', 'used', 'remaining', 'reset'].map((name) => headers.get(`x-quota-${name}`))
  assert.deepEqual(inHeaders, Object.values(expected.quota).map(String))
  assert.deepEqual(lookups.asked[0]?.options, {
    allow: undefined,
    deny: undefined,
    hostname: false,
    deadlineMs: undefined,
  })
})

test("the address is looked up in its canonical form and answered in the caller's spelling", async (t) => {
  const { post, lookups } = await startLookups(t)
  for (const [ip, canonical] of [
    ['::ffff:198.51.100.7', '198.51.100.7'],
    ['::FFFF:C633:6407', '198.51.100.7'],
    ['2001:DB8:0:0::1', '2001:db8::1'],
  ]) {
    const { json } = await post({ ip })
    assert.deepEqual([json.ip, lookups.asked.at(-1)?.address], [ip, canonical])
  }
})

test('fields selects, redact removes and wins, geo includes the place', async (t) => {
  const { post, lookups } = await startLookups(t)
  const data = async (choices: object) => JSON.stringify((await post({ ip: '198.51.100.7', ...choices })).json.data)
  assert.equal(
    await data({ fields: ['org_name', 'business_name', 'timezone'] }),
    '{"business_name":"Acme","org_name":"Acme, Inc."}',
  )
  assert.equal(await data({ fields: ['asn', 'city', 'org_name'], redact: ['geo', 'org_name'] }), '{"asn":64500}')
  const { latitude: _, city: _c, country_code: _cc, ...rest } = ACME
  assert.equal(await data({ redact: ['geo'] }), JSON.stringify(rest))
  assert.equal(await data({ fields: [] }), '{}')
  assert.equal(await data({ fields: ['hostname', 'asn'], redact: ['hostname'] }), '{"asn":64500}')
  assert.equal(
    lookups.asked.at(-1)?.options.hostname,
    false,
    'a caller that removes the host name does not wait for it',
  )
  assert.equal(await data({ redact: [] }), JSON.stringify(ACME), 'the earlier removal is not forgotten')
})

test('quality_min changes the status but not the data; partial lists the sources cut off', async (t) => {
  const lookups = new TestLookups(async (address, { deadlineMs }) =>
    lookupOf(address.text, ACME, 40, deadlineMs === undefined ? [] : ['rdns']),
  )
  const { post } = await startLookups(t, lookups)
  for (const [quality_min, status] of [
    [40, 'ok'],
    [40.5, 'insufficient_quality'],
    [0, 'ok'],
    [100, 'insufficient_quality'],
  ]) {
    const { json } = await post({ ip: '198.51.100.7', quality_min })
    assert.deepEqual([json.status, json.data.org_name, json.quality], [status, 'Acme, Inc.', 40])
    assert.ok(!('partial' in json))
  }
  const { json } = await post({ ip: '198.51.100.7', deadline_ms: 1 })
  assert.deepEqual([json.partial, json.data.org_name], [['rdns'], 'Acme, Inc.'])
  assert.equal(lookups.asked.at(-1)?.options.deadlineMs, 1)
})

test('every field may be a query parameter, lists repeated or comma-separated; the body wins', async (t) => {
  const { post, lookups } = await startLookups(t)
  const query =
    '?ip=198.51.100.7&fields=hostname,industry&fields=asn&redact=asn&providers.deny=rdns&deadline_ms=250&quality_min=6.1e1'
  const denied = { deny: ['rdns'], deadlineMs: 250 }
  const all = await post(undefined, query)
  assert.equal(all.status, 200, all.text)
  assert.equal(JSON.stringify(all.json.data), '{"hostname":"a.acme.example","industry":"Anvils"}')
  assert.equal(all.json.status, 'insufficient_quality')
  assert.deepEqual(lookups.asked.at(-1)?.options, { ...denied, allow: undefined, hostname: true })
  const body = { ip: '2001:db8::1', fields: ['asn'], redact: [], providers: { allow: ['companies'] }, quality_min: 1 }
  const mixed = await post(body, query)
  assert.deepEqual([mixed.json.ip, mixed.json.data, mixed.json.status], ['2001:db8::1', { asn: 64_500 }, 'ok'])
  assert.deepEqual(lookups.asked.at(-1)?.options, { ...denied, allow: ['companies'], hostname: false })
  await post({ ip: '198.51.100.7', 'providers.deny': ['rdns'] })
  assert.deepEqual(lookups.asked.at(-1)?.options.deny, ['rdns'], 'the name with a dot, as a field of the body')
  for (const encoded of [
    '?ip=%3A%3affff%3A198.51.100.7',
    '?%69p=198.51.100.7',
    '?fields=&ip=198.51.100.7&redact=%2C&&',
  ]) {
    const answer = await post('', encoded)
    assert.deepEqual([answer.status, answer.json.data], [200, ACME], encoded)
  }
})

test('GET takes the same options from the query, and costs the same', async (t) => {
  const { url, post, quota } = await startLookups(t)
  const query = '?ip=198.51.100.7&fields=asn'
  const answer = await fetch(`${url}/v1/lookup${query}`, { headers: { 'x-api-key': API_KEY } })
  assert.equal(answer.status, 200)
  const { quota: left, ...found } = (await answer.json()) as { quota: { daily_used: number } }
  const { quota: after, ...same } = (await post('', query)).json
  assert.deepEqual([found, left.daily_used, after.daily_used, quota.used], [same, 1, 2, 2])
  for (const [wrong, status] of [
    ['', 422],
    ['?ip=x', 422],
    ['?ip=198.51.100.7&feilds=asn', 422],
  ] as const) {
    assert.equal((await fetch(`${url}/v1/lookup${wrong}`, { headers: { 'x-api-key': API_KEY } })).status, status, wrong)
  }
  assert.equal((await fetch(`${url}/v1/lookup${query}`)).status, 401)
})

test('a bad request is 400 or 422, says where, and is free', async (t) => {
  const { post, quota, lookups } = await startLookups(t)
  const ip = '198.51.100.7'
  const wrong: [status: number, body: unknown, query: string, path?: string, detail?: RegExp][] = [
    [400, '', ''],
    [400, '  ', ''],
    [400, '{"ip":', ''],
    [400, '{"ip":', `?ip=${ip}`],
    [400, undefined, `?ip=${ip}&fields=%zz`],
    [400, undefined, '?ip=%ff%fe'],
    [422, {}, '', 'ip', /is required/],
    [422, '', '?fields=asn', 'ip', /is required/],
    [422, [], '', ''],
    [422, 'null', '', ''],
    [422, '"x"', `?ip=${ip}`, ''],
    [422, { ip: 7 }, '', 'ip', /must be a string/],
    [422, { ip: null }, `?ip=${ip}`, 'ip'],
    [422, { ip: '198.51.100' }, '', 'ip', /must be an IPv4 or IPv6 address/],
    [422, { ip: '198.51.100.7/32' }, '', 'ip'],
    [422, '', `?ip=${ip}&ip=${ip}`, 'ip', /must be a string/],
    [422, { ip, fields: ['asn', 'colour'] }, '', 'fields[1]', /business_name, .*classification, .*timezone$/],
    [422, { ip, fields: ['geo'] }, '', 'fields[0]'],
    [422, { ip, fields: 'asn' }, '', 'fields', /must be an array/],
    [422, { ip, redact: ['where'] }, '', 'redact[0]', /timezone, geo$/],
    [422, '', `?ip=${ip}&redact=asn,where`, 'redact[1]'],
    [422, { ip, providers: [] }, '', 'providers'],
    [422, { ip, providers: { allow: Array(101).fill('rdns') } }, '', 'providers.allow'],
    [422, { ip, fields: Array(101).fill('asn') }, '', 'fields'],
    [422, { ip, providers: { deny: 'rdns' } }, '', 'providers.deny'],
    [422, { ip, providers: { deny: ['rdns'], allow: ['maxmind'] } }, '', 'providers.allow[0]', /companies, rdns$/],
    [422, '', `?ip=${ip}&providers.deny=dns`, 'providers.deny[0]'],
    [422, { ip, deadline_ms: 0 }, '', 'deadline_ms', /at least 1/],
    [422, { ip, deadline_ms: 10_001 }, '', 'deadline_ms', /at most 10000/],
    [422, { ip, deadline_ms: '5' }, '', 'deadline_ms', /must be a number/],
    [422, '', `?ip=${ip}&deadline_ms=soon`, 'deadline_ms', /must be a number/],
    [422, '', `?ip=${ip}&deadline_ms=`, 'deadline_ms'],
    [422, '', `?ip=${ip}&deadline_ms=0x10`, 'deadline_ms'],
    [422, { ip, quality_min: -1 }, '', 'quality_min'],
    [422, { ip, quality_min: 101 }, '', 'quality_min'],
    [422, `{"ip":"${ip}","quality_min":1e999}`, '', 'quality_min'],
    [422, { ip, feilds: ['asn'] }, '', 'feilds', /^feilds is unknown: did you mean fields\? Allowed are ip, /],
    [422, { ip, colour: 'red' }, '', 'colour', /^colour is unknown: allowed are ip, /],
    [422, { ip, providers: { alow: ['rdns'] } }, '', 'providers.alow', /did you mean allow\?/],
    [422, { ip }, '?quality=5', 'quality', /^quality is unknown: allowed are /],
    [422, '', `?ip=${ip}&feilds=asn`, 'feilds', /did you mean fields\?/],
  ]
  for (const [status, body, query, path, detail] of wrong) {
    const answer = await post(body, query)
    const what = `${JSON.stringify(body)} ${query} → ${answer.text}`
    assert.equal(answer.status, status, what)
    assert.equal(typeof answer.json.detail, 'string', what)
    if (status === 422) assert.equal(answer.json.errors[0].path, path, what)
    if (detail) assert.match(answer.json.detail, detail, what)
  }
  assert.deepEqual([quota.used, lookups.asked.length], [0, 0])
})

test('gzip is accepted, other encodings and too large bodies are refused', async (t) => {
  const { url } = await startLookups(t)
  const send = async (path: string, body: Buffer | string, headers: Record<string, string> = {}) =>
    (await fetch(url + path, { method: 'POST', body, headers: { 'x-api-key': API_KEY, ...headers } })).status
  for (const [path, body] of [
    ['/v1/lookup', '{"ip":"198.51.100.7"}'],
    ['/v1/bulk', '{"ips":["198.51.100.7"]}'],
  ] as const) {
    assert.equal(await send(path, gzipSync(body), { 'content-encoding': 'gzip' }), 200)
    assert.equal(await send(path, body, { 'content-encoding': 'br' }), 415)
    assert.equal(await send(path, Buffer.alloc(1_048_577, 32)), 413)
    assert.equal(await send(path, gzipSync(Buffer.alloc(1_048_577, 32)), { 'content-encoding': 'gzip' }), 413)
    assert.equal(await send(path, Buffer.from('{"ip":"\xff"}', 'latin1')), 400)
    assert.equal(await send(path, body, { 'x-api-key': 'ipid_x' }), 401)
  }
})

test('the OpenAPI document describes all of it, and its examples work', async (t) => {
  const { url } = await startLookups(t)
  // biome-ignore lint/suspicious/noExplicitAny: a document of unknown shape
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as any
  const lookup = document.paths['/v1/lookup'].post
  assert.equal(lookup.requestBody.required, false)
  const names = lookup.parameters.map(({ name }: { name: string }) => name).sort()
  assert.deepEqual(names, ['deadline_ms', 'fields', 'ip', 'providers.allow', 'providers.deny', 'quality_min', 'redact'])
  const bulk = document.paths['/v1/bulk'].post
  assert.ok(bulk.responses['200'].content['application/x-ndjson'] && bulk.responses['202'].headers['X-Quota-Used'])
  assert.ok(document.paths['/v1/bulk/{job_id}'].get.responses['404'])
  for (const [path, operation] of [
    ['/v1/lookup', lookup],
    ['/v1/bulk', bulk],
  ] as const) {
    const body = JSON.stringify(operation.requestBody.content['application/json'].example)
    const answer = await fetch(url + path, { method: 'POST', headers: { 'x-api-key': API_KEY }, body })
    assert.equal(answer.status, 200)
  }
})

test('at most 20 unknown names are listed', async (t) => {
  const { post } = await startLookups(t)
  const names = Array.from({ length: 100 }, (_, i) => `unknown${i}`)
  const { status, json } = await post({ ip: '198.51.100.7', providers: { allow: names, deny: names } })
  assert.deepEqual([status, json.errors.length], [422, 20])
})
