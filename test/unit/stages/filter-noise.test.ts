import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ROW_COLUMNS } from '../../../schemas/row.ts'
import type { StageTools } from '../../../src/pipeline/declaration/stage.ts'
import { packBlock } from '../../../src/pipeline/event/block.ts'
import { EnvelopeState, NO_IDENTITY, stateOf } from '../../../src/pipeline/event/envelope.ts'
import { filterNoise } from '../../../src/pipeline/stages/filter-noise.ts'

const bot = stateOf({ noise: true, filteredAs: 'bot:googlebot:verified' } as never)
const EVENTS: [state: EnvelopeState, classification: string][] = [
  [EnvelopeState.Noise, 'reserved'],
  [EnvelopeState.Enriched, 'business'],
  [EnvelopeState.Noise, 'isp'],
  [EnvelopeState.Own, 'reserved'],
  [bot, 'bot'],
  [EnvelopeState.Noise, 'reserved'],
  [EnvelopeState.Noise, 'of a later version'],
]

function decide(job: string | undefined) {
  const envelopes = EVENTS.map(([state, classification]) => {
    const row = ROW_COLUMNS.map((column) => (column === 'classification' ? classification : column)).join('\t')
    return { identity: NO_IDENTITY, state, row }
  })
  return filterNoise.decide(packBlock(envelopes, job), undefined, {} as StageTools)
}

test('noise is dropped, and that of a job is counted by a closed list of reasons', () => {
  const { outcomes, counts } = decide('job')
  assert.deepEqual([...outcomes!.keys()], [0, 2, 3, 4, 5, 6])
  assert.deepEqual(outcomes!.get(4), { kind: 'drop', reason: 'filtered', detail: 'bot:googlebot:verified' })
  assert.deepEqual(counts, {
    ...{ 'filtered:reserved': 2, 'filtered:isp': 1, 'filtered:own': 1, 'filtered:bot': 1, 'filtered:other': 1 },
  })
  assert.deepEqual(decide(undefined).counts, {}, 'live events are counted where they arrive')
})
