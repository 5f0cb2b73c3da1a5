import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { Slices } from '../../src/run/slices.ts'
import type { Limiter } from '../../src/tenants/limits/limits.ts'
import type { Caller } from '../../src/tenants/tenancy.ts'
import { API_KEY, heldIntake, MemoryIntake, RawConnection, startHttp, type TestHttpOptions } from '../support/http.ts'
import { until } from '../support/until.ts'

/*
 * The limits of strangers at an ingress: requests without a key, with an unknown key, and with a key that stands in a public page. The
 * work is counted and not timed.
 */

const KNOWN = `src_${'a1'.repeat(20)}`
const OTHERS = `src_${'b2'.repeat(20)}`
const UNKNOWN = `src_${'0'.repeat(40)}`
const NUMBERS = `${'1e400,'.repeat(600_000)}1e400`

const callerOf = (id: string, kind: string): Caller => ({
  tenant: { id, plan: 'custom', archive: false, addresses: 'full', createdAt: '2026-01-01T00:00:00.000Z' },
  plan: { rate: 1_000, burst: 1_000, dailyLookups: 1, monthlyAccounts: 1 } as unknown as Caller['plan'],
  source: { id: KNOWN.slice(0, 11), kind, address: 'payload', isBrowser: false },
})

/** A server whose source keys open the kind of the path, with the keys that it was asked for. */
async function startSources(t: TestContext, kind: string, options: TestHttpOptions = {}) {
  const asked: string[] = []
  const intake = new MemoryIntake()
  const { url, port } = await startHttp(t, {
    intake,
    settings: { trustedProxies: ['127.0.0.0/8'] },
    authenticator: {
      authenticate(key, beforeAsking = () => {}) {
        const isCached = key === KNOWN || key === OTHERS
        if (!isCached) beforeAsking()
        asked.push(key)
        if (isCached) return callerOf(key === KNOWN ? 'acme' : 'other', kind)
        return Promise.resolve(undefined)
      },
    },
    ...options,
  })
  const send = async (path: string, body: string | Buffer, headers: Record<string, string> = {}) => {
    const answer = await fetch(url + path, { method: 'POST', body, headers })
    return { status: answer.status, text: await answer.text(), headers: answer.headers }
  }
  return { url, port, send, asked, intake }
}

/** Characters of the longer texts that are parsed while a function runs, the longest first. */
async function parsedChars(t: TestContext, work: () => Promise<unknown>): Promise<readonly number[]> {
  const parse = t.mock.method(JSON, 'parse')
  await work()
  parse.mock.restore()
  const lengths = parse.mock.calls.map(({ arguments: [text] }) => String(text).length)
  return lengths.filter((length) => length > 100).sort((a, b) => b - a)
}

const RAW_KEYS: Readonly<Record<string, readonly [path: string, body: (key: string) => string]>> = {
  segment: ['/s/segment/v1/batch', (key) => `{"batch":[${NUMBERS}],"writeKey":"${key}"}`],
  rudderstack: ['/s/rudderstack/v1/batch', (key) => `{"batch":[${NUMBERS}],"writeKey":"${key}"}`],
  posthog: ['/s/posthog/batch/', (key) => `{"api_key":"${key}","batch":[${NUMBERS}]}`],
  amplitude: ['/s/amplitude/2/httpapi', (key) => `{"api_key":"${key}","events":[${NUMBERS}]}`],
  mixpanel: ['/s/mixpanel/track', (key) => `[{"properties":{"token":"${key}"}},${NUMBERS}]`],
  matomo: ['/s/matomo/matomo.php', (key) => `{"requests":[${NUMBERS}],"token_auth":"${key}"}`],
}

for (const [kind, [path, body]] of Object.entries(RAW_KEYS)) {
  test(`${kind}: nothing of a body with an unknown key is parsed, wherever the key is`, async (t) => {
    const { send, asked } = await startSources(t, kind)
    for (const sent of [body(UNKNOWN), gzipSync(body(UNKNOWN))]) {
      const parsed = await parsedChars(t, async () => assert.equal((await send(path, sent)).status, 401))
      assert.deepEqual(parsed, [])
    }
    assert.deepEqual(asked, [UNKNOWN, UNKNOWN])
    // No key at all.
    assert.deepEqual(await parsedChars(t, async () => assert.equal((await send(path, body('none'))).status, 401)), [])
  })
}

