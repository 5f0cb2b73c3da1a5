import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { BulkAnswer } from '../../schemas/api/bulk.ts'
import type { ErrorBody } from '../../schemas/api/error.ts'
import { API_KEY, keyedHead, RawConnection, startHttp } from '../support/http.ts'
import { ACME, freeQuota, lookupOf, TestLookups } from '../support/lookups.ts'
import { bufferBytes } from '../support/memory.ts'
import { until } from '../support/until.ts'

async function startBulk(t: TestContext, lookups = new TestLookups()) {
  const quota = freeQuota()
  const { url, port } = await startHttp(t, { lookups, quota })
  const post = (body: unknown, query = '') =>
    fetch(`${url}/v1/bulk${query}`, {
      method: 'POST',
      headers: { 'x-api-key': API_KEY },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    })
  return { lookups, quota, post, url, port }
}

const line = (ip: string, more: object = {}) => ({
  ip,
  tenant_id: 'acme',
  quality: 60,
  status: 'ok',
  data: ACME,
  ...more,
})

const addresses = (count: number) => Array.from({ length: count }, (_, i) => `198.51.${i >> 8}.${i & 255}`)

test('sync: one line per address, in order; invalid ones are free', async (t) => {
  const { post, quota } = await startBulk(t)
  const ips = ['198.51.100.7', 'no address', '::ffff:198.51.100.7', '198.51.100.7', '', '198.51.100.7 ']
  const answer = await post({ ips })
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('content-type'), 'application/x-ndjson')
  const quotaHeaders = ['limit', 'used', 'remaining', 'reset'].map((name) => answer.headers.get(`x-quota-${name}`))
  assert.deepEqual(quotaHeaders, ['1000000', '3', '999997', '2026-11-22T00:00:00+00:00'])
  const invalid = (ip: string) => ({ ip, status: 'invalid_ip' })
  const expected = ips.map((ip, i) => ([0, 2, 3].includes(i) ? line(ip) : invalid(ip)))
  assert.equal(await answer.text(), expected.map((result) => `${JSON.stringify(result)}\n`).join(''))
  assert.equal(quota.used, 3)
})

test('sync: one JSON text for clients that prefer it to lines', async (t) => {
  const { url } = await startBulk(t)
  const ask = async (accept: string | undefined, ips: readonly string[]) => {
    const headers = { 'x-api-key': API_KEY, ...(accept !== undefined && { accept }) }
    const answer = await fetch(`${url}/v1/bulk`, { method: 'POST', headers, body: JSON.stringify({ ips }) })
    assert.deepEqual([answer.status, answer.headers.get('vary')], [200, 'accept'])
    return { type: answer.headers.get('content-type'), text: await answer.text() }
  }
  const one = await ask('application/json', ['198.51.100.7', 'no address'])
  assert.equal(one.type, 'application/json; charset=utf-8')
  assert.deepEqual(JSON.parse(one.text), {
    results: [line('198.51.100.7'), { ip: 'no address', status: 'invalid_ip' }],
    quota: { daily_limit: 1_000_000, daily_used: 1, daily_remaining: 999_999, reset_at: '2026-11-22T00:00:00+00:00' },
  })
  const many = addresses(512)
  const { text } = await ask('application/json', many)
  assert.deepEqual(
    (JSON.parse(text) as BulkAnswer).results.map(({ ip }) => ip),
    many,
  )
  for (const accept of [
    undefined,
    '*/*',
    'application/json, text/plain, */*',
    'application/json, application/x-ndjson',
  ]) {
    assert.equal((await ask(accept, ['198.51.100.7'])).type, 'application/x-ndjson', accept)
  }
  for (const accept of ['Application/JSON', 'text/html, application/json;q=0.9, */*;q=0.8']) {
    assert.equal((await ask(accept, ['198.51.100.7'])).type, 'application/json; charset=utf-8', accept)
  }
})

test('512 addresses are taken, with lookup options in body and query', async (t) => {
  const lookups = new TestLookups((address) => lookupOf(address.text, ACME, 30, ['rdns']))
  const { post, quota } = await startBulk(t, lookups)
  const ips = addresses(512)
  const answer = await post(
    { ips, fields: ['asn', 'city'], providers: { deny: ['rdns'] } },
    '?mode=sync&redact=geo&quality_min=31&deadline_ms=9',
  )
  const lines = (await answer.text()).trimEnd().split('\n')
  const expected = ips.map((ip) =>
    line(ip, { quality: 30, status: 'insufficient_quality', data: { asn: 64_500 }, partial: ['rdns'] }),
  )
  assert.deepEqual(
    lines.map((text) => JSON.parse(text)),
    expected,
  )
  assert.equal(quota.used, 512)
  assert.deepEqual(lookups.asked[511]?.options, {
    allow: undefined,
    deny: ['rdns'],
    hostname: false,
    deadlineMs: 9,
  })
  const inQuery = await post('', '?ips=198.51.100.7,198.51.100.8')
  assert.equal((await inQuery.text()).split('\n').length, 3)
})

