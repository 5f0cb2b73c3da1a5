import assert from 'node:assert/strict'
import { tmpdir } from 'node:os'
import { test } from 'node:test'
import { WriteWatch } from '../../../src/embedded/clickhouse/write-watch.ts'
import { keptFreeBytes, spaceOf } from '../../../src/run/free-space.ts'
import { until } from '../../support/until.ts'

class World {
  failed = 0
  looks = 0
  departures = { open: 0, changes: 0 }
  isNearlyFull = false
  samples = 0
  readonly ended: number[] = []
  readonly watch = new WriteWatch({
    failedWrites: async () => {
      this.looks++
      return this.failed
    },
    departures: () => this.departures,
    isNearlyFull: () => {
      this.samples++
      return this.isNearlyFull
    },
    end: (writes) => void this.ended.push(writes),
  })
}

test('the engine is ended after a failed write, and only then', async () => {
  const world = new World()
  await world.watch.look()
  assert.deepEqual(world.ended, [])
  world.failed = 2
  await world.watch.look()
  assert.deepEqual(world.ended, [2])
})

test('writes to a reader that left end nothing, unless the disk is nearly full', async () => {
  for (const departures of [
    { open: 1, changes: 1 },
    { open: 0, changes: 2 },
  ]) {
    const world = new World()
    world.departures = departures
    world.failed = 7
    await world.watch.look()
    await world.watch.look()
    assert.deepEqual(world.ended, [])
    world.failed = 8
    world.isNearlyFull = true
    await world.watch.look()
    assert.deepEqual(world.ended, [8])
  }
})

test('a reader that leaves during a check for failed writes excuses them', async () => {
  const ended: number[] = []
  let departures = { open: 0, changes: 0 }
  const watch = new WriteWatch({
    failedWrites: async () => {
      departures = { open: 1, changes: 1 }
      return 1
    },
    departures: () => departures,
    isNearlyFull: () => false,
    end: (writes) => void ended.push(writes),
  })
  await watch.look()
  assert.deepEqual(ended, [])
})

test('a disk that was full between two checks does not count as a reader that left', async () => {
  const world = new World()
  world.isNearlyFull = true
  world.watch.start(1e6, 1)
  const over = await world.watch.begin()
  world.samples = 0
  await until(() => world.samples > 0)
  over()
  await world.watch.stop()
  world.isNearlyFull = false
  world.departures = { open: 0, changes: 1 }
  world.failed = 1
  await world.watch.look()
  assert.deepEqual(world.ended, [1])
})

test('when idle it checks rarely, and checks the time since before a statement begins', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  let nowMs = 0
  t.mock.method(performance, 'now', () => nowMs)
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 250) {
      nowMs += 250
      t.mock.timers.tick(250)
      await new Promise(setImmediate)
    }
  }
  const world = new World()
  world.watch.start()
  await pass(5_000)
  assert.equal(world.looks, 1)
  world.samples = 0
  await pass(55_000)
  assert.deepEqual([world.looks, world.samples], [1, 0])
  await pass(10_000)
  assert.equal(world.looks, 2)

  // A merge fails, and the disk has room again before the next read.
  world.failed = 1
  const over = await world.watch.begin()
  world.departures = { open: 1, changes: 1 }
  assert.deepEqual(world.ended, [1])
  assert.equal(world.looks, 3)
  await pass(5_000)
  assert.equal(world.looks, 4, 'while statements run it looks as often as ever')
  assert.ok(world.samples >= 20)
  over()

  // However short the pause was: the disk was not checked in it.
  world.departures = { open: 0, changes: 1 }
  await world.watch.look()
  await world.watch.look()
  const { looks } = world
  world.failed = 2
  const secondOver = await world.watch.begin()
  assert.deepEqual([world.ended, world.looks], [[1, 2], looks + 1])
  secondOver()
  await world.watch.stop()
})

test('a reader that left before the last check excuses nothing', async () => {
  const world = new World()
  world.departures = { open: 0, changes: 2 }
  await world.watch.look()
  world.failed = 1
  await world.watch.look()
  assert.deepEqual(world.ended, [1])
})

test('a fiftieth of a disk stays free, between 64 MiB and 1 GiB', () => {
  const bytes = keptFreeBytes(spaceOf(tmpdir()))
  assert.ok(bytes >= 2 ** 26 && bytes <= 2 ** 30, String(bytes))
})