test('a key that a visitor wrote into an event, or into the address of a page, takes no event to its tenant', async (t) => {
  const { send, asked } = await startSources(t, 'posthog')
  const written = { token: OTHERS, api_key: OTHERS, a: { api_key: OTHERS } }
  const event = {
    ...{ event: 'x', text: '\\"', token: OTHERS },
    properties: { $ip: '8.8.8.8', $current_url: `https://shop.example/?token=${OTHERS}&api_key=${OTHERS}`, ...written },
  }
  for (const events of [1, 500]) {
    const body = JSON.stringify({ batch: Array.from({ length: events }, () => event), api_key: KNOWN })
    for (const sent of [body, gzipSync(body)]) assert.equal((await send('/s/posthog/batch/', sent)).status, 200)
  }
  const form = `url=${encodeURIComponent(`https://shop.example/?token=${OTHERS}`)}&token=${KNOWN}`
  assert.equal((await send('/s/posthog/e/', form)).status, 200)
  assert.deepEqual(new Set(asked), new Set([KNOWN]))
})

test('a key after megabytes of gzip is found', async (t) => {
  const { send, intake } = await startSources(t, 'posthog')
  const events = Array.from({ length: 2_000 }, (_, n) => ({
    ...{
      event: 'x',
      uuid: `u${n}`,
      properties: { $ip: '8.8.8.8', text: randomBytes(100).toString('hex').padEnd(1_200, 'x') },
    },
  }))
  const body = JSON.stringify({ batch: events, sentAt: new Date().toISOString(), api_key: KNOWN })
  assert.ok(body.length > 2_000_000)
  const compressed = gzipSync(body)
  assert.ok(compressed.length > 65_536)
  for (const sent of [compressed, body]) assert.equal((await send('/s/posthog/batch/', sent)).status, 200)
  assert.equal(intake.envelopes.length, 4_000)
})

test('an unknown key at the start of a large body is answered before the rest arrives', async (t) => {
  const { port } = await startSources(t, 'posthog')
  const connection = await RawConnection.open(t, port)
  const head = 'POST /s/posthog/batch/ HTTP/1.1\r\nhost: t\r\ncontent-length: 4000000\r\n\r\n'
  await connection.write(`${head}{"api_key":"${UNKNOWN}","batch":[${' '.repeat(70_000)}`)
  await connection.until(/^HTTP\/1\.1 401 /)
})

test('values, keys, levels and parameters of a payload are bounded, and one bad event refuses no other', async (t) => {
  const { send, intake } = await startSources(t, 'posthog')
  const path = `/s/posthog/${KNOWN}/batch/`
  const sent = async (body: string | Buffer) => {
    const { status, text } = await send(path, body)
    return `${status} ${text}`
  }
  assert.match(await sent(gzipSync(`{"batch":[${NUMBERS}]}`)), /^413 .*more than 400000 values/)
  assert.match(
    await sent(`{"a":[${'1,'.repeat(20_000)}1],"batch":[]}`),
    /^413 .*the field \\"a\\" has more than 10000 values/,
  )
  const many = Array.from({ length: 400_000 }, (_, n) => `k${n}=1`).join('&')
  assert.match(await sent(many), /^413 .*more than 1000 parameters/)
  assert.match(await sent(`{"batch":[${'['.repeat(300)}${' '.repeat(20_000)}${']'.repeat(300)}]}`), /^422 .*256 levels/)
  assert.match(await sent(`{"batch":[{"a":1}${' '.repeat(20_000)}`), /^400 .*ends too early/)
  assert.match(await sent(`{"batch":[{"a":1},]${' '.repeat(20_000)}}`), /^400 .*not JSON/)
  assert.match(await sent(`{"batch":[{"a":01}]${' '.repeat(20_000)}}`), /^400 .*not JSON/)
  assert.match(await sent(`{"batch":[{"a":"${'x'.repeat(20_000)}"},]}`), /^400 .*not JSON/)
  assert.match(await sent(`{"batch":[{"a":"${'x'.repeat(20_000)}"},]}`), /^400 .*not JSON/)
  assert.match(await sent(`{"batch":[1e400 01]${' '.repeat(20_000)}}`), /^400 .*not JSON/)

  const event = (uuid: string, values: number) =>
    `{"event":"x","uuid":"${uuid}","properties":{"$ip":"8.8.8.8","a":[${'1,'.repeat(values)}1]}}`
  assert.match(await sent(`{"batch":[${event('a', 5)},${event('b', 12_000)},${event('c', 9_000)}]}`), /^200 /)
  assert.equal(intake.envelopes.length, 2)
})

