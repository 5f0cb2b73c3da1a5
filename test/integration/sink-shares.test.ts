import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import { SinkShares } from '../../src/pipeline/streams/sink-shares.ts'
import { SinkStreams } from '../../src/pipeline/streams/sink-streams.ts'
import { LeaseLostError } from '../../src/run/errors.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { silent } from '../support/pipeline.ts'
import { GROUP, holdings, PARTITIONS, startSharedStreams } from '../support/sink-shares.ts'
import { until } from '../support/until.ts'

test('who lost a share writes nothing more, also when nobody has taken it, and gets it again by asking anew', async (t) => {
  const { client } = await startSharedStreams(t)
  const options = { client, group: GROUP, shares: 2, log: silent }
  const [mine, others] = [new SinkShares(options), new SinkShares(options)]
  const [share, other] = [mine.share(0), others.share(1)]
  await Promise.all(acquire(mine, [0]))
  const note = keys.sinkIntent(GROUP, 0)
  await share.write(note, 'mine')
  assert.throws(() => other.assertHeld(), LeaseLostError)
  await assert.rejects(other.write(note, 'another'), LeaseLostError)

  await client.del(keys.lease(GROUP, 0))
  await assert.rejects(share.write(note, 'late'), LeaseLostError)
  const isLost = () => {
    try {
      share.assertHeld()
      return false
    } catch {
      return true
    }
  }
  const isTaken = async () => (await client.exists(keys.lease(GROUP, 0))) === 1
  await until(
    async () => isLost() || (await isTaken()),
    (isOver) => isOver,
  )
  assert.equal(await isTaken(), false, 'it is not taken again')
  await Promise.all(acquire(mine, [0]))
  const now = performance.now.bind(performance)
  t.mock.method(performance, 'now', () => now() + 3_000)
  assert.ok(isLost(), 'nobody has renewed it')
  await assert.rejects(share.write(note, 'late'), LeaseLostError)
  t.mock.restoreAll()
  assert.equal(await client.get(note), 'mine')
  await share.release()
  assert.deepEqual(await client.keys('{lease:*r'), [keys.lease(GROUP)], 'neither an owner nor a roster')
})

test('who is started in the place of a process that has ended takes its shares at once', async (t) => {
  const { client } = await startSharedStreams(t)
  const options = { client, group: GROUP, shares: 2, place: 'main/worker', log: silent }
  const [ended, next] = [new SinkShares(options), new SinkShares(options)]
  await Promise.all(acquire(ended, [0, 1]))
  // The one before renews all the time here: waiting for the end of its leases would never end.
  await Promise.all(acquire(next, [0, 1]))
  await assert.rejects(ended.share(0).write(keys.sinkIntent(GROUP, 0), 'late'), LeaseLostError)
  for (const shares of [ended, next]) for (const n of [0, 1]) await shares.share(n).release()
})

/** Acquires some shares at once; puts their number in force when nothing of another is unfinished. */
function acquire(shares: SinkShares, numbers: readonly number[], signal = new AbortController().signal) {
  return numbers.map((number) => {
    const share = shares.share(number)
    return share.acquire(signal, () => share.layout.adopt(async () => assert.fail('there is no intent')))
  })
}

