import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorBody } from '../../schemas/api/error.ts'
import type { EventReceipts, ReceiptQuery } from '../../src/operations/receipts/receipts.ts'
import { BackpressureError, UnavailableError } from '../../src/run/errors.ts'
import { API_KEY, startHttp } from '../support/http.ts'

function asking(answer: () => ReturnType<EventReceipts['find']> = async () => ({ incomplete: [] })) {
  const asked: ReceiptQuery[] = []
  const receipts: EventReceipts = {
    find(query) {
      asked.push(query)
      return answer()
    },
  }
  return { receipts, asked }
}

const headers = { 'x-api-key': API_KEY }

test('an event id is any text, percent-encoded in the path', async (t) => {
  const { receipts, asked } = asking()
  const { url } = await startHttp(t, { receipts })
  const ids = ['a', 'a/b', '%', 'a b+c?d#e', "x' OR 1=1 --", 'é', '\u0000\t', '𝕏'.repeat(256), '{id:String}']
  for (const id of ids) {
    const answer = await fetch(`${url}/v1/events/${encodeURIComponent(id)}`, { headers })
    assert.equal(answer.status, 404, id)
    assert.match(((await answer.json()) as ErrorBody).detail, /^there is no such event/)
  }
  assert.deepEqual(
    asked.map(({ eventId }) => eventId),
    ids,
  )
  assert.deepEqual(asked[0], { tenantId: 'acme', eventId: 'a', archived: false, aroundMs: undefined })
})

test('an invalid event id or time is refused with its fault', async (t) => {
  const { receipts, asked } = asking()
  const { url } = await startHttp(t, { receipts })
  const refused: [string, number, RegExp][] = [
    ['%ff', 400, /^event_id is not percent-encoded UTF-8$/],
    ['%ED%A0%80', 400, /^event_id is not percent-encoded UTF-8$/],
    ['%zz', 400, /^event_id is not percent-encoded UTF-8$/],
    ['x'.repeat(257), 422, /^event_id must have at most 256 characters$/],
    ['a?received_at=yesterday', 422, /^received_at must be an RFC 3339 date-time/],
    ['a?received_at=%ff', 400, /^the query is not percent-encoded UTF-8/],
    ['a?received_at=2026-11-22T08:00:00Z&received_at=2026-11-22T08:00:00Z', 422, /^received_at must be given once$/],
    ['', 404, /^this path does not exist: see \/docs$/],
    ['a/b', 404, /^this path does not exist: see \/docs$/],
  ]
  for (const [path, status, detail] of refused) {
    const answer = await fetch(`${url}/v1/events/${path}`, { headers })
    assert.equal(answer.status, status, path)
    assert.match(((await answer.json()) as ErrorBody).detail, detail, path)
  }
  assert.equal((await fetch(`${url}/v1/events/a`)).status, 401)
  const wrong = await fetch(`${url}/v1/events/a`, { method: 'POST', headers })
  assert.deepEqual([wrong.status, wrong.headers.get('allow')], [405, 'GET, HEAD, OPTIONS'])
  assert.equal(asked.length, 0)
  await fetch(`${url}/v1/events/a?received_at=2026-11-22T08:00:00Z`, { headers })
  assert.equal(asked[0]!.aroundMs, Date.UTC(2026, 10, 22, 8))
})

test('a store that is down is 500, too many calls are 429, and other calls are answered', async (t) => {
  let failure: Error = new UnavailableError('the tables did not answer', { retryAfterSeconds: 3 })
  const { receipts } = asking(() => Promise.reject(failure))
  const { url } = await startHttp(t, { receipts })
  const ask = () => fetch(`${url}/v1/events/a`, { headers })
  const failed = await ask()
  assert.deepEqual([failed.status, failed.headers.get('retry-after')], [500, '3'])
  assert.deepEqual(await failed.json(), { detail: 'the tables did not answer', code: 'store_unavailable' })
  failure = new BackpressureError('too many ask for events')
  const full = await ask()
  assert.deepEqual([full.status, full.headers.get('retry-after')], [429, '1'])
  const body = '{"events":[{"ip":"192.0.2.1"}]}'
  assert.equal((await fetch(`${url}/v1/ingest`, { method: 'POST', headers, body })).status, 200)
})