test('bad requests are 400, 413 or 422, and free', async (t) => {
  const { post, quota, lookups } = await startBulk(t)
  const wrong: [status: number, body: unknown, query?: string, path?: string][] = [
    [400, ''],
    [400, '', '?mode=async'],
    [400, '{"ips":["198.51.100.7"'],
    [400, { ips: [] }],
    [400, { ips: [], fields: ['colour'] }, '?mode=never'],
    [413, { ips: addresses(513) }],
    [413, { ips: [...addresses(512), 7] }],
    [413, { ips: ['198.51.100.7'], more: 'x'.repeat(1_048_576) }],
    [422, {}, '', 'ips'],
    [422, { ip: '198.51.100.7' }, '', 'ips'],
    [422, { ips: '198.51.100.7' }, '', 'ips'],
    [422, { ips: null }, '', 'ips'],
    [422, { ips: {} }, '', 'ips'],
    [422, { ips: ['198.51.100.7', 7] }, '', 'ips[1]'],
    [422, [], '', ''],
    [422, { ips: ['198.51.100.7'], fields: ['colour'] }, '', 'fields[0]'],
    [422, { ips: ['198.51.100.7'], providers: { allow: ['colour'] } }, '', 'providers.allow[0]'],
    [422, { ips: ['198.51.100.7'] }, '?mode=later', 'mode'],
    [422, { ips: ['198.51.100.7'] }, '?mode=', 'mode'],
    [422, { ips: ['198.51.100.7'] }, '?mode=SYNC', 'mode'],
    [422, { ips: ['198.51.100.7'] }, '?mode=sync&mode=async', 'mode'],
    [422, { ips: ['198.51.100.7'] }, '?deadline_ms=x', 'deadline_ms'],
  ]
  for (const [status, body, query, path] of wrong) {
    const answer = await post(body, query)
    const text = await answer.text()
    assert.equal(answer.status, status, `${JSON.stringify(body).slice(0, 99)} ${query} → ${text}`)
    const { errors } = JSON.parse(text) as { errors?: { path: string }[] }
    assert.equal(errors?.[0]?.path, path, text)
  }
  assert.deepEqual([quota.used, lookups.asked.length], [0, 0])
})

test('lines are sent as they are ready, with only a few lookups ahead', async (t) => {
  const open: (() => void)[] = []
  const lookups = new TestLookups(
    (address) => new Promise((resolve) => open.push(() => resolve(lookupOf(address.text, ACME)))),
  )
  const { post } = await startBulk(t, lookups)
  const answering = post({ ips: addresses(100) })
  await until(
    async () => open.length,
    (count) => count > 0,
  )
  open[1]!()
  open[0]!()
  const answer = await answering
  const reader = answer.body!.getReader()
  let text = ''
  while (text.split('\n').length < 3) text += Buffer.from((await reader.read()).value!).toString()
  assert.deepEqual(
    text
      .trimEnd()
      .split('\n')
      .map((result) => JSON.parse(result).ip),
    addresses(2),
  )
  assert.ok(open.length < 25, `${open.length} are asked about`)
  await reader.cancel()
})

test('a slow reader costs no memory and delays no other client; lookups stop when it leaves', async (t) => {
  const data = { ...ACME, description: 'x'.repeat(100_000) }
  const lookups = new TestLookups((address) => lookupOf(address.text, data))
  const { port, url } = await startBulk(t, lookups)
  const connection = await RawConnection.open(t, port)
  connection.socket.pause()
  const body = JSON.stringify({ ips: addresses(512) })
  await connection.write(keyedHead('POST /v1/bulk', `content-length: ${body.length}`) + body)
  const heldBefore = bufferBytes()
  let asked = 0
  for (let same = 0; same < 3; ) {
    for (let i = 0; i < 30; i++) {
      connection.socket.read(1_000)
      assert.equal((await fetch(`${url}/healthz`)).status, 200)
    }
    same = lookups.asked.length === asked && asked > 0 ? same + 1 : 0
    asked = lookups.asked.length
  }
  assert.ok(asked < 200, `${asked} of 512 were looked up for a reader that read little`)
  const held = bufferBytes() - heldBefore
  assert.ok(held < 10_000_000, `${held} bytes held`)
  connection.socket.resetAndDestroy()
  await connection.untilClosed()
  for (let i = 0; i < 30; i++) await fetch(`${url}/healthz`)
  assert.ok(lookups.asked.length < 250)
})

test('the mode may be in the body, and an unknown option is refused before it costs quota', async (t) => {
  const { post, quota } = await startBulk(t)
  const ips = ['198.51.100.7']
  for (const [body, query, path] of [
    [{ ips, mod: 'async' }, '', 'mod'],
    [{ ips, mode: 'later' }, '', 'mode'],
    [{ ips }, '?mode=later', 'mode'],
    [{ ips }, '?mode=sync&mode=async', 'mode'],
    [{ ips }, '?moed=async', 'moed'],
  ] as const) {
    const answer = await post(body, query)
    const { errors } = (await answer.json()) as ErrorBody
    assert.deepEqual([answer.status, errors?.[0]?.path], [422, path])
  }
  assert.equal(quota.used, 0)
  assert.equal((await post({ ips, mode: 'sync' }, '?mode=async')).status, 200)
})