test('nobody takes more than its fair part, and who has more is told, one share at a time', async (t) => {
  const { client } = await startSharedStreams(t)
  const options = { client, group: GROUP, shares: 3, log: silent }
  const placed = (place: string) => new SinkShares({ ...options, place })
  const [first, second, third] = [placed('a'), placed('b'), placed('c')]
  const stopping = new AbortController()
  await Promise.all(acquire(first, [0]))
  const [one, other] = acquire(second, [1, 2], stopping.signal)
  assert.equal(await one, true)
  assert.deepEqual(await holdings(client, 3), [1, 1], 'the third is for the first process')
  await Promise.all(acquire(first, [2]))
  assert.deepEqual(await holdings(client, 3), [2, 1])
  assert.deepEqual([first.held, second.held], [2, 1])
  stopping.abort()
  assert.equal(await other, false)

  const waiting = new AbortController()
  const waits = acquire(third, [0, 1, 2], waiting.signal)
  await until(
    () => client.zcard(keys.sinkRoster(GROUP)),
    (processes) => processes === 3,
  )
  await Promise.all(acquire(first, [0, 2]))
  assert.deepEqual(
    [first.share(0).givesBack(), first.share(2).givesBack(), second.share(1).givesBack()],
    [true, false, false],
  )
  await first.share(0).release()
  assert.equal(await waits[0], true)
  waiting.abort()
  await Promise.all(waits)
  for (const shares of [first, second, third]) for (const n of [0, 1, 2]) await shares.share(n).release()
})

test('another number of shares is in force when nobody works and no intent is open, and knows of lost memory what any of them knew', async (t) => {
  const { client } = await startSharedStreams(t)
  const told: unknown[] = []
  const log = pino({ level: 'info' }, { write: (line) => void told.push(JSON.parse(line).before) })
  const two = new SinkShares({ client, group: GROUP, shares: 2, log: silent })
  const three = new SinkShares({ client, group: GROUP, shares: 3, log })
  const finished: unknown[] = []
  const adopt = () =>
    three.share(0).layout.adopt(async (shares, share) => {
      finished.push(shares, share)
      await client.del(keys.sinkIntent(GROUP, share))
    })
  await client.set(keys.lease(GROUP), 'the one sink')
  await adopt()
  await adopt()
  assert.equal(await client.get(keys.lease(GROUP)), 'the one sink')
  await client.del(keys.lease(GROUP))
  await Promise.all(acquire(two, [1]))

  const refusal = new AbortController()
  const refused = three.share(0).acquire(refusal.signal, async () => refusal.abort())
  assert.equal(await refused, false)
  await adopt()
  await adopt()
  assert.deepEqual(told, [1, 2], 'each once')
  await client.set(keys.sinkIntent(GROUP, 1), '{}')
  await two.share(1).release()
  const notes = [
    { ids: 'a', sinceMs: 7 },
    { ids: 'b', sinceMs: 5 },
  ]
  for (const [n, note] of notes.entries()) await client.set(keys.sinkLives(GROUP, n), JSON.stringify(note))
  await adopt()
  assert.deepEqual(finished, [2, 1])
  assert.equal(await client.get(keys.lease(GROUP)), 'shares 2')
  await adopt()
  assert.equal(await client.get(keys.lease(GROUP)), 'shares 3')
  for (const n of [0, 1, 2]) {
    assert.deepEqual(JSON.parse((await client.get(keys.sinkLives(GROUP, n)))!), { ids: '', sinceMs: 7 })
  }
  await three.share(0).release()
})

test('a share reads its own partitions, new entries and pending ones', async (t) => {
  const { client, send } = await startSharedStreams(t)
  await send()
  const share = new SinkShares({ client, group: GROUP, shares: 3, log: silent }).share(0)
  const place = { client, blocking: client, partitions: PARTITIONS, group: GROUP, from: 'enriched', share, log: silent }
  const use = { cluster: false, completesJobs: false, outcomesTo: undefined, ensureGroups: async () => {} }
  const source = new SinkStreams({ ...place, ...use })
  assert.equal(await source.acquire(new AbortController().signal, async () => {}), true)
  assert.equal(await source.hasStrayPending(), false)
  assert.deepEqual(
    (await source.readNew(100, 0)).map(({ partition }) => partition),
    [0, 3],
  )
  await client.call('XREADGROUP', 'GROUP', GROUP, 'sink', 'STREAMS', keys.stream(1, 'enriched', 'live'), '>')
  assert.deepEqual(
    (await source.readPending(100)).map(({ partition }) => partition),
    [0, 3],
  )
  await source.release()
})
