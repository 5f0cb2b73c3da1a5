import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import type { AlertRecord } from '../../schemas/alert.ts'
import { type WeekMessage, weekReader } from '../../src/alerts/digests/week.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import type { Message } from '../../src/alerts/messages.ts'
import { type Alert, RedisAlerts } from '../../src/alerts/redis/alert-store.ts'
import { RedisDeliveries } from '../../src/alerts/redis/delivery-store.ts'
import { RedisOccurrences } from '../../src/alerts/redis/occurrence-store.ts'
import { ClickHouseHome } from '../../src/companies/home.ts'
import { Segments } from '../../src/companies/segments/segments.ts'
import { RedisExports } from '../../src/exports/redis/export-store.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { EnvelopeState, identityOf } from '../../src/pipeline/event/envelope.ts'
import { touchedCompanies } from '../../src/pipeline/sinks/touched/touched-companies.ts'
import { EndedJobs } from '../../src/pipeline/sources/batch/redis/ended-jobs.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { Membership } from '../../src/stores/redis/membership.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { addAlert } from '../support/alerts.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { type EventRow, eventInserter, eventRows } from '../support/event-rows.ts'
import { Killer, SteppedEvaluator } from '../support/killer.ts'
import { quiet, silent } from '../support/pipeline.ts'
import { randomOf } from '../support/random.ts'
import { startTestRedis } from '../support/redis.ts'
import { handClock } from '../support/tenants.ts'

const NOON = Date.UTC(2026, 10, 25, 12)
const DAY_MS = 86_400_000
const clickhouse = await startTestClickHouse()
const redis = await startTestRedis()
const insert = eventInserter(clickhouse)
let tenants = 0

async function startWorld(t: TestContext) {
  const tenantId = `tenant-${tenants++}`
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  await client.flushall()
  const clock = handClock(NOON)
  const store = new RedisTenantStore(client)
  const createdAt = '2026-01-01T00:00:00.000Z'
  await store.createTenant({ id: tenantId, plan: 'starter', archive: false, addresses: 'full', createdAt })
  const [alerts, deliveries, segments] = [
    new RedisAlerts(client),
    new RedisDeliveries(client),
    new Segments(client, clock),
  ]
  const lease = new Membership({ client, name: 'alerts' }).share(0)
  await lease.acquire(new AbortController().signal)
  const reading = connectReading(clickhouse.url, 'test')
  t.after(async () => {
    await lease.release()
    await reading.close()
    client.disconnect()
  })
  const observe = touchedCompanies.open({ store: client, clock })
  let events = 0
  return {
    ...{ tenantId, client, clock, alerts, segments, deliveries },
    /** @param visitsOf puts events into the middle of a turn */
    evaluator(
      killer = new Killer(),
      visitsOf: (visits: ClickHouseVisits) => ClickHouseVisits = (visits) => visits,
      perHour = 1_000,
    ) {
      const killable = killer.over(client, [
        'hmget',
        'hgetall',
        'zrange',
        'zrangebyscore',
        'zmscore',
        'eval',
        'evalsha',
      ])
      const occurrences = new RedisOccurrences(killable as RedisClient, killer.over(lease, ['run']), perHour)
      const visits = new ClickHouseVisits(
        killer.over(new QuestionReader(reading), ['rows']) as QuestionReader,
        async () => [],
        clock,
      )
      return new SteppedEvaluator({
        ...{ lease, alerts, occurrences, segments, clock, log: silent, retentionDays: undefined, settleMs: 0 },
        visits: visitsOf(visits),
        readWeek: weekReader(
          new ClickHouseHome(killer.over(new QuestionReader(reading), ['rows']) as QuestionReader),
          async () => [],
        ),
        getTenant: (id) => store.getTenant(id),
        jobs: new EndedJobs(client, 1, clock),
        ...{ exports: new RedisExports(client), waiting: async () => 0 },
        dashboardUrl: 'http://dash.example',
      })
    },
    eventOf: (company: string, row: EventRow = {}): EventRow => ({
      ...{ tenant_id: tenantId, event_id: `e${events++}`, company_id: company, account_id: company, domain: company },
      ...{ received_at: clock.nowMs, timestamp: clock.nowMs, business_name: `Name of ${company}`, ...row },
    }),
    /** Stores events as the sink does. */
    async stored(rows: readonly EventRow[]): Promise<void> {
      if (rows.length === 0) return
      await insert(tenantId, rows)
      const envelopes = rows.map((row) => ({
        identity: identityOf(tenantId, String(row.event_id)),
        state: EnvelopeState.Enriched,
        row: eventRows([row]).toString().trimEnd(),
      }))
      await observe([packBlock(envelopes)])
    },
    async correct(company_id: string, field: string, value: string): Promise<void> {
      const at = new Date(clock.nowMs).toISOString().replace('T', ' ').replace('Z', '')
      const row = { tenant_id: tenantId, company_id, field, value, at, change_id: `c${events++}` }
      const values = [{ ...row, before: '', by: 'test', undoes: '' }]
      await clickhouse.client.insert({ table: 'company_corrections', values, format: 'JSONEachRow' })
    },
    alert: (record: Partial<AlertRecord>): Promise<Alert> => {
      const at = new Date(clock.nowMs).toISOString()
      return addAlert(client, tenantId, { url: 'http://x.example', created_at: at, active_since: at, ...record })
    },
    /** Companies that an alert reported after a moment, sorted. */
    async reported(alert: Alert, sinceMs = 0): Promise<string[]> {
      const { deliveries: all } = await deliveries.page(tenantId, { limit: 2_000 })
      return all
        .filter(({ alertId, createdAtMs }) => alertId === alert.id && createdAtMs > sinceMs)
        .map(({ body }) => (JSON.parse(body) as Message).data.company!.company_id)
        .sort()
    },
    isSettled: async () => (await client.exists(keys.touchedCompanies(tenantId))) === 0,
  }
}

