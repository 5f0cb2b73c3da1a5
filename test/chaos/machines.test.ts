import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Releases } from '../../bench/run/releases.ts'
import { Random } from '../../src/run/random.ts'
import { runPhase } from './run/phase.ts'

const SEED = 11
const KINDS = ['rolling restart of everything', 'master killed, its replica takes over', 'shard lost for a while']

test('several machines lose and double nothing in a rolling restart, without a master, or a shard', async (t) => {
  const releases = new Releases()
  t.after(() => releases.releaseAll())
  const { faults, clients, verdict } = await runPhase(
    'machines',
    { seconds: 0, kinds: KINDS, random: new Random(SEED), say: (text) => t.diagnostic(text) },
    releases,
  )
  for (const row of clients) t.diagnostic(JSON.stringify(row))
  const { stored, ...rest } = verdict
  assert.deepEqual(rest, { lost: 0, doubled: 0, wrong: 0, examples: [] })
  assert.ok(stored > 0)
  assert.deepEqual(
    faults.map(({ kind }) => kind),
    KINDS,
  )
})
