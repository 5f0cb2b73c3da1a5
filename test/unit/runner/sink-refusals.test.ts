import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RefusedRowsError, UnclearRefusalError } from '../../../src/pipeline/declaration/destination.ts'
import { entryOf, runProcess, World } from '../../support/sink-world.ts'

const unclear = (lines: readonly string[]) =>
  lines.some((line) => line.startsWith('odd')) ? new UnclearRefusalError('no: odd', { kind: 'ODD (469)' }) : undefined

/** 200 rows, some of which are refused for no clear reason. */
function oddWorld(odd: readonly number[]): World {
  const world = new World()
  const rows = Array.from({ length: 200 }, (_, i) => (odd.includes(i) ? `odd${i}` : `e${i}`))
  world.undelivered.splice(0, 2, { partition: 0, lane: 'live', entries: [entryOf('1-0', ...rows)] })
  world.refuses = unclear
  return world
}

test('an unclear refusal is retried, then the bad rows are given up and the others stored', async () => {
  const world = oddWorld([3, 150])
  await runProcess(world)
  assert.deepEqual(world.dead, ['odd3', 'odd150'])
  assert.equal(world.stored.length, 198)
  assert.equal(new Set(world.stored).size, 198)
  const [last, ...before] = [...world.refusals].reverse()
  assert.equal(last, '2 ODD (469)')
  assert.ok(before.length >= 6 && before.every((refusal) => refusal === '0 ODD (469)'), String(before))
})

test('a row refused once after a split is no dead letter: it must be refused again', async () => {
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

test('a row refused for another reason each time is not given up', async () => {
  const world = oddWorld([3])
  let alone = 0
  world.refuses = (lines) => {
    if (lines.length === 1 && lines[0] === 'odd3') return new UnclearRefusalError('no', { kind: `${alone++}` })
    return unclear(lines)
  }
  await runProcess(world, undefined, () => alone > 9)
  assert.deepEqual(world.dead, [])
})

test('rows refused as a whole are not sent as a whole again, even if they would be accepted', async () => {
  for (const after of [false, true]) {
    for (let at = 0; ; at++) {
      const world = oddWorld([])
      world.refuses = (lines) => (lines.length === 200 ? new RefusedRowsError('a view fails') : undefined)
      if (!(await runProcess(world, { at, after }))) break
      world.refuses = () => undefined
      await runProcess(world)
      assert.deepEqual([world.stored.length, new Set(world.stored).size], [200, 200], `at ${at}`)
    }
  }
})

/** The whole insert is stored, its answer is lost, and it is refused from then on for a while. */
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

test('an insert stored as a whole without an answer is not stored again in parts', async () => {
  for (const refusalsMax of [5, 6, 9]) {
    const world = lostWorld(refusalsMax)
    await runProcess(world)
    assert.equal(world.stored.length, 200, `${refusalsMax} refusals`)
    assert.deepEqual(world.dead, [])
  }
  for (let at = 4; ; at++) {
    const killed = lostWorld(9)
    if (!(await runProcess(killed, { at, after: true }))) break
    await runProcess(killed)
    assert.equal(killed.stored.length, 200, `killed at ${at}`)
  }
})

test('the note that rows may be stored is written before the first part is sent', async () => {
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

test('a destination that is closed or down never has rows given up', async () => {
  for (const fault of ['closed', 'down', 'closed later'] as const) {
    const world = oddWorld([3])
    let tries = 0
    if (fault === 'down') world.refuses = () => new Error('memory limit')
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

test('rows are not given up early while none of their insert is accepted', async () => {
  const world = oddWorld(Array.from({ length: 200 }, (_, i) => i))
  await runProcess(world, undefined, () => world.refusals.length > 6)
  assert.deepEqual(world.dead, [])
})

test('killed at any action of a split that then succeeds: every row is stored once', async () => {
  const actions = new World()
  for (let at = 8; at < 60; at += 3) {
    const world = oddWorld([3, 150])
    if (!(await runProcess(world, { at, after: true }))) break
    actions.log.push('killed')
    world.refuses = () => undefined
    await runProcess(world)
    assert.equal(world.stored.length + world.dead.length, 200, `at ${at}`)
    assert.equal(new Set([...world.stored, ...world.dead]).size, 200, `at ${at}`)
  }
  assert.ok(actions.log.length > 5)
})