test('events between the creation of an alert and its first evaluation are reported', async (t) => {
  const world = await startWorld(t)
  const { tenantId, clock } = world
  const germans = await world.segments.create(tenantId, 'Germans', 'country=DE')
  const tagged = await world.segments.create(tenantId, 'Tagged', 'tag=vip')
  const old = ['old.example', 'gone.example', 'late.example'].map((id) => world.eventOf(id))
  await world.stored([...old, world.eventOf('back.example', { timestamp: NOON - 40 * DAY_MS })])
  const waiting = world.eventOf('waiting.example')
  const alerts = [
    await world.alert({ on: 'segment.entered', segment_id: germans.id }),
    await world.alert({ on: 'segment.entered', segment_id: tagged.id }),
    await world.alert({ on: 'company.first_seen' }),
    await world.alert({ on: 'company.returned', after_days: 30 }),
  ]
  clock.nowMs += 1_000
  await world.correct('old.example', 'tags', 'vip')
  // A sender's clock may be late.
  const stamped = world.eventOf('new.example', { timestamp: NOON - 60_000 })
  await world.stored([stamped, ...['old.example', 'back.example'].map((id) => world.eventOf(id))])
  clock.nowMs += 3_600_000
  await world.evaluator().turn()
  // It was received before the creation.
  await world.stored([waiting])
  await world.evaluator().turn()
  const reported = await Promise.all(alerts.map((alert) => world.reported(alert)))
  assert.deepEqual(reported, [['new.example'], ['old.example'], ['new.example'], ['back.example']])
})

test('companies that an evaluation in progress has read before an alert, a resumption or another filter are evaluated again', async (t) => {
  const world = await startWorld(t)
  const { tenantId, clock, alerts, segments } = world
  const segment = await segments.create(tenantId, 'Keen', 'country=FR')
  const changed = await world.alert({ on: 'segment.entered', segment_id: segment.id })
  const resumed = await world.alert({ on: 'company.first_seen' })
  await world.evaluator().turn()
  const paused = { at: new Date(NOON).toISOString(), by: 'person', reason: '' } as const
  await alerts.change(tenantId, resumed.id, { paused })
  clock.nowMs += 1_000
  const made: Alert[] = []
  // After the turn has read alerts and segments, and before it reads the companies to evaluate.
  const meanwhile = (visits: ClickHouseVisits) => {
    const members = visits.members.bind(visits)
    let isDone = false
    visits.members = async (...args) => {
      if (!isDone) {
        isDone = true
        await segments.change(tenantId, segment.id, { where: 'country=DE' })
        const since = new Date(clock.nowMs).toISOString()
        await alerts.change(tenantId, resumed.id, { paused: null, active_since: since })
        made.push(await world.alert({ on: 'company.first_seen' }))
        clock.nowMs += 1_000
        await world.stored([world.eventOf('new.example')])
      }
      return await members(...args)
    }
    return visits
  }
  await world.evaluator(undefined, meanwhile).turn()
  assert.equal(await world.isSettled(), true)
  await world.evaluator().turn()
  for (const alert of [changed, resumed, ...made]) assert.deepEqual(await world.reported(alert), ['new.example'])
})

