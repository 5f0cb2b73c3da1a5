import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { ClickHouseError } from '@clickhouse/client'
import { pino } from 'pino'
import { DaysBuilder } from '../../../src/days/builder.ts'
import type { Build, DayTable, OpenMutation, StaleDay } from '../../../src/days/day-tables.ts'
import type { DaysNote } from '../../../src/days/ports.ts'
import { until } from '../../support/until.ts'

const MINUTE_MS = 60_000
const START = Date.parse('2026-11-22T12:00:00Z')

/** A builder with tables in memory. Its clock stands still between rounds. */
class World {
  nowMs = START
  days: StaleDay[] = []
  readonly zones = new Map([['acme', 'Europe/Berlin']])
  mutations: OpenMutation[] = []
  /** Months without projections. */
  months: string[] = []
  /** Days that ClickHouse refuses to build. */
  refused = new Set<string>()
  replaced = new Map<DayTable, { builds: Build[]; share: number }>()
  readonly built: string[] = []
  readonly cleaned: string[] = []
  note: DaysNote | undefined
  rounds = 0
  readonly builder: DaysBuilder

  constructor(t: TestContext) {
    this.builder = new DaysBuilder({
      lease: { acquire: async () => true, assertHeld: () => {}, release: async () => {} },
      tables: {
        openMutations: async () => this.mutations,
        materialize: async () => this.months.pop(),
        stale: async (today, zones) => {
          assert.equal(zones, this.zones)
          assert.equal(today, new Date(this.nowMs).toISOString().slice(0, 10))
          return { newest: this.days, total: this.days.length }
        },
        build: async ({ tenantId, day }, built) => {
          if (this.refused.has(day))
            throw new ClickHouseError({ message: 'no', code: '241', type: 'MEMORY_LIMIT_EXCEEDED' })
          const index = this.days.findIndex((one) => one.tenantId === tenantId && one.day === day)
          const before = this.days[index]!
          assert.ok(built > before.builtMs, 'a build is newer than the last one')
          this.built.push(`${tenantId} ${day}`)
          this.days[index] = { ...before, builtMs: built }
        },
        replaced: async (table) => this.replaced.get(table) ?? { builds: [], share: 0 },
        condemn: async (table, builds) => void this.cleaned.push(`condemn ${table} ${builds.map(({ id }) => id)}`),
        remove: async (table, builds) => void this.cleaned.push(`remove ${table} ${builds.map(({ id }) => id)}`),
        isRemoving: async () => false,
      },
      records: {
        read: async () => this.note,
        note: async (note) => {
          this.note = note
          this.rounds++
        },
      },
      zones: async () => this.zones,
      clock: { now: () => this.nowMs },
      log: pino({ level: 'silent' }),
      times: { lookEveryMs: 1 },
    })
    t.after(() => this.builder.stop())
  }

  /** Lets time pass, and waits until the builder has done its work of then. */
  async pass(ms: number): Promise<readonly string[]> {
    this.built.splice(0)
    this.nowMs += ms
    await this.builder.start()
    const before = this.rounds
    await until(() => this.rounds >= before + 3)
    return [...this.built]
  }
}

function day(name: string, state = '1', tenantId = 'acme'): StaleDay {
  return { tenantId, day: name, zone: '', tables: ['entity_days', 'page_days'], state, builtMs: 0 }
}

test('a day is built when its events have not changed for a minute, the newest first', async (t) => {
  const world = new World(t)
  world.days = [day('2026-11-21'), day('2026-11-20', '1', 'a'), day('2026-11-20', '1', 'b')]
  assert.deepEqual(await world.pass(0), [])
  assert.deepEqual(await world.pass(59_999), [])
  assert.deepEqual(await world.pass(1), ['acme 2026-11-21', 'a 2026-11-20', 'b 2026-11-20'])
  assert.deepEqual(await world.pass(0), [])
})

test('a day that keeps changing is built when it has been stale for five minutes', async (t) => {
  const world = new World(t)
  const builds: number[] = []
  for (let seconds = 0; seconds <= 900; seconds += 30) {
    const builtMs = world.days[0]?.builtMs ?? 0
    world.days = [{ ...day('2026-11-21', `state ${seconds}`), builtMs }]
    if ((await world.pass(seconds === 0 ? 0 : 30_000)).length > 0) builds.push(seconds)
  }
  // Its next change makes it stale anew.
  assert.deepEqual(builds, [300, 630])
})