test('kind http: an entry with too many values is rejected by itself', async (t) => {
  const { send, intake } = await startSources(t, 'http')
  const entry = (values: number) => `{"ip":"8.8.8.8","event_id":"e${values}","a":[${'1e400,'.repeat(values)}1]}`
  const { status, text } = await send(`/s/http/${KNOWN}`, gzipSync(`${entry(5)}\n${entry(150_000)}\n${entry(9_000)}\n`))
  assert.equal(status, 200)
  const { received, accepted, rejected } = JSON.parse(text) as Record<string, number>
  assert.deepEqual({ received, accepted, rejected }, { received: 3, accepted: 2, rejected: 1 })
  assert.equal(intake.envelopes.length, 2)
})

test('a body of 1 MiB that is parsed as a whole has at most 100,000 values', async (t) => {
  const { url } = await startHttp(t)
  const keys = Array.from({ length: 101_000 }, (_, n) => `"${n.toString(36)}":1`).join(',')
  const bodies = [
    ['/v1/lookup', `{"ip":"8.8.8.8",${keys}}`],
    ['/v1/bulk', `{"ips":["8.8.8.8"],${keys}}`],
    ['/v1/ingest', `{"events":[{"\\u0069p":"8.8.8.8",${keys}}]}`],
  ] as const
  for (const [path, body] of bodies) {
    assert.ok(body.length < 1_048_576)
    const answer = await fetch(url + path, { method: 'POST', body, headers: { 'x-api-key': API_KEY } })
    assert.equal(answer.status, 413)
    assert.equal(((await answer.json()) as { detail: string }).detail, 'the body has more than 100000 values')
  }
})

test('events of a megabyte are read and stored one after the other, and an id of any form is answered', async (t) => {
  const { send, intake } = await startSources(t, 'posthog')
  const event = { event: 'x', properties: { $ip: '8.8.8.8', text: 'ab"c'.repeat(180_000) } }
  const slices = t.mock.method(Slices.prototype, 'run')
  const ids = [{ toString: 1, valueOf: 1 }, 'a', 7]
  const batch = ids.map((uuid) => ({ ...event, uuid }))
  const { status, text } = await send(`/s/posthog/${KNOWN}/i/v1/analytics/events`, JSON.stringify({ batch }))
  assert.equal(status, 200)
  assert.deepEqual(JSON.parse(text), { results: { '': { result: 'drop' }, a: { result: 'ok' }, 7: { result: 'ok' } } })
  assert.equal(intake.envelopes.length, 2)
  assert.equal(slices.mock.callCount(), 2, 'to read, and to store')
})

test('a large payload is parsed a few events at a time, and each event once', async (t) => {
  const { send, intake } = await startSources(t, 'posthog')
  const event = { event: 'x', properties: { $ip: '8.8.8.8', n: '1', text: 'x'.repeat(1_000) } }
  const body = JSON.stringify({ batch: Array.from({ length: 1_000 }, () => event) }).replaceAll('"1"', '1e400')
  const parsed = await parsedChars(t, async () => {
    assert.equal((await send(`/s/posthog/${KNOWN}/batch/`, body)).status, 200)
  })
  assert.equal(intake.envelopes.length, 1_000)
  assert.ok(parsed[0]! < 20_000, `${parsed[0]} characters were parsed at once`)
  const chars = parsed.reduce((sum, length) => sum + length, 0)
  assert.ok(chars < 1.1 * body.length, `${chars} characters were parsed of ${body.length}`)
})

test('events with a browser key count by their number and size, also those that are not stored', async (t) => {
  const taken: number[] = []
  const left = {
    name: 'event rate limit',
    limit: 1_000,
    left: 0,
    used: 0,
    windowSeconds: 4,
    resetAt: '',
    resetSeconds: 1,
  }
  const browserEvents: Limiter = {
    take: (_, tokens) => ({ ...left, allowed: taken.push(tokens) < 6, retryAfterSeconds: 7 }),
  }
  const plan = { rate: 1, burst: 10, daily_lookups: 1, monthly_accounts: 1 }
  const caller = (isBrowser: boolean): Caller => {
    const { source, ...others } = callerOf('acme', 'segment')
    return { ...others, plan, source: { ...source!, isBrowser } }
  }
  const { send } = await startSources(t, 'segment', {
    browserEvents,
    intake: new MemoryIntake(),
    authenticator: { authenticate: (key) => caller(key === KNOWN) },
  })
  const call = (more: object = {}) => ({ type: 'track', event: 'x', anonymousId: 'a', ...more })
  const post = (batch: readonly object[], key = KNOWN) => send(`/s/segment/${key}/v1/batch`, JSON.stringify({ batch }))
  const large = call({ properties: { text: 'x'.repeat(20_000) } })
  assert.equal((await post([call()])).status, 200)
  assert.equal((await post([call(), call(), { type: 'track', event: 7 }])).status, 200)
  assert.equal((await post([large, call()])).status, 200)
  assert.equal((await post(Array(1_500).fill(call()))).status, 200, 'no request is larger than the bucket')
  assert.equal((await post([large], OTHERS)).status, 200, 'a server key')
  // Without an address: a server library with a browser key.
  assert.equal((await post([call({ context: { library: { name: 'analytics-node' } } })])).status, 200)
  const refused = await post([call()])
  assert.equal(refused.status, 429)
  assert.equal(refused.headers.get('retry-after'), '7')
  assert.match(refused.text, /event rate limit exceeded: this key is in pages, and may send 1000 events at once/)
  assert.deepEqual(taken, [1, 3, 10, 1_000, 1, 1])
})