test('a correction right after the creation of an alert is reported, and one from before is not', async (t) => {
  const world = await startWorld(t)
  t.after(() => clickhouse.client.command({ query: 'TRUNCATE TABLE company_corrections' }).then(() => {}))
  await world.alert({ on: 'company.first_seen' })
  world.clock.nowMs += 1_000
  await world.stored(['before.example', 'after.example'].map((id) => world.eventOf(id)))
  await world.evaluator().turn()
  await world.correct('before.example', 'name', 'Better')
  world.clock.nowMs += 1_000
  const alert = await world.alert({ on: 'company.corrected' })
  world.clock.nowMs += 1_000
  await world.correct('after.example', 'hidden', 'yes')
  await world.evaluator().turn()
  assert.deepEqual(await world.reported(alert), ['after.example'])
})

test('above the limit of an hour, each company is in one message, and no hour has more, wherever a process is killed', async (t) => {
  const [perHour, hourMs, kills] = [3, 3_600_000, 30]
  const world = await startWorld(t)
  const { tenantId, clock, deliveries } = world
  const alert = await world.alert({ on: 'company.first_seen' })
  const turn = (killer?: Killer) => world.evaluator(killer, undefined, perHour).turn()
  const queue = { tenantId, alertId: alert.id, queue: 'due' } as const
  /** Delivers due messages, like a sender that is killed before its answer: the next one settles it again. @returns how many */
  const deliver = async () => {
    const due = await deliveries.due(queue, clock.nowMs, 1_000)
    for (const id of due) {
      const found = (await deliveries.get(tenantId, id))!
      const delivered = { ...found, rev: found.rev + 1, state: 'delivered' } as const
      const settled = { rev: found.rev, dueAtMs: undefined, nowMs: clock.nowMs }
      assert.equal(await deliveries.settle(queue, delivered, settled), true)
      assert.equal(await deliveries.settle(queue, delivered, settled), false)
    }
    return due.length
  }
  const companies: string[] = []
  const visit = async (count: number) => {
    const some = Array.from({ length: count }, (_, i) => `c${companies.length + i}.example`)
    companies.push(...some)
    clock.nowMs += 1_000
    await world.stored(some.map((id) => world.eventOf(id)))
  }
  await turn()
  for (let callsLeft = 0; callsLeft < kills; callsLeft++) {
    await visit(2)
    await turn(new Killer(callsLeft)).catch(() => {})
    // In some hours the receiver takes nothing before the end.
    let delivered = callsLeft % 3 === 0 ? 0 : await deliver()
    await visit(3)
    await turn(new Killer(callsLeft)).catch(() => {})
    await turn()
    delivered += await deliver()
    await visit(1)
    await turn()
    delivered += await deliver()
    assert.equal(delivered, perHour)
    clock.nowMs += hourMs
  }
  await turn()
  assert.equal(await deliver(), 1)
  const { deliveries: all } = await deliveries.page(tenantId, { limit: 1_000 })
  const messages = all.map(({ body }) => JSON.parse(body) as Message)
  const reported = messages.flatMap(({ data }) => (data.companies ?? [data.company!]).map((of) => of.company_id))
  assert.deepEqual(reported.sort(), companies.sort())
  assert.equal(all.length, kills * perHour + 1)
  const digests = messages.filter(({ type }) => type === 'alert.digest')
  assert.deepEqual([digests.length, new Set(digests.map(({ data }) => data.digest))], [kills, new Set(['limit'])])
})

