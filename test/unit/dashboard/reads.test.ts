import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type ClickHouseClient, ClickHouseError } from '@clickhouse/client'
import { ClickHouseCompanies } from '../../../src/companies/companies.ts'
import { ClickHouseOverview } from '../../../src/dashboard/queries/overview.ts'
import { errorResponse } from '../../../src/http/route/errors.ts'
import { forCaller } from '../../../src/run/caller.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { BackpressureError, TooMuchError, UnavailableError } from '../../../src/run/errors.ts'
import { QUESTIONS, READ_WORK_MS, STATEMENT_LIMITS } from '../../../src/stores/clickhouse/read-limits.ts'
import { type Parameters, QuestionReader } from '../../../src/stores/clickhouse/reader.ts'

interface Held {
  readonly tenant: string
  readonly search: string | undefined
  answer(names: readonly string[]): Promise<void>
  fail(error: Error): Promise<void>
}

interface Asked {
  readonly query: string
  readonly query_params: Record<string, string>
  readonly abort_signal: AbortSignal
}

/** Tables that hold their answers back. */
function heldTables() {
  const asked: Held[] = []
  const query = ({ query: text, query_params: { tenant, search }, abort_signal: end }: Asked) =>
    new Promise((resolve, reject) => {
      // Answers the first query of every question at once.
      if (/AS hidden\b/.test(text)) return resolve({ json: async () => ({ data: [], rows_before_limit_at_least: 0 }) })
      end.addEventListener('abort', () => reject(end.reason))
      asked.push({
        tenant: tenant!,
        search,
        answer(names) {
          const data = names.map((company_id) => ({ company_id }))
          resolve({ json: async () => ({ data, rows_before_limit_at_least: data.length }) })
          return settled()
        },
        fail(error) {
          reject(error)
          return settled()
        },
      })
    })
  const reader = new QuestionReader({ query } as unknown as ClickHouseClient)
  const list = {
    page: (tenant: string, view: Parameters) => reader.find('SELECT a list', { tenant, ...view }),
    companies: new ClickHouseCompanies(reader, systemClock),
  }
  return { asked, list, overview: new ClickHouseOverview(reader) }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

test('a tenant that asks for list after list delays no other, and is refused in the end', async () => {
  const { asked, list, overview } = heldTables()
  const { ofTenant, all, waitingOfTenant } = QUESTIONS
  const lists = Array.from({ length: ofTenant + waitingOfTenant }, (_, i) => list.page('greedy', { search: `${i}` }))
  await settled()
  assert.equal(asked.length, ofTenant)
  const refused = await list.page('greedy', { search: 'more' }).catch((error: unknown) => error)
  assert.ok(refused instanceof BackpressureError)
  const { response, limit } = errorResponse(refused)
  assert.deepEqual([response.status, response.headers, limit], [429, { 'retry-after': '2' }, 'questions'])

  const others = [list.page('acme', {}), overview.outcomes('other', { from: '2026-01-01', to: '2026-01-02' })]
  await settled()
  assert.deepEqual(
    asked
      .slice(ofTenant)
      .map(({ tenant }) => tenant)
      .sort(),
    ['acme', 'other'],
  )
  assert.equal(asked.length, all)
  others.push(list.page('late', {}))
  await asked[0]!.answer([])
  assert.equal(asked.at(-1)!.tenant, 'late', 'before all that the greedy one has in line')
  for (const held of asked) await held.answer([])
  await Promise.all([...lists, ...others])
})

test('a page waits for queries of other pages, however long they run', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { asked, list } = heldTables()
  const left = Array.from({ length: QUESTIONS.ofTenant }, (_, i) => list.page('acme', { search: `${i}` }))
  await settled()
  const opened = list.page('acme', {})
  await settled()
  const runMs = STATEMENT_LIMITS.seconds * 1_000
  t.mock.timers.tick(runMs)
  for (const held of [...asked]) await held.answer([])
  await asked.at(-1)!.answer(['a.example'])
  assert.equal((await opened).total, 1)
  await Promise.all(left)
  assert.ok(QUESTIONS.waitMaxMs + runMs < READ_WORK_MS, 'both fit into the time of a request')
})

