import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Releases } from '../../bench/run/releases.ts'
import { runChaos } from './run/main.ts'
import { PHASES } from './run/phase.ts'

const SEED = 11
/** Enough for a few faults of each phase; `npm run chaos` takes ten. */
const MINUTES = 0.35
/** `test/extended/redis-sentinel.test.ts` and `machines.test.ts` have faults of the others. */
const RUN_PHASES = PHASES.filter((phase) => phase !== 'sentinel' && phase !== 'machines')
/** On a busy machine. */
const FAULTS_LEAST = 4

test('faults under load lose nothing, double nothing and leave nothing', async (t) => {
  const releases = new Releases()
  t.after(() => releases.releaseAll())
  const {
    faults,
    clients: _,
    stored,
    examples,
    ...counts
  } = await runChaos({ minutes: MINUTES, seed: SEED, phases: RUN_PHASES }, (text) => t.diagnostic(text), releases)
  assert.deepEqual({ ...counts, examples }, { seed: SEED, lost: 0, doubled: 0, wrong: 0, examples: [] })
  assert.ok(stored > 0)
  assert.ok(faults.length >= FAULTS_LEAST, `${faults.length} faults`)
  assert.deepEqual([...new Set(faults.map(({ phase }) => phase))], RUN_PHASES)
  const silent = faults.filter(({ goodAgainMs }) => goodAgainMs === undefined)
  assert.deepEqual(silent, [])
})
