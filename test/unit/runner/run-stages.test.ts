import assert from 'node:assert/strict'
import { test } from 'node:test'
import { identityAt, packBlock, rowAt, rowEnds } from '../../../src/core/event/block.ts'
import { EnvelopeState, identityOf } from '../../../src/core/event/envelope.ts'
import type { Stage } from '../../../src/core/pipeline/stage.ts'
import { UnavailableError } from '../../../src/core/run/errors.ts'
import { isolate, runStages } from '../../../src/runner/run-stages.ts'
import { dedup } from '../../../src/stages/dedup.ts'
import { filterNoise } from '../../../src/stages/filter-noise.ts'

const delivery = { partition: 0, owner: Buffer.alloc(8) }

function blockOf(...rows: string[]) {
  return packBlock(
    rows.map((row) => ({
      identity: identityOf('t', row),
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

test('repeats within a block and repeats of other blocks are dropped, the first sight is kept', async () => {
  const claims: number[] = []
  const stage = dedup({
    async claim(identities) {
      claims.push(identities.length / 16)
      return [1]
    },
  })
  const commit = await runStages([stage, filterNoise()], blockOf('a', 'a', 'seen', 'noise', 'b', 'b'), delivery)
  assert.deepEqual(claims, [4])
  assert.deepEqual(rowsOf(commit.output), ['a', 'b'])
  assert.deepEqual(Object.fromEntries(commit.outcomes), { duplicate: 3, noise: 1, kept: 2 })
})

test('one event that a stage cannot process becomes a dead letter and the others go on', async () => {
  const picky: Stage = {
    name: 'picky',
    decide(block) {
      if (rowsOf(block).includes('bad')) throw new Error('cannot read it')
      return {}
    },
  }
  const commit = await runStages([picky], blockOf('a', 'bad', 'b'), delivery)
  assert.deepEqual(rowsOf(commit.output), ['a', 'b'])
  assert.equal(commit.dead.length, 1)
  assert.equal(commit.dead[0]!.reason, 'picky: cannot read it')
  assert.deepEqual(rowsOf(commit.dead[0]!.block), ['bad'])
  assert.equal(commit.outcomes.get('dead'), 1)
})

test('what may pass is not a dead letter', async () => {
  const away: Stage = {
    name: 'away',
    async gather() {
      throw new UnavailableError('not now')
    },
    decide: () => ({}),
  }
  await assert.rejects(runStages([away], blockOf('a'), delivery), UnavailableError)
})

test('a block that does not end is taken apart, its repeats left out', () => {
  const commit = isolate(blockOf('a', 'b', 'a'))
  assert.equal(commit.output, undefined)
  assert.deepEqual(commit.again.map(rowsOf), [['a'], ['b']])
  assert.equal(identityAt(commit.again[1]!, 0), identityOf('t', 'b'))
  assert.equal(commit.outcomes.get('duplicate'), 1)
})
