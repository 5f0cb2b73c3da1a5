import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Intake } from '../../src/pipeline/declaration/source.ts'
import type { Envelope } from '../../src/pipeline/event/envelope.ts'
import { statusOfKey } from '../../src/pipeline/event/outcomes.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import type { Limiter } from '../../src/tenants/limits/limits.ts'
import { API_KEY, acme, fullLimit, noLimit, startHttp, type TestHttpOptions } from '../support/http.ts'
import { visitors } from './visitor-source.ts'

const VISIT = { visitor: { address: '17.0.0.1', at: '2026-11-22T08:00:00Z', door: 2 }, what: 'bell', id: 'v1' }

/** The API with the source. */
async function start(t: Parameters<typeof startHttp>[0], options: TestHttpOptions = {}) {
  const settings = { platform: 'lobby' }
  const server = await startHttp(t, { ...options, pipelineSources: [{ from: visitors, to: 'intake' }], settings })
  return async (body: unknown, { key = API_KEY, method = 'POST' } = {}) => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const init = method === 'GET' ? {} : { body: text }
    const answer = await fetch(`${server.url}/visitor`, { method, headers: { 'x-api-key': key }, ...init })
    return {
      status: answer.status,
      retry: answer.headers.get('retry-after'),
      body: (await answer.json()) as { taken: boolean; why?: string },
    }
  }
}

test('a source answers in its own form, refusals of every kind too', async (t) => {
  let failure: Error | undefined
  const intake: Intake = { append: async () => (failure === undefined ? undefined : Promise.reject(failure)) }
  let allowed = true
  const limiter: Limiter = { take: (...request) => (allowed ? noLimit : fullLimit).take(...request) }
  const send = await start(t, { intake, limiter })
  const refused = (why: string) => ({ taken: false, why })
  assert.deepEqual(await send(VISIT), { status: 200, retry: null, body: { taken: true } })
  assert.deepEqual(await send({ what: 'bell' }), { status: 422, retry: null, body: refused('visitor is missing') })
  assert.deepEqual(await send({ visitor: {} }), { status: 422, retry: null, body: refused('is required') })
  const { status, body } = await send('{"visitor"')
  assert.deepEqual([status, body.taken], [400, false])
  assert.deepEqual(await send(VISIT, { key: 'none' }), {
    status: 401,
    retry: null,
    body: refused('the API key is not valid'),
  })
  assert.deepEqual((await send(`"${'x'.repeat(20_000)}"`)).body.taken, false)
  assert.deepEqual(await send(VISIT, { method: 'GET' }), {
    status: 405,
    retry: null,
    body: refused('this path takes POST, OPTIONS'),
  })
  allowed = false
  assert.deepEqual(await send(VISIT), { status: 429, retry: '3', body: refused('rate limit exceeded') })
  allowed = true
  failure = new UnavailableError('the event store did not take the events in time')
  assert.deepEqual(await send(VISIT), { status: 503, retry: '1', body: refused(failure.message) })
})

test('a source keeps the same as /v1/ingest for the same event, in the archive too', async (t) => {
  const kept: { rows: string[]; payloads: string[]; statuses: string[] } = { rows: [], payloads: [], statuses: [] }
  const intake: Intake = {
    async append(envelopes, payloads = [], outcomes = new Map()) {
      const rowsOf = (list: readonly Envelope[]) => list.map(({ row }) => row)
      kept.rows.push(...rowsOf(envelopes))
      kept.payloads.push(...rowsOf(payloads))
      kept.statuses.push(...[...outcomes.keys()].map(statusOfKey))
    },
  }
  const archived = { ...acme, tenant: { ...acme.tenant, archive: true } }
  const send = await start(t, { intake, authenticator: { authenticate: () => archived } })
  await send(VISIT)
  await send({ ...VISIT, visitor: { address: 17 } })
  assert.equal(kept.rows.length, 1)
  assert.match(kept.rows[0]!, /^17\.0\.0\.1\tacme\tv1\t[\d.]+\t1795334400\.000\tbell\t\\N\tlobby\t\{"door":2\}\t/)
  // Rejected events are counted in the archive, so that a replay counts them again.
  assert.deepEqual(
    kept.payloads.slice(1).map((row) => row.split('\t').slice(2)),
    [['!ip must be a string', '1']],
  )
  const line = JSON.parse(kept.payloads[0]!.slice(kept.payloads[0]!.indexOf('{')))
  assert.deepEqual([line._status, line._event_id, line.ip, line.properties], ['ok', 'v1', '17.0.0.1', { door: 2 }])
  assert.deepEqual(kept.statuses, ['rejected'])
})