test('the requests of others are answered between the slices of a large payload', async (t) => {
  const { url, send } = await startSources(t, 'posthog')
  const call = `{"event":"x","properties":{"$ip":"8.8.8.8","a":[${'{},'.repeat(9_000)}1]}}`
  const body = gzipSync(`{"batch":[${Array.from({ length: 40 }, () => call).join(',')}]}`)
  let isOver = false
  const large = Promise.all([1, 2, 3, 4].map(() => send(`/s/posthog/${KNOWN}/batch/`, body))).then((answers) => {
    isOver = true
    return answers
  })
  let answered = 0
  while (!isOver) {
    assert.equal((await fetch(`${url}/healthz`)).status, 200)
    answered++
  }
  assert.deepEqual(new Set((await large).map(({ status }) => status)), new Set([200]))
  assert.ok(answered > 20, `${answered} other requests were answered meanwhile`)
})

test('a client with many unknown keys is slowed down, and others and known keys are not', async (t) => {
  let nowMs = 0
  const { send, asked } = await startSources(t, 'segment', { clock: { now: () => nowMs } })
  const call = (key: string) => JSON.stringify({ type: 'track', event: 'x', writeKey: key, context: { ip: '8.8.8.8' } })
  const from = (address: string) => ({ 'x-forwarded-for': address })
  const unknown = (address: string) => send('/s/segment/v1/track', call(UNKNOWN), from(address))
  const statuses = []
  for (let i = 0; i < 110; i++) statuses.push((await unknown('192.0.2.1')).status)
  assert.deepEqual(new Set(statuses.slice(0, 100)), new Set([401]))
  assert.deepEqual(new Set(statuses.slice(100)), new Set([429]))
  assert.equal(asked.length, 100)
  const refused = await unknown('192.0.2.1')
  assert.ok(Number(refused.headers.get('retry-after')) >= 1)
  // The same in a header: the store is not asked.
  const inHead = { ...from('192.0.2.1'), 'x-source-key': UNKNOWN }
  assert.equal((await send('/s/segment/v1/track', '{}', inHead)).status, 429)
  // Other clients, and a known key in the head.
  assert.equal((await unknown('192.0.2.2')).status, 401)
  const known = { ...from('192.0.2.1'), 'x-source-key': KNOWN }
  assert.equal((await send('/s/segment/v1/track', call(KNOWN), known)).status, 200)
  // A known key in the first 64 KB of a body, plain or gzip, which may stop there.
  const long = (key: string) => JSON.stringify({ ...JSON.parse(call(key)), properties: { text: 'x'.repeat(200_000) } })
  const late = JSON.stringify({ properties: { text: 'x'.repeat(200_000) }, ...JSON.parse(call(KNOWN)) })
  const statusOf = async (body: string | Buffer) => (await send('/s/segment/v1/track', body, from('192.0.2.1'))).status
  for (const body of [call(KNOWN), long(KNOWN)]) {
    assert.equal(await statusOf(body), 200)
    assert.equal(await statusOf(gzipSync(body)), 200)
  }
  assert.equal(await statusOf(late), 429)
  assert.equal(await statusOf(gzipSync(late)), 429)
  assert.equal(await statusOf('{}'), 429)
  // 64 bits of IPv6 are one client.
  for (let i = 0; i < 100; i++) await unknown(`2001:db8::${i.toString(16)}`)
  assert.equal((await unknown('2001:db8::ffff')).status, 429)
  assert.equal((await unknown('2001:db8:0:1::1')).status, 401)
  nowMs += 1_000
  assert.equal((await unknown('192.0.2.1')).status, 401)
})

