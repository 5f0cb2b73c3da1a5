import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Inserter } from '../../../src/pipeline/declaration/destination.ts'
import { repeatInsert, UnclearRefusals } from '../../../src/pipeline/runner/insert.ts'
import { entryOf, runProcess, World } from '../../support/sink-world.ts'

test('a sink writes its intent, inserts, acknowledges, and clears the intent, in this order', async () => {
  const world = new World()
  assert.equal(await runProcess(world), false)
  assert.deepEqual(world.log, [
    'prepare',
    'acquire',
    'intent',
    // Refused as a whole, which is noted before any of its rows is sent alone.
    'insert',
    'intent',
    ...Array(5).fill('insert'),
    'intent with refused rows',
    'acknowledge 0',
    'acknowledge 1',
    'clear',
  ])
  assert.deepEqual(world.dead, ['bad'])
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
})

const ACTIONS = 14

for (const after of [false, true]) {
  test(`killed ${after ? 'after' : 'before'} every action: stored once, dead once, acknowledged last`, async () => {
    for (let at = 0; at < ACTIONS; at++) {
      const world = new World()
      assert.equal(await runProcess(world, { at, after }), true, `there is an action ${at}`)
      const before = world.log.length
      await runProcess(world)
      const log = `at ${at}: ${world.log.slice(0, before).join(', ')} | ${world.log.slice(before).join(', ')}`
      assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'], log)
      assert.deepEqual(world.dead, ['bad'], log)
      assert.deepEqual([world.pending, world.intent], [[], undefined], log)
      assert.ok(world.log.lastIndexOf('clear') > world.log.lastIndexOf('acknowledge 1'), log)
      const lastInsert = world.log.lastIndexOf('insert')
      assert.ok(lastInsert < world.log.indexOf('acknowledge 0'), `nothing is acknowledged before all is stored, ${log}`)
    }
  })
}

for (const after of [false, true]) {
  test(`killed ${after ? 'after' : 'before'} every action: an observer learns of each row before it is acknowledged`, async () => {
    for (let at = 0; at < ACTIONS + 1; at++) {
      const world = new World()
      world.observed = new Set()
      assert.equal(await runProcess(world, { at, after }), true, `there is an action ${at}`)
      await runProcess(world)
      assert.deepEqual([[...world.observed].sort(), world.unobserved], [['a', 'b', 'bad', 'c', 'd'], []], `at ${at}`)
    }
  })
}

