import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SinkStreams, sinkMembership } from '../../src/pipeline/streams/sink-streams.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { silent } from '../support/pipeline.ts'
import { GROUP, PARTITIONS, startSharedStreams } from '../support/sink-shares.ts'

test('a share reads its own partitions, new entries and pending ones', async (t) => {
  const { client, send } = await startSharedStreams(t)
  await send()
  const share = sinkMembership({ client, group: GROUP, shares: 3 }).share(0)
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

test('all shares of a sink know which servers lost data, also after their number changed', async (t) => {
  const { client } = await startSharedStreams(t)
  const place = { client, blocking: client, partitions: PARTITIONS, group: GROUP, from: 'enriched', log: silent }
  const use = { cluster: false, completesJobs: false, outcomesTo: undefined, ensureGroups: async () => {} }
  const startedAtMs = Date.now()
  // Another server than the current one.
  await client.set(keys.sinkRunIds(GROUP), JSON.stringify({ ids: 'before', sinceMs: 1 }))
  const times: number[] = []
  for (const shares of [1, 2, 2, 3]) {
    const share = sinkMembership({ client, group: GROUP, shares }).share(shares - 1)
    const source = new SinkStreams({ ...place, ...use, share })
    assert.equal(await source.acquire(new AbortController().signal, async () => {}), true)
    times.push(await source.forgotBefore())
    await source.release()
  }
  assert.ok(times[0]! > startedAtMs)
  assert.deepEqual(times, Array(4).fill(times[0]))
})

test('a share reads the servers named by a note of an earlier version', async (t) => {
  const { client } = await startSharedStreams(t)
  const place = { client, blocking: client, partitions: PARTITIONS, group: GROUP, from: 'enriched', log: silent }
  const use = { cluster: false, completesJobs: false, outcomesTo: undefined, ensureGroups: async () => {} }
  const startedAtMs = Date.now()
  await client.set(keys.sinkRunIds(GROUP, 1), JSON.stringify({ ids: 'before', sinceMs: 1 }))
  const source = new SinkStreams({
    ...place,
    ...use,
    share: sinkMembership({ client, group: GROUP, shares: 2 }).share(1),
  })
  await source.acquire(new AbortController().signal, async () => {})
  assert.ok((await source.forgotBefore()) > startedAtMs)
  await source.release()
})