test('a digest is one message for each subscriber and due time, wherever a process is killed', async (t) => {
  const weeks = 12
  const world = await startWorld(t)
  const { tenantId, client, clock, deliveries, segments } = world
  const segment = await segments.create(tenantId, 'Germans', 'country=DE,days=7')
  const since = new Date(clock.nowMs).toISOString()
  const subscribe = (record: Partial<AlertRecord>) =>
    addAlert(client, tenantId, {
      ...{ on: 'digest', to: 'email', target: 'a@b.example', every: 'week', at: '08:00' },
      ...{ created_at: since, active_since: since, ...record },
    })
  const all = await subscribe({})
  const germans = await subscribe({ segment_id: segment.id })
  const always = await subscribe({ segment_id: segment.id, sends_empty: true, target: 'c@b.example' })
  const sent: Record<string, string[]> = { [all.id]: [], [germans.id]: [], [always.id]: [] }
  for (let week = 0; week < weeks; week++) {
    const first = `c${week}.example`
    const row = {
      country_code: week % 2 === 0 ? 'DE' : 'FR',
      extra: JSON.stringify({ url: 'https://x.example/pricing' }),
    }
    await world.stored([world.eventOf(first, row), world.eventOf('old.example', { country_code: 'FR' })])
    // Later than the Monday: a process was down. Once two of them are missed.
    clock.nowMs += (week === 5 ? 14 : 7) * DAY_MS
    for (const callsLeft of [week, week + weeks, week + 2 * weeks])
      await world
        .evaluator(new Killer(callsLeft))
        .turn()
        .catch(() => {})
    await world.evaluator().turn()
    await world.evaluator().turn()
  }
  const { deliveries: found } = await deliveries.page(tenantId, { limit: 1_000 })
  for (const { alertId, type, body } of found) {
    const { data, timestamp } = JSON.parse(body) as WeekMessage
    assert.equal(type, 'digest.week')
    assert.deepEqual([timestamp.slice(11), new Date(timestamp).getUTCDay()], ['08:00:00.000Z', 1])
    assert.equal(Date.parse(timestamp) - Date.parse(data.to), DAY_MS + 8 * 3_600_000)
    sent[alertId]!.push(`${timestamp.slice(0, 10)} ${data.now.companies}`)
  }
  const mondays = Array.from({ length: weeks }, (_, i) => new Date(Date.UTC(2026, 10, 30 + 7 * (i < 5 ? i : i + 1))))
  const day = (at: Date) => at.toISOString().slice(0, 10)
  // The week before the Monday of week 5 is empty: its events are of the one before, whose digest was missed.
  const count = (i: number, full: number) => (i === 5 ? 0 : full)
  const of = (id: string) => sent[id]!.sort()
  assert.deepEqual(
    of(all.id),
    mondays.flatMap((at, i) => (i === 5 ? [] : [`${day(at)} ${count(i, 2)}`])),
  )
  assert.deepEqual(
    of(germans.id),
    mondays.flatMap((at, i) => (i % 2 === 1 ? [] : [`${day(at)} 1`])),
  )
  assert.deepEqual(
    of(always.id),
    mondays.map((at, i) => `${day(at)} ${i % 2 === 1 ? 0 : 1}`),
  )
})

/** The state of a company at a moment. */
interface Past {
  readonly country: string
  readonly events: number
  readonly addresses: number
  readonly pages: number
  readonly isTagged: boolean
}

/** Filters that a company, once it is in, does not leave. */
const FILTERS: readonly (readonly [where: string, holds: (past: Past) => boolean])[] = [
  ['country=DE', ({ country, events }) => events > 0 && country === 'DE'],
  ['events>=2', ({ events }) => events >= 2],
  ['visits>=2,days=7', ({ addresses }) => addresses >= 2],
  ['page~/pricing', ({ pages }) => pages > 0],
  ['tag=vip', ({ events, isTagged }) => events > 0 && isTagged],
]

