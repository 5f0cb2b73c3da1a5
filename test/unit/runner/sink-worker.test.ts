import assert from 'node:assert/strict'
import { test } from 'node:test'
import { packBlock, rowAt, rowEnds } from '../../../src/core/event/block.ts'
import { EnvelopeState, identityOf } from '../../../src/core/event/envelope.ts'
import { type Inserter, RefusedRowsError, UnclearRefusalError } from '../../../src/core/pipeline/destination.ts'
import { Doubt } from '../../../src/runner/doubt.ts'
import { repeatInsert } from '../../../src/runner/insert.ts'
import type { SinkEntry, SinkIntent, SinkRun, SinkSource } from '../../../src/runner/sink-ports.ts'
import { SinkWorker } from '../../../src/runner/sink-worker.ts'
import { silent } from '../../support/pipeline.ts'
import { until } from '../../support/until.ts'

/*
 * The order of what a sink does is its promise: intent, insert, acknowledge, clear. The store and the destination here
 * are models that log each action; the process can end at any of them, and the next one goes on with what was written.
 */

function entryOf(id: string, ...rows: string[]): SinkEntry {
  const envelopes = rows.map((row) => ({ identity: identityOf('t', row), state: EnvelopeState.Enriched, row }))
  return { partition: 0, lane: 'live', id, block: packBlock(envelopes), owner: Buffer.alloc(8) }
}