test('a day that became stale after its build waits for five minutes, then for a quiet one', async (t) => {
  const world = new World(t)
  world.days = [{ ...day('2026-11-21'), builtMs: START - 30_000 }]
  await world.pass(0)
  assert.deepEqual(await world.pass(4 * MINUTE_MS), [])
  assert.deepEqual(await world.pass(MINUTE_MS), ['acme 2026-11-21'])
})

test('a day that cannot be built delays no other, and is tried again later and later', async (t) => {
  const world = new World(t)
  world.days = [day('2026-11-21'), day('2026-11-20')]
  world.refused.add('2026-11-21')
  await world.pass(0)
  assert.deepEqual(await world.pass(MINUTE_MS), ['acme 2026-11-20'])
  world.refused.clear()
  world.days = world.days.slice(0, 1)
  assert.deepEqual(await world.pass(4 * MINUTE_MS), [])
  assert.deepEqual(await world.pass(MINUTE_MS), ['acme 2026-11-21'])
})

test('no day is looked at while ClickHouse changes all events, and the note says why that fails', async (t) => {
  const world = new World(t)
  world.days = [day('2026-11-21')]
  world.mutations = [{ command: 'MATERIALIZE PROJECTION day_checks', failure: '' }]
  await world.pass(0)
  assert.deepEqual(await world.pass(10 * MINUTE_MS), [])
  assert.equal(world.note?.blockedBy, '')
  world.mutations = [{ command: 'MATERIALIZE PROJECTION day_checks', failure: 'no space left' }]
  await world.pass(MINUTE_MS)
  assert.deepEqual([world.note?.stale, world.note?.blockedBy], [undefined, 'no space left'])
  world.mutations = []
  world.months = ['202610', '202611']
  await world.pass(0)
  assert.deepEqual(world.months, [])
  assert.deepEqual(await world.pass(MINUTE_MS), ['acme 2026-11-21'])
  assert.deepEqual([world.note?.stale, world.note?.blockedBy], [1, undefined])
})

test('the note says since when a day is stale: across a restart, and anew when it changes after its build', async (t) => {
  const before = new World(t)
  before.days = [day('2026-11-21')]
  await before.pass(0)
  await before.builder.stop()
  const world = new World(t)
  world.note = before.note
  world.days = [day('2026-11-21')]
  await world.pass(MINUTE_MS)
  assert.equal(world.note?.oldestSinceMs, START)
  // The build did not prove the day.
  await world.pass(MINUTE_MS)
  assert.ok(world.days[0]!.builtMs > 0)
  await world.pass(MINUTE_MS)
  assert.equal(world.note?.oldestSinceMs, START)
  world.days = [{ ...world.days[0]!, state: '2' }]
  await world.pass(MINUTE_MS)
  assert.equal(world.note?.oldestSinceMs, world.nowMs)
  world.days = []
  await world.pass(MINUTE_MS)
  assert.deepEqual([world.note?.stale, world.note?.oldestSinceMs], [0, undefined])
})

test('a replaced build stays readable for 15 minutes after no query can choose it', async (t) => {
  const world = new World(t)
  const old: Build = { id: '1', day: '2026-11-21', rows: 10 }
  world.replaced.set('entity_days', { builds: [old], share: 0.5 })
  await world.pass(0)
  assert.deepEqual(world.cleaned, ['condemn entity_days 1'])
  world.replaced.clear()
  await world.pass(15 * MINUTE_MS - 1)
  assert.deepEqual(world.cleaned, ['condemn entity_days 1'])
  await world.pass(1)
  assert.deepEqual(world.cleaned, ['condemn entity_days 1', 'remove entity_days 1'])
})

test('few replaced builds are removed once an hour, and many at the next look', async (t) => {
  const world = new World(t)
  const few = { builds: [{ id: '1', day: '2026-11-21', rows: 10 }], share: 0.2 }
  world.replaced.set('page_days', few)
  await world.pass(0)
  await world.pass(15 * MINUTE_MS)
  const removed = ['condemn page_days 1', 'remove page_days 1']
  assert.deepEqual(world.cleaned, removed)
  await world.pass(15 * MINUTE_MS)
  assert.deepEqual(world.cleaned, removed)
  world.replaced.set('page_days', { ...few, share: 0.21 })
  await world.pass(15 * MINUTE_MS - 1)
  assert.deepEqual(world.cleaned, removed)
  await world.pass(1)
  assert.deepEqual(world.cleaned, [...removed, 'condemn page_days 1'])
})

test('a build with a time ahead of the clock is replaced by a newer one', async (t) => {
  const world = new World(t)
  world.days = [{ ...day('2026-11-21'), builtMs: START + 60 * MINUTE_MS }]
  await world.pass(0)
  assert.deepEqual(await world.pass(MINUTE_MS), ['acme 2026-11-21'])
})