test('bodies of strangers leave room for those of customers, and those of a tenant for other tenants', async (t) => {
  const { intake, release } = heldIntake()
  const { port, send } = await startSources(t, 'posthog', { intake, limits: { bodiesMaxBytes: 16_000_000 } })
  const heads = (path: string) => `POST ${path} HTTP/1.1\r\nhost: t\r\ncontent-length: 3900000\r\n\r\n`
  const held: RawConnection[] = []
  const hold = async (path: string) => {
    const connection = await RawConnection.open(t, port)
    held.push(connection)
    await connection.write(heads(path))
    await connection.write(' '.repeat(3_800_000))
    return connection
  }
  for (let i = 0; i < 10; i++) await hold('/s/posthog/batch/')
  const isRefused = ({ received }: RawConnection) => received.startsWith('HTTP/1.1 429 ')
  // An answer is lost where its body still arrives after the server has waited for it.
  await until(() => held.every((connection) => isRefused(connection) || connection.closed))
  assert.ok(held.some(isRefused))
  // A few small ones of strangers stay in memory.
  const event = (n: string) =>
    `{"batch":[{"event":"x","uuid":"${n}","properties":{"$ip":"8.8.8.8","t":"${'x'.repeat(200_000)}"}}]}`
  const ofTenant = Array.from({ length: 60 }, (_, n) => send(`/s/posthog/${KNOWN}/batch/`, event(`a${n}`)))
  const first = await Promise.race(ofTenant)
  assert.equal(first.status, 429)
  // Half of the memory is left for others.
  const ofOther = Array.from({ length: 10 }, (_, n) => send(`/s/posthog/${OTHERS}/batch/`, event(`b${n}`)))
  release()
  assert.deepEqual(new Set((await Promise.all(ofOther)).map(({ status }) => status)), new Set([200]))
  const statuses = (await Promise.all(ofTenant)).map(({ status }) => status)
  assert.deepEqual(new Set(statuses), new Set([200, 429]))
})

/** An event in a body of that many bytes or more, with its key first. */
const eventOf = (key: string, bytes: number) =>
  `{"api_key":"${key}","batch":[{"event":"x","properties":{"$ip":"8.8.8.8","t":"${'x'.repeat(bytes)}"}}]}`

/** Begins a request without a key, with a body that keeps arriving. */
async function beginBody(t: TestContext, port: number, client: string, bytes: number) {
  const connection = await RawConnection.open(t, port)
  const head = `POST /s/posthog/batch/ HTTP/1.1\r\nhost: t\r\nx-forwarded-for: ${client}\r\ncontent-length: 3900000\r\n\r\n`
  await connection.write(head + ' '.repeat(bytes))
  return connection
}

/** Sends a request in small pieces, as networks deliver it. Returns the status. */
async function sendInPieces(t: TestContext, port: number, client: string, body: string) {
  const connection = await RawConnection.open(t, port)
  const head = `POST /s/posthog/batch/ HTTP/1.1\r\nhost: t\r\nx-forwarded-for: ${client}\r\ncontent-length: ${body.length}\r\n\r\n`
  await connection.write(head)
  for (let at = 0; at < body.length; at += 8_000) {
    await connection.write(body.slice(at, at + 8_000))
    await new Promise(setImmediate)
  }
  return (await connection.until(/^HTTP\/1\.1 \d+ /)).slice(9, 12)
}

for (const [title, clientOf] of [
  ['of many clients', (n: number) => `192.0.2.${n}`],
  ['of the client that a customer shares', () => '192.0.2.200'],
] as const) {
  test(`slow bodies of strangers, ${title}, leave room for those whose key is found`, async (t) => {
    const { port } = await startSources(t, 'posthog', { limits: { bodiesMaxBytes: 1_600_000 } })
    const held: RawConnection[] = []
    for (const bytes of [40_000, 12_000, 6_000]) {
      for (let n = 0; n < 30; n++) held.push(await beginBody(t, port, clientOf(held.length), bytes))
    }
    for (let n = 0; n < 5; n++) {
      assert.equal(await sendInPieces(t, port, '192.0.2.200', eventOf(KNOWN, 50_000)), '200')
    }
    assert.ok(held.some(({ socket }) => !socket.destroyed))
  })
}

test('requests of strangers that are in progress make room for customers', async (t) => {
  const { port, send } = await startSources(t, 'posthog', { limits: { inFlightMax: 64 } })
  const held: RawConnection[] = []
  for (let n = 0; n < 70; n++) held.push(await beginBody(t, port, '192.0.2.200', 10))
  for (let n = 0; n < 5; n++) assert.equal((await send('/s/posthog/batch/', eventOf(KNOWN, 10))).status, 200)
  await until(() => held.slice(0, 6).every(({ socket }) => socket.destroyed))
  assert.deepEqual(new Set(held.slice(20).map(({ socket }) => socket.destroyed)), new Set([false]))
})
