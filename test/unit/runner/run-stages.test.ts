import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTHING_KNOWN } from '../../../src/enrichment/answers/answer.ts'
import type { SeenStore, Stage, StageTools } from '../../../src/pipeline/declaration/stage.ts'
import { identityAt, packBlock, rowAt, rowEnds } from '../../../src/pipeline/event/block.ts'
import { EnvelopeState, identityOf, NO_IDENTITY } from '../../../src/pipeline/event/envelope.ts'
import { outcomesOf, type Settlement } from '../../../src/pipeline/runner/ports.ts'
import { giveUp, isolate, runStages, splitByIdentity } from '../../../src/pipeline/runner/step-worker.ts'
import { dedup } from '../../../src/pipeline/stages/dedup.ts'
import { enrich } from '../../../src/pipeline/stages/enrich.ts'
import { filterNoise } from '../../../src/pipeline/stages/filter-noise.ts'
import { UnavailableError } from '../../../src/run/errors.ts'

const delivery = { partition: 0, lane: 'live' as const, id: '1-0', claimId: Buffer.alloc(8), repeated: false }
const again = { ...delivery, repeated: true }

/** @param held ids that an earlier delivery claimed */
function toolsOf(claim: SeenStore['claim'] = async () => [], held: readonly string[] = []): StageTools {
  const enricher = {
    enrich(): never {
      throw new Error('not asked here')
    },
  }
  const seen: SeenStore = {
    claim,
    async held(identities) {
      const ours = held.map((id) => identityOf('t', id))
      const all = Array.from({ length: identities.length / 16 }, (_, i) => i)
      return all.filter((i) => ours.includes(identities.toString('latin1', i * 16, i * 16 + 16)))
    },
  }
  return { enricher, hostnames: undefined, seen }
}

/** Rows that start with `noise` are noise; text after a colon is not part of the event's id. */
function blockOf(...rows: string[]) {
  return packBlock(
    rows.map((row) => ({
      identity: identityOf('t', row.replace(/^noise /, '').split(':')[0]!),
      state: row.startsWith('noise') ? EnvelopeState.Noise : EnvelopeState.Enriched,
      row,
    })),
  )
}

function rowsOf(block: ReturnType<typeof packBlock> | undefined): string[] {
  if (block === undefined) return []
  const ends = rowEnds(block)
  return Array.from({ length: block.count }, (_, i) => rowAt(block, ends, i).toString())
}

const summary = (settlement: Settlement) => Object.fromEntries(outcomesOf(settlement))
const idsOf = (...ids: string[]) => ids.map((id) => identityOf('t', id))

/** Drops rows that start with a word. */
function dropping(word: string): Stage {
  return {
    name: `drop-${word}`,
    drops: ['unwanted'],
    decide(block) {
      const rows = rowsOf(block).map((row, i) => [i, row] as const)
      const dropped = rows.filter(([, row]) => row.startsWith(word))
      return { outcomes: new Map(dropped.map(([i]) => [i, { kind: 'drop', reason: 'unwanted' }])) }
    },
  }
}

test('repeats in a block and repeats of other blocks are dropped, the first one is kept', async () => {
  const claims: number[] = []
  const tools = toolsOf(async (identities) => {
    claims.push(identities.length / 16)
    return [1]
  })
  const block = blockOf('a', 'a', 'seen', 'noise n', 'b', 'b')
  const settlement = await runStages([filterNoise, dedup], block, delivery, tools)
  assert.deepEqual(claims, [3], 'noise is not claimed')
  assert.deepEqual(rowsOf(settlement.output), ['a', 'b'])
  assert.deepEqual(summary(settlement), { duplicates: 3, filtered: 1, kept: 2 })
  assert.deepEqual(settlement.stages, [
    { stage: filterNoise.name, in: 6, out: 5, dropped: new Map([['filtered', 1]]) },
    { stage: dedup.name, in: 5, out: 2, dropped: new Map([['duplicates', 3]]) },
  ])
  assert.deepEqual(settlement.unclaimed, [])
})

test('events with an unpublished made id are no repeats of each other, and are not claimed', async () => {
  const made = ['a', 'b'].map((row) => ({ identity: NO_IDENTITY, state: EnvelopeState.Enriched, row }))
  const tools = toolsOf(() => Promise.reject(new Error('nothing is claimed')))
  const settlement = await runStages([filterNoise, dedup], packBlock(made), delivery, tools)
  assert.deepEqual(rowsOf(settlement.output), ['a', 'b'])
})

test('an event enriched for an answer is not judged again', async () => {
  // With the data of today both are noise.
  const enricher = { enrich: () => ({ ...NOTHING_KNOWN, noise: true }) }
  const block = packBlock([
    { identity: identityOf('t', 'a'), state: EnvelopeState.Enriched, row: '192.0.2.1\ta' },
    { identity: identityOf('t', 'b'), state: EnvelopeState.Raw, row: '192.0.2.2\tb' },
  ])
  const settlement = await runStages([enrich, filterNoise], block, delivery, { ...toolsOf(), enricher })
  assert.deepEqual(rowsOf(settlement.output), ['192.0.2.1\ta'])
  assert.deepEqual(summary(settlement), { filtered: 1, kept: 1 })
})

test('a repeat of a filtered event is no duplicate', async () => {
  const settlement = await runStages([filterNoise, dedup], blockOf('noise a', 'a'), delivery, toolsOf())
  assert.deepEqual(rowsOf(settlement.output), ['a'])
  assert.deepEqual(summary(settlement), { filtered: 1, kept: 1 })
})