test('equal questions share one query in progress, and one more for all that come meanwhile', async () => {
  const { asked, list } = heldTables()
  const view = { search: 'acme' }
  const first = list.page('acme', view)
  await settled()
  const tabs = Array.from({ length: 9 }, () => list.page('acme', view))
  const [other, third] = [list.page('other', view), list.page('acme', { ...view, limit: 7 })]
  await settled()
  assert.deepEqual(
    asked.map(({ tenant }) => tenant),
    ['acme', 'other', 'acme'],
  )
  await asked[0]!.answer(['stored before'])
  assert.equal((await first).total, 1)
  assert.equal(asked.length, 4)
  await asked[3]!.answer(['stored before', 'stored since'])
  for (const page of await Promise.all(tabs)) assert.equal(page.total, 2)
  const again = list.page('acme', view)
  await settled()
  assert.equal(asked.length, 5, 'no answer is kept')
  for (const held of asked) await held.answer([])
  await Promise.all([again, other, third])
})

test('a query ends when the last of its callers has left, waiting or under way', async () => {
  const { asked, list } = heldTables()
  const callers: AbortController[] = []
  const page = (search: string) => {
    const caller = new AbortController()
    callers.push(caller)
    return forCaller(caller.signal, () => list.page('acme', { search }))
  }
  const gone = new Error('gone')
  const running = Array.from({ length: QUESTIONS.ofTenant }, (_, i) => page(`${i}`))
  await settled()
  const waiting = [page('waits'), page('waits'), page('other')]
  await settled()
  // The question of two callers loses one, the other question its only one.
  callers.at(-3)!.abort(gone)
  callers.at(-1)!.abort(gone)
  await assert.rejects(waiting[2]!, gone)
  callers[0]!.abort(gone)
  await assert.rejects(running[0]!, gone)
  await settled()
  assert.equal(asked.at(-1)!.search, 'waits', 'its slot is free')
  // Another caller asks the question that the first one left, and needs a query of its own.
  const again = page('0')
  for (const held of asked) await held.answer(['a'])
  assert.equal((await again).total, 1)
  assert.equal(asked.filter(({ search }) => search === '0').length, 2)
  await Promise.all([...running.slice(1), ...waiting.slice(0, 2)])
})

test('a failure gives its reason to all callers of the same question, and does not affect the next query', async () => {
  const { asked, list } = heldTables()
  const ask = () => list.page('acme', { sort: 'visits' })
  const rejection = (message: RegExp, seconds: number) => (error: unknown) =>
    error instanceof UnavailableError && message.test(error.message) && error.retryAfterSeconds === seconds
  const slow = new ClickHouseError({ message: 'Timeout exceeded', code: '159', type: 'TIMEOUT_EXCEEDED' })
  const first = ask()
  await settled()
  const both = [first, ask()].map((page) => assert.rejects(page, rejection(/another column than visits/, 20)))
  await asked[0]!.fail(slow)
  await Promise.all(both)
  await assert.rejects(first, TooMuchError)
  assert.equal(asked.length, 1)
  const unanswered = assert.rejects(ask(), rejection(/ClickHouse does not answer/, 1))
  await settled()
  await asked[1]!.fail(new Error('connect ECONNREFUSED'))
  await unanswered
  const last = ask()
  await settled()
  await asked[2]!.answer(['a'])
  assert.equal((await last).total, 1)
})

test('a page of companies with long ids asks for its parts one after the other', async () => {
  const { asked, list } = heldTables()
  const details = list.companies.details('acme', {
    companies: Array.from({ length: 60 }, (_, i) => `${i}`.padEnd(500, '€')),
  })
  await settled()
  await settled()
  assert.equal(asked.length, 2, 'visits, and sparklines')
  for (let i = 0; i < asked.length; i++) await asked[i]!.answer([])
  assert.deepEqual((await details).companies, [])
  assert.ok(asked.length > 60)
})