for (const seed of [1, 2]) {
  test(`an alert reports exactly the companies that are in now and were not at its start (seed ${seed})`, async (t) => {
    t.after(() => clickhouse.client.command({ query: 'TRUNCATE TABLE company_corrections' }).then(() => {}))
    const world = await startWorld(t)
    const { tenantId, clock, alerts, segments } = world
    const random = randomOf(seed)
    const rows: EventRow[] = []
    const tags: { readonly company: string; readonly atMs: number }[] = []
    /** Rows that the sink has not stored yet, in the order of their receipt. */
    let unstored: EventRow[] = []
    const firsts: { alert: Alert; sinceMs: number }[] = []
    const entries: { alert: Alert; filter: number; segment: string; sinceMs: number }[] = []
    let evaluator = world.evaluator()
    let killer = new Killer()

    const stateAt = (company: string, atMs: number): Past => {
      const of = rows.filter(({ company_id, received_at }) => company_id === company && Number(received_at) <= atMs)
      return {
        country: countryOf(company),
        events: of.length,
        addresses: new Set(of.map(({ ip }) => ip)).size,
        pages: of.filter(({ properties }) => String(properties).includes('/pricing')).length,
        isTagged: tags.some((tag) => tag.company === company && tag.atMs <= atMs),
      }
    }
    const countryOf = (company: string) => (Number(company.slice(1, -8)) % 2 === 0 ? 'DE' : 'FR')
    const steps: readonly (() => Promise<unknown> | undefined)[] = [
      async () => {
        for (let i = 0; i <= random(3); i++) {
          const company = `c${random(12)}.example`
          const properties = random(3) === 0 ? '{"url":"https://shop.example/pricing"}' : '{}'
          const row = { ip: `198.51.100.${random(3)}`, country_code: countryOf(company), properties }
          const event = world.eventOf(company, { ...row, timestamp: clock.nowMs - random(2) * random(3_600_000) })
          rows.push(event)
          unstored.push(event)
        }
      },
      async () => {
        const some = unstored.slice(0, random(unstored.length + 1))
        unstored = unstored.slice(some.length)
        await world.stored(some)
      },
      async () => {
        await evaluator.turn()
        if (!killer.isDead && random(2) === 0) return
        killer = new Killer(random(25))
        evaluator = world.evaluator(killer)
      },
      async () => {
        if (firsts.length + entries.length >= 12) return
        const sinceMs = clock.nowMs
        if (random(4) === 0) {
          firsts.push({ alert: await world.alert({ on: 'company.first_seen' }), sinceMs })
          return
        }
        const filter = random(FILTERS.length)
        const { id: segment } = await segments.create(tenantId, `s${entries.length}`, FILTERS[filter]![0])
        const alert = await world.alert({ on: 'segment.entered', segment_id: segment })
        entries.push({ alert, filter, segment, sinceMs })
      },
      async () => {
        const company = `c${random(12)}.example`
        tags.push({ company, atMs: clock.nowMs })
        await world.correct(company, 'tags', 'vip')
      },
      async () => {
        const entry = entries[random(Math.max(1, entries.length))]
        if (entry === undefined || random(3) > 0) return
        entry.filter = random(FILTERS.length)
        const { where_since: since } = await segments.change(tenantId, entry.segment, {
          where: FILTERS[entry.filter]![0],
        })
        if (since !== undefined) entry.sinceMs = Math.max(entry.sinceMs, Date.parse(since))
      },
      async () => {
        const all = [...firsts, ...entries]
        const one = all[random(Math.max(1, all.length))]
        if (one === undefined || random(3) > 0) return
        const paused = { at: new Date(clock.nowMs).toISOString(), by: 'person', reason: '' } as const
        await alerts.change(tenantId, one.alert.id, { paused })
        clock.nowMs += 1 + random(2_000)
        one.sinceMs = clock.nowMs
        const since = new Date(clock.nowMs).toISOString()
        await alerts.change(tenantId, one.alert.id, { paused: null, active_since: since })
      },
    ]
    for (let i = 0; i < 120; i++) {
      await steps[random(2) === 0 ? random(3) : random(steps.length)]!()
      clock.nowMs += 1 + random(5_000)
    }
    await world.stored(unstored)
    evaluator = world.evaluator()
    await evaluator.turn()
    await evaluator.turn()
    assert.equal(await world.isSettled(), true)

    const companies = [...new Set(rows.map(({ company_id: id }) => String(id)))].sort()
    for (const { alert, sinceMs } of firsts) {
      const expected = companies.filter((company) => stateAt(company, sinceMs).events === 0)
      assert.deepEqual(await world.reported(alert, sinceMs), expected, `first_seen since ${sinceMs}`)
    }
    for (const { alert, filter, sinceMs } of entries) {
      const [where, holds] = FILTERS[filter]!
      const entered = companies.filter(
        (company) => !holds(stateAt(company, sinceMs)) && holds(stateAt(company, clock.nowMs)),
      )
      // A tag alone is no visit: the next visit after it reports the company.
      const must = entered.filter((company) => {
        const taggedMs = tags.find((tag) => tag.company === company)?.atMs ?? 0
        const visits = rows.filter(({ company_id: id }) => id === company).map(({ received_at: at }) => Number(at))
        return where !== 'tag=vip' || visits.some((at) => at > sinceMs && at > taggedMs)
      })
      const reported = await world.reported(alert, sinceMs)
      assert.deepEqual(
        reported.filter((company) => must.includes(company) || !entered.includes(company)),
        must,
        `${where} since ${sinceMs}`,
      )
      assert.equal(new Set(reported).size, reported.length, `${where} since ${sinceMs}`)
    }
  })
}