test('a repeated delivery names its dropped ids, except those with a kept twin', async () => {
  const block = blockOf('noise a', 'b', 'noise b', 'noise c')
  const first = await runStages([filterNoise, dedup], block, delivery, toolsOf())
  assert.deepEqual(first.unclaimed, [], 'nothing can be claimed yet')
  const second = await runStages([filterNoise, dedup], block, again, toolsOf())
  assert.deepEqual(second.unclaimed, idsOf('a', 'c'))
  const empty = await runStages([filterNoise, dedup], blockOf('noise a'), again, toolsOf())
  assert.deepEqual([empty.output, empty.unclaimed], [undefined, idsOf('a')])
})

test('an event claimed by an earlier delivery is kept, whatever the stages decide now', async () => {
  const tools = toolsOf(async () => [], ['a', 'un1'])
  const stages = [filterNoise, dropping('un'), dedup]
  const settlement = await runStages(stages, blockOf('noise a', 'un1', 'un2', 'noise n'), again, tools)
  assert.deepEqual(rowsOf(settlement.output), ['noise a', 'un1'])
  assert.deepEqual(summary(settlement), { filtered: 1, unwanted: 1, kept: 2 })
  assert.deepEqual(settlement.unclaimed, idsOf('n', 'un2'))
})

test('source noise has no row to keep: the claim belongs to its twin', async () => {
  const twin = { identity: identityOf('t', 'a'), state: EnvelopeState.Enriched, row: 'a' }
  const block = packBlock([{ ...twin, state: EnvelopeState.Noise, row: '' }, twin])
  const settlement = await runStages(
    [filterNoise, dedup],
    block,
    again,
    toolsOf(async () => [], ['a']),
  )
  assert.deepEqual(rowsOf(settlement.output), ['a'])
  assert.deepEqual(summary(settlement), { filtered: 1, kept: 1 })
})

test('a stage that drops for an undeclared reason loses nothing', async () => {
  const { drops: _, ...silent } = dropping('un')
  const settlement = await runStages([silent], blockOf('un1', 'good'), delivery, toolsOf())
  assert.deepEqual(rowsOf(settlement.output), ['good'])
  assert.match(settlement.dead[0]!.reason, /drop-un drops for "unwanted", which it does not declare/)
  assert.deepEqual(
    [...settlement.outcomes.keys()].map((key) => key.split('\t').slice(3, 5)),
    [['dead', 'drop-un']],
  )
})

test('of dead letters of one identity one keeps the claim id, none when an event of it is kept', async () => {
  const picky: Stage = {
    name: 'picky',
    decide(block) {
      if (rowsOf(block).some((row) => row.endsWith('bad'))) throw new Error('cannot read it')
      return {}
    },
  }
  const block = blockOf('a:bad', 'a:good', 'b:1 bad', 'b:2 bad')
  const { dead } = await runStages([picky, dedup], block, delivery, toolsOf())
  assert.deepEqual(
    dead.map(({ block: letter, keepsClaim }) => [...rowsOf(letter), keepsClaim]),
    [
      ['a:bad', false],
      ['b:1 bad', true],
      ['b:2 bad', false],
    ],
  )
})

test('one event that a stage cannot process becomes a dead letter, once, and others continue', async () => {
  const picky: Stage = {
    name: 'picky',
    decide(block) {
      if (rowsOf(block).includes('bad')) throw new Error('cannot read it')
      return { counts: { read: block.count } }
    },
  }
  const settlement = await runStages([picky], blockOf('a', 'bad', 'b'), again, toolsOf())
  assert.deepEqual(rowsOf(settlement.output), ['a', 'b'])
  assert.deepEqual(
    settlement.dead.map(({ reason, block }) => [reason, rowsOf(block)]),
    [['picky: cannot read it', ['bad']]],
  )
  assert.deepEqual(summary(settlement), { kept: 2, dead: 1 })
  assert.deepEqual(Object.fromEntries(settlement.counts), { read: 2 })
  assert.deepEqual(settlement.unclaimed, [])
})

test('a temporary failure, or one of a claiming stage, makes no dead letter', async () => {
  const failing = (error: Error, claims: boolean): Stage => ({
    name: 'failing',
    claims,
    async gather() {
      throw error
    },
    decide: () => ({}),
  })
  const run = (stage: Stage) => runStages([stage], blockOf('a'), delivery, toolsOf())
  await assert.rejects(run(failing(new UnavailableError('not now'), false)), UnavailableError)
  await assert.rejects(run(failing(new Error('asked one by one it would claim twice'), true)), /one by one/)
})

test('a block that does not end is split, and events of one identity stay together', () => {
  const parts = splitByIdentity(blockOf('a:1', 'b', 'a:2'))
  assert.deepEqual(parts.map(rowsOf), [['a:1', 'a:2'], ['b']])
  assert.equal(identityAt(parts[1]!, 0), identityOf('t', 'b'))
  const settlement = isolate(parts)
  assert.deepEqual([settlement.output, settlement.again], [undefined, parts])
  assert.deepEqual(summary(settlement), { isolated: 3 })
})

test('events that end every process are given up, one dead letter each', () => {
  const settlement = giveUp(blockOf('a:1', 'a:2'), 11)
  assert.deepEqual(
    settlement.dead.map(({ block }) => rowsOf(block)),
    [['a:1'], ['a:2']],
  )
  assert.match(settlement.dead[0]!.reason, /11 deliveries/)
  assert.deepEqual(summary(settlement), { dead: 2 })
})
