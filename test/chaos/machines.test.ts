import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Releases } from '../../bench/run/releases.ts'
import { Random } from '../../src/run/random.ts'
import type { ClientRow } from './run/client-view.ts'
import { runPhase } from './run/phase.ts'

const SEED = 11
/** Starts of processes are most of the work. */
const RATE = 5
/** A connection may end in the moment in which a request is sent. */
const ALLOWED = ['200', '202', '429', '500', '503', 'too many jobs', 'refused', 'reset', 'no answer']
const KINDS = ['rolling restart of everything', 'master killed, its replica takes over', 'shard lost for a while']

test('several machines lose and double nothing in a rolling restart, without a master, or a shard', async (t) => {
  const releases = new Releases()
  t.after(() => releases.releaseAll())
  const { faults, clients, verdict } = await runPhase(
    'machines',
    { seconds: 0, kinds: KINDS, rate: RATE, random: new Random(SEED), say: (text) => t.diagnostic(text) },
    releases,
  )
  for (const row of clients) t.diagnostic(JSON.stringify(row))
  const { stored, ...rest } = verdict
  assert.deepEqual(rest, { lost: 0, doubled: 0, wrong: 0, examples: [] })
  assert.ok(stored > 0)
  const answers = (row: ClientRow) => Object.keys(row.answers)
  const odd = clients.flatMap(answers).filter((name) => !ALLOWED.includes(name))
  assert.deepEqual(odd, [])
  // The next ingress takes what one refuses, and nothing else in a rolling restart fails a request but a Redis without its replica.
  const others = clients.filter(({ fault }) => fault.startsWith(`${KINDS[0]}:`) && !fault.endsWith('Redis'))
  assert.equal(others.length, 3)
  for (const { fault, answers: counts } of others) {
    const all = Object.entries(counts)
    const of = (found: typeof all) => found.reduce((total, [, count]) => total + count, 0)
    // On a busy machine a replica may be late.
    assert.ok(of(all.filter(([name]) => /^5/.test(name))) <= of(all) / 100, `${fault}: ${JSON.stringify(counts)}`)
  }
  assert.deepEqual(
    faults.map(({ kind }) => kind),
    KINDS,
  )
})