/** What outlives a process: the streams, the intent, the destination. */
class World {
  readonly log: string[] = []
  readonly undelivered: SinkRun[] = [
    { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b', 'bad')] },
    { partition: 1, lane: 'live', entries: [entryOf('1-0', 'c'), entryOf('2-0', 'd')] },
  ]
  pending: SinkRun[] = []
  intent: SinkIntent | undefined
  readonly stored: string[] = []
  readonly tokens = new Set<string>()
  readonly dead: string[] = []
  /** What the destination says of an insert, before it looks at its rows. */
  refuses: (lines: readonly string[]) => Error | undefined = () => undefined
  /** What becomes of its answer to an insert that was stored. */
  loses: (lines: readonly string[]) => Error | undefined = () => undefined
  /** Whether it says that it stores rows at the moment. */
  isOpen = true
  forgotBefore = 0
  /** The destination's own tokens. */
  newToken: (() => string) | undefined
  /** An intent of a sink that divided the streams in another way. */
  readonly other: { intent: SinkIntent | undefined } = { intent: undefined }
  /** Another process is to go on here. */
  isWanted = false
  isShared = false
  /** The destination cannot be made ready. */
  isAway = false
  readonly refusals: string[] = []
  /** Rows of an insert; a read delivers one run then, and is logged. */
  rowsMax: number | undefined
  /** Runs in hand, and those that waited, when it was asked what may be asked with nothing in hand only. */
  readonly asked: { readonly inHand: number; readonly waiting: number }[] = []
  /** Token of the first insert of the first process. */
  firstToken: string | undefined

  /** Entries of pending runs that a check holds for. */
  take(runs: readonly SinkRun[], holds: (run: SinkRun, entry: SinkEntry) => boolean): SinkRun[] {
    return runs
      .map((run) => ({ ...run, entries: run.entries.filter((entry) => holds(run, entry)) }))
      .filter((run) => run.entries.length > 0)
  }
}

/** Ends the process at action number `crashAt`, before it takes effect or behind it. */
interface Crash {
  readonly at: number
  readonly behind: boolean
}

/** One process: a sink on the world, until it is idle or it crashed. Returns whether it crashed. */
async function runProcess(world: World, crash?: Crash, isOver = () => false): Promise<boolean> {
  let actions = 0
  let crashed = false
  let idle = false
  const act = async <T>(name: string, effect: () => T): Promise<T> => {
    // A process that has ended does nothing any more.
    if (crashed) await new Promise(() => {})
    const isLast = crash?.at === actions++
    if (isLast && !crash?.behind) crashed = true
    if (crashed) return new Promise(() => {})
    world.log.push(name)
    try {
      return effect()
    } finally {
      if (isLast) crashed = true
      // Its answer is lost with the process.
      if (crashed) await new Promise(() => {})
    }
  }
  let isGoing = false
  const sourceOf = (intents: { intent: SinkIntent | undefined }): SinkSource => ({
    async acquire(_signal, finish) {
      await act('acquire', () => true)
      if (world.other.intent !== undefined) await finish(sourceOf(world.other))
      return true
    },
    async release() {
      if (isGoing || world.isAway) await act('release', () => {})
      isGoing = false
    },
    isShared: world.isShared,
    givesBack() {
      world.asked.push({ inHand: world.pending.length, waiting: world.undelivered.length })
      isGoing = world.isWanted
      world.isWanted = false
      return isGoing
    },
    intent: async () => intents.intent,
    writeIntent: (intent) =>
      act(intent.refused === undefined ? 'intent' : 'intent with refused rows', () => {
        intents.intent = intent
      }),
    clearIntent: () =>
      act('clear', () => {
        intents.intent = undefined
      }),
    async readRanges({ ranges }) {
      const inRanges = world.take(world.pending, (run, { id }) =>
        ranges.some((range) => range.partition === run.partition && range.first <= id && id <= range.last),
      )
      const expected = ranges.reduce((sum, range) => sum + range.entries, 0)
      const found = inRanges.reduce((sum, run) => sum + run.entries.length, 0)
      return { runs: inRanges, inserted: found < expected }
    },
    readPending: async () => world.pending,
    async readNew() {
      if (crashed) await new Promise(() => {})
      const runs = world.undelivered.splice(0, world.rowsMax === undefined ? Number.POSITIVE_INFINITY : 1)
      if (world.rowsMax !== undefined && runs.length > 0) world.log.push('read')
      world.pending.push(...runs)
      if (runs.length === 0) {
        idle = world.pending.length === 0
        await new Promise(setImmediate)
      }
      return runs
    },
    acknowledge: (run, refused) =>
      act(`acknowledge ${run.partition}`, () => {
        const done = new Set(run.entries)
        world.pending = world.take(
          world.pending,
          (other, entry) => other.partition !== run.partition || ![...done].some(({ id }) => id === entry.id),
        )
        for (const { entry, index } of refused) world.dead.push(rowsOf(entry)[index]!)
      }),
    forgotBefore: async () => world.forgotBefore,
    hasStrayPending: async () => false,
    close: async () => {},
  })
  const source = sourceOf(world)
  const inserter: Inserter = {
    ...(world.newToken && { newToken: world.newToken }),
    prepare: () =>
      act('prepare', () => {
        if (world.isAway) throw new Error('away')
      }),
    insert: (rows, token) =>
      act('insert', () => {
        world.firstToken ??= token
        const lines = Buffer.concat(rows).toString().trimEnd().split('\n')
        const refusal = world.refuses(lines)
        if (refusal !== undefined) throw refusal
        if (lines.includes('bad')) throw new RefusedRowsError('bad row')
        if (!world.tokens.has(token)) world.stored.push(...lines)
        world.tokens.add(token)
        const loss = world.loses(lines)
        if (loss !== undefined) throw loss
      }),
    // Each row of these tests was received at its second letter.
    receivedAt: (rows) => Number(rows.toString('latin1', 1, 2)) || 9,
    async demandOpen() {
      if (!world.isOpen) throw new Error('closed')
    },
    async absent(rows) {
      const lines = rows.map((row) => row.toString().trimEnd())
      return lines.filter((line) => !world.stored.includes(line)).map((line) => Buffer.from(`${line}\n`))
    },
    close: async () => {},
  }
  const sink = new SinkWorker({
    group: 'g',
    startsReady: true,
    prepareMs: 0,
    source,
    inserter,
    onRefused: (rows, kind) => void world.refusals.push(`${rows} ${kind}`),
    rowsMax: world.rowsMax ?? 100,
    aheadBytesMax: 1e6,
    lingerMs: 0,
    retryDelay: { minMs: 1, maxMs: 1 },
    log: silent,
  })
  sink.start()
  // A sink that repeats itself for ever is seen by what it leaves.
  await until(() => crashed || idle || isOver() || world.log.length > 500)
  // One that crashed is left where it stands: nothing of it runs any more.
  if (!crashed) await sink.stop()
  return crashed
}

function rowsOf({ block }: SinkEntry): string[] {
  const ends = rowEnds(block)
  return Array.from({ length: block.count }, (_, i) => rowAt(block, ends, i).toString())
}

test('a sink writes its intent, inserts, acknowledges, and clears the intent, in this order', async () => {
  const world = new World()
  assert.equal(await runProcess(world), false)
  assert.deepEqual(world.log, [
    'prepare',
    'acquire',
    'intent',
    // Refused as a whole, which is noted before any of its rows goes out alone.
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

for (const behind of [false, true]) {
  test(`killed ${behind ? 'behind' : 'before'} every action in turn: stored once, dead once, acknowledged last`, async () => {
    for (let at = 0; at < ACTIONS; at++) {
      const world = new World()
      assert.equal(await runProcess(world, { at, behind }), true, `there is an action ${at}`)
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

test('an insert that was cut off is repeated under the same token with the same rows', async () => {
  const world = new World()
  world.undelivered[0] = { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b')] }
  await runProcess(world, { at: 3, behind: true })
  assert.equal(world.log.at(-1), 'insert')
  world.undelivered.push({ partition: 0, lane: 'live', entries: [entryOf('9-0', 'late')] })
  await runProcess(world)
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd', 'late'])
  assert.equal(world.tokens.size, 2, 'one for the repeated rows, one for the late one')
  assert.ok(world.tokens.has(world.firstToken!))
})

test('what was refused as a whole is not sent as a whole again, should it be taken by then', async () => {
  for (const behind of [false, true]) {
    for (let at = 0; ; at++) {
      const world = oddWorld([])
      world.refuses = (lines) => (lines.length === 200 ? new RefusedRowsError('a view fails') : undefined)
      if (!(await runProcess(world, { at, behind }))) break
      world.refuses = () => undefined
      await runProcess(world)
      assert.deepEqual([world.stored.length, new Set(world.stored).size], [200, 200], `at ${at}`)
    }
  }
})

test('deliveries that a store lost do not make an insert of them, and of others, look done', async () => {
  const world = new World()
  world.undelivered[0] = { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b')] }
  await runProcess(world, { at: 2, behind: true })
  assert.deepEqual([world.log.at(-1), world.stored], ['intent', []])
  world.undelivered.push(...world.pending.splice(1))
  await runProcess(world)
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
  assert.deepEqual([world.pending, world.intent], [[], undefined])
})

test('a destination that has tokens of its own is given them, in repeats and parts too', async () => {
  const world = new World()
  let made = 0
  world.newToken = () => `made${++made}`
  await runProcess(world, { at: 4, behind: true })
  await runProcess(world)
  assert.deepEqual(world.dead, ['bad'])
  assert.equal(made, 1)
  assert.ok(world.tokens.size > 1)
  for (const token of world.tokens) assert.match(token, /^made1\./)
})

test('an intent of sinks that divided the streams otherwise is finished first, killed at any action: stored once', async () => {
  for (let at = 0; at < 10; at++) {
    const world = new World()
    await runProcess(world, { at: 3, behind: true })
    world.other.intent = world.intent
    world.intent = undefined
    await runProcess(world, { at, behind: at % 2 === 0 })
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

test('what another sink is to have is given back with nothing in hand, and waited for anew', async () => {
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

test('while a full insert is under way the next rows are read, and their intent waits until that of before is cleared', async () => {
  const world = busyWorld(3)
  await runProcess(world)
  assert.deepEqual(world.log, [
    ...['prepare', 'acquire', 'read', 'intent', 'read', 'insert', 'acknowledge 0', 'clear'],
    ...['intent', 'read', 'insert', 'acknowledge 1', 'clear'],
    ...['intent', 'insert', 'acknowledge 0', 'clear'],
  ])
  assertStoredOnce(world, 3)
})

test('killed at any action, or refused for a while, with rows in hand that were read ahead: stored once', async () => {
  for (const behind of [false, true]) {
    for (let at = 0; ; at++) {
      const world = busyWorld(3)
      if (!(await runProcess(world, { at, behind }))) break
      await runProcess(world)
      assertStoredOnce(world, 3, `at ${at}: ${world.log.join(', ')}`)
    }
  }
  for (let refused = 0; refused < 3; refused++) {
    const world = busyWorld(3)
    let tries = 0
    world.refuses = () => (tries++ === refused ? new Error('away') : undefined)
    await runProcess(world)
    assertStoredOnce(world, 3, `refused at ${refused}: ${world.log.join(', ')}`)
  }
})

test('however many rows wait, nothing is in hand now and then: another sink gets its share, and lost replies are found', async () => {
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

test('a share whose destination is away from here is given back, and the one sink keeps its lease', async () => {
  for (const isShared of [true, false]) {
    const world = new World()
    Object.assign(world, { isShared, isAway: true })
    await runProcess(world, undefined, () => {
      if (world.log.length >= 4) world.isAway = false
      return false
    })
    const released = world.log.filter((action) => action === 'release').length
    assert.equal(released > 0, isShared)
    assert.equal(world.log.indexOf('release'), isShared ? 1 : -1)
    assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
  }
})

const unclear = (lines: readonly string[]) =>
  lines.some((line) => line.startsWith('odd')) ? new UnclearRefusalError('no: odd', { kind: 'ODD (469)' }) : undefined

/** 200 rows, of which some are refused for no clear reason. */
function oddWorld(odd: readonly number[]): World {
  const world = new World()
  const rows = Array.from({ length: 200 }, (_, i) => (odd.includes(i) ? `odd${i}` : `e${i}`))
  world.undelivered.splice(0, 2, { partition: 0, lane: 'live', entries: [entryOf('1-0', ...rows)] })
  world.refuses = unclear
  return world
}

test("a refusal that may be the destination's is tried again, then the rows at fault are given up and others stored", async () => {
  const world = oddWorld([3, 150])
  await runProcess(world)
  assert.deepEqual(world.dead, ['odd3', 'odd150'])
  assert.equal(world.stored.length, 198)
  assert.equal(new Set(world.stored).size, 198)
  const [last, ...before] = [...world.refusals].reverse()
  assert.equal(last, '2 ODD (469)')
  assert.ok(before.length >= 6 && before.every((refusal) => refusal === '0 ODD (469)'), String(before))
})

test('a row that is refused once, behind a division, is no dead letter: it has to be refused again', async () => {
  for (const other of ['ODD (469)', 'ELSE (1)']) {
    const world = oddWorld([3])
    let passing = 0
    world.refuses = (lines) => {
      if (lines.length === 1 && lines[0] === 'e7' && passing++ === 0)
        return new UnclearRefusalError('no', { kind: other })
      return unclear(lines)
    }
    await runProcess(world)
    assert.equal(passing, 2)
    assert.deepEqual(world.dead, ['odd3'])
    assert.equal(new Set(world.stored).size, 199)
    assert.equal(world.stored.length, 199)
  }
})

test('a row that is refused for another reason each time is not given up', async () => {
  const world = oddWorld([3])
  let alone = 0
  world.refuses = (lines) => {
    if (lines.length === 1 && lines[0] === 'odd3') return new UnclearRefusalError('no', { kind: `${alone++}` })
    return unclear(lines)
  }
  await runProcess(world, undefined, () => alone > 9)
  assert.deepEqual(world.dead, [])
})

/** The whole is stored, its answer is lost, and it is refused from then on for a while. */
function lostWorld(refusalsMax: number): World {
  const world = oddWorld([])
  let isLost = false
  let refusals = 0
  world.loses = () => {
    if (isLost) return undefined
    isLost = true
    return new Error('cut')
  }
  world.refuses = () => {
    if (!isLost || ++refusals > refusalsMax) return undefined
    return new UnclearRefusalError('no', { kind: 'ODD (469)' })
  }
  return world
}

test('what was stored as a whole, without an answer, is not stored again in parts', async () => {
  for (const refusalsMax of [5, 6, 9]) {
    const world = lostWorld(refusalsMax)
    await runProcess(world)
    assert.equal(world.stored.length, 200, `${refusalsMax} refusals`)
    assert.deepEqual(world.dead, [])
  }
  for (let at = 4; ; at++) {
    const killed = lostWorld(9)
    if (!(await runProcess(killed, { at, behind: true }))) break
    await runProcess(killed)
    assert.equal(killed.stored.length, 200, `killed at ${at}`)
  }
})

test('that rows may be stored is written down before the first part of them is sent', async () => {
  const world = oddWorld([3])
  const { refuses } = world
  const flags: unknown[] = []
  world.refuses = (lines) => {
    if (lines.length < 200) flags.push(world.intent?.mayBeStored)
    return refuses(lines)
  }
  await runProcess(world)
  assert.ok(flags.length > 0)
  assert.deepEqual(new Set(flags), new Set([true]))
})

test('a destination that is closed, or away, never has rows given up', async () => {
  for (const fault of ['closed', 'away', 'closed later'] as const) {
    const world = oddWorld([3])
    let tries = 0
    if (fault === 'away') world.refuses = () => new Error('memory limit')
    else world.isOpen = fault !== 'closed'
    const count = world.refuses
    world.refuses = (lines) => {
      if (lines.length === 1 && fault === 'closed later') world.isOpen = false
      tries++
      return count(lines)
    }
    await runProcess(world, undefined, () => tries > 6)
    assert.deepEqual(world.dead, [], fault)
    assert.equal(world.pending.length, 1, fault)
  }
})

test('rows are not given up soon while none of their insert is taken', async () => {
  const world = oddWorld(Array.from({ length: 200 }, (_, i) => i))
  await runProcess(world, undefined, () => world.refusals.length > 6)
  assert.deepEqual(world.dead, [])
})

test('killed at any action while rows are tried apart, and the destination takes them from then on: stored once', async () => {
  const actions = new World()
  for (let at = 8; at < 60; at += 3) {
    const world = oddWorld([3, 150])
    if (!(await runProcess(world, { at, behind: true }))) break
    actions.log.push('killed')
    world.refuses = () => undefined
    await runProcess(world)
    assert.equal(world.stored.length + world.dead.length, 200, `at ${at}`)
    assert.equal(new Set([...world.stored, ...world.dead]).size, 200, `at ${at}`)
  }
  assert.ok(actions.log.length > 5)
})

test('of events from before the store forgot, rows that are stored are not stored again', async () => {
  for (const behind of [false, true]) {
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
      await runProcess(world, { at, behind })
      await runProcess(world)
      assert.deepEqual([...world.stored].sort(), ['a1', 'b1', 'c2', 'd7'], `at ${at}`)
      assert.deepEqual([world.pending, world.intent], [[], undefined], `at ${at}`)
    }
  }
})

test('rows that were lost although their token is known are stored all the same', async () => {
  const world = new World()
  world.undelivered[0] = { partition: 0, lane: 'live', entries: [entryOf('1-0', 'a', 'b')] }
  await runProcess(world, { at: 3, behind: true })
  assert.equal(world.tokens.size, 1)
  world.stored.length = 0
  await runProcess(world)
  assert.deepEqual([...world.stored].sort(), ['a', 'b', 'c', 'd'])
})

test('rows that are absent behind a repeat are inserted under a token that was not used before', async () => {
  const tokens: string[] = []
  const inserter: Inserter = {
    prepare: async () => {},
    insert: async (_rows, token) => void tokens.push(token),
    absent: async (rows) => (tokens.length < 4 ? rows.slice(1) : []),
    close: async () => {},
  }
  const doubt = new Doubt(inserter, async () => {}, 0)
  assert.deepEqual(await repeatInsert(inserter, [entryOf('1-0', 'a', 'b')], 'first', doubt), [])
  assert.equal(tokens[0], 'first')
  assert.equal(new Set(tokens).size, 4, String(tokens))
})