test('an interrupted insert is repeated under the same token with the same rows', async () => {
  const world = new World()
  world.undelivered[0] = { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b')] }
  await runProcess(world, { at: 3, after: true })
  assert.equal(world.log.at(-1), 'insert')
  world.undelivered.push({ partition: 0, lane: 'live', entries: [entryOf('9-0', 'late')] })
  await runProcess(world)
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd', 'late'])
  assert.equal(world.tokens.size, 2, 'one for the repeated rows, one for the late one')
  assert.ok(world.tokens.has(world.firstToken!))
})

test('an insert with some deliveries that a store lost does not count as done', async () => {
  const world = new World()
  world.undelivered[0] = { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b')] }
  await runProcess(world, { at: 2, after: true })
  assert.deepEqual([world.log.at(-1), world.stored], ['intent', []])
  world.undelivered.push(...world.pending.splice(1))
  await runProcess(world)
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
  assert.deepEqual([world.pending, world.intent], [[], undefined])
})

test('a destination with its own tokens gets them, in repeats and parts too', async () => {
  const world = new World()
  let made = 0
  world.newToken = () => `made${++made}`
  await runProcess(world, { at: 4, after: true })
  await runProcess(world)
  assert.deepEqual(world.dead, ['bad'])
  assert.equal(made, 1)
  assert.ok(world.tokens.size > 1)
  for (const token of world.tokens) assert.match(token, /^made1\./)
})

test('an intent of other shares is finished first, killed at any action: stored once', async () => {
  for (let at = 0; at < 10; at++) {
    const world = new World()
    await runProcess(world, { at: 3, after: true })
    world.other.intent = world.intent
    world.intent = undefined
    await runProcess(world, { at, after: at % 2 === 0 })
    await runProcess(world)
    assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'], `at ${at}`)
    assert.deepEqual(world.dead, ['bad'], `at ${at}`)
    assert.deepEqual([world.pending, world.intent, world.other.intent], [[], undefined, undefined], `at ${at}`)
    assert.ok(
      [...world.tokens].every((token) => token.startsWith(world.firstToken!)),
      `under its own token, at ${at}`,
    )
  }
})

test('a share for another sink is given back with nothing in hand, and waited for again', async () => {
  const world = new World()
  world.undelivered.shift()
  world.refuses = () => {
    world.isWanted = true
    return undefined
  }
  await runProcess(world)
  assert.deepEqual(world.log, [
    ...['prepare', 'acquire', 'intent', 'insert', 'acknowledge 1', 'clear'],
    ...['release', 'prepare', 'acquire'],
  ])
})

/** Inserts of four rows each wait. */
function busyWorld(inserts: number): World {
  const world = new World()
  world.rowsMax = 4
  const runs = Array.from({ length: inserts }, (_, i) => {
    const rows = ['a', 'b', 'c', 'd'].map((letter) => `${letter}${i}`)
    return { partition: i % 2, lane: 'live' as const, entries: [entryOf(`${i + 100}-0`, ...rows)] }
  })
  world.undelivered.splice(0, 2, ...runs)
  return world
}

function assertStoredOnce(world: World, inserts: number, log?: string): void {
  const rows = Array.from({ length: inserts }, (_, i) => ['a', 'b', 'c', 'd'].map((letter) => `${letter}${i}`)).flat()
  assert.deepEqual([...world.stored].sort(), rows.sort(), log)
  assert.deepEqual([world.pending, world.intent], [[], undefined], log)
}

test('during a full insert the next rows are read, and their intent waits for the first one', async () => {
  const world = busyWorld(3)
  await runProcess(world)
  assert.deepEqual(world.log, [
    ...['prepare', 'acquire', 'read', 'intent', 'read', 'insert', 'acknowledge 0', 'clear'],
    ...['intent', 'read', 'insert', 'acknowledge 1', 'clear'],
    ...['intent', 'insert', 'acknowledge 0', 'clear'],
  ])
  assertStoredOnce(world, 3)
})

test('killed at any action, or refused for a while, with rows read ahead: stored once', async () => {
  for (const after of [false, true]) {
    for (let at = 0; ; at++) {
      const world = busyWorld(3)
      if (!(await runProcess(world, { at, after }))) break
      await runProcess(world)
      assertStoredOnce(world, 3, `at ${at}: ${world.log.join(', ')}`)
    }
  }
  for (let refused = 0; refused < 3; refused++) {
    const world = busyWorld(3)
    let tries = 0
    world.refuses = () => (tries++ === refused ? new Error('down') : undefined)
    await runProcess(world)
    assertStoredOnce(world, 3, `refused at ${refused}: ${world.log.join(', ')}`)
  }
})

test('under a backlog a sink empties its hands at times: shares move, lost replies are found', async () => {
  const world = busyWorld(20)
  await runProcess(world)
  assertStoredOnce(world, 20)
  assert.deepEqual(
    world.asked.filter(({ inHand }) => inHand > 0),
    [],
  )
  assert.deepEqual(
    world.asked.slice(0, 4).map(({ waiting }) => waiting),
    [20, 15, 10, 5],
  )
})

test('a share with an unreachable destination is given back, and a lone sink keeps its lease', async () => {
  for (const isShared of [true, false]) {
    const world = new World()
    Object.assign(world, { isShared, isDown: true })
    await runProcess(world, undefined, () => {
      if (world.log.length >= 4) world.isDown = false
      return false
    })
    const released = world.log.filter((action) => action === 'release').length
    assert.equal(released > 0, isShared)
    assert.equal(world.log.indexOf('release'), isShared ? 1 : -1)
    assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
  }
})

test('of events from before a store lost data, stored rows are not stored again', async () => {
  for (const after of [false, true]) {
    for (let at = 0; at < 9; at++) {
      const world = new World()
      world.forgotBefore = 5
      world.stored.push('a1', 'c2')
      world.undelivered.splice(
        0,
        2,
        { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a1', 'b1')] },
        { partition: 1, lane: 'live', entries: [entryOf('1-0', 'c2'), entryOf('2-0', 'd7')] },
      )
      await runProcess(world, { at, after })
      await runProcess(world)
      assert.deepEqual([...world.stored].sort(), ['a1', 'b1', 'c2', 'd7'], `at ${at}`)
      assert.deepEqual([world.pending, world.intent], [[], undefined], `at ${at}`)
    }
  }
})

test('lost rows are stored again although their token is known', async () => {
  const world = new World()
  world.undelivered[0] = { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b')] }
  await runProcess(world, { at: 3, after: true })
  assert.equal(world.tokens.size, 1)
  world.stored.length = 0
  await runProcess(world)
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
})

test('rows absent after a repeat are inserted under a new token', async () => {
  const tokens: string[] = []
  const inserter: Inserter = {
    prepare: async () => {},
    insert: async (_rows, token) => void tokens.push(token),
    absent: async (rows) => (tokens.length < 4 ? rows.slice(1) : []),
    close: async () => {},
  }
  const refusals = new UnclearRefusals(inserter, async () => {}, 0)
  assert.deepEqual(await repeatInsert(inserter, [entryOf('1-0', 'a', 'b')], 'first', refusals), [])
  assert.equal(tokens[0], 'first')
  assert.equal(new Set(tokens).size, 4, String(tokens))
})
