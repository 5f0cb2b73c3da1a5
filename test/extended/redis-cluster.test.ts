import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { type Cluster, Redis } from 'ioredis'
import { ingest } from '../../pipelines/ingest.ts'
import type { LetterCopy } from '../../schemas/backup.ts'
import type { DeletionReceipt, ErasureReceipt } from '../../schemas/erasure.ts'
import { NOTHING_KNOWN } from '../../src/enrichment/answers/answer.ts'
import { RedisRecordSource } from '../../src/operations/backup/redis/record-source.ts'
import { RedisRecordTarget } from '../../src/operations/backup/redis/record-target.ts'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { packBlock } from '../../src/pipeline/event/block.ts'
import { partitionOf } from '../../src/pipeline/event/envelope.ts'
import { acceptEvents } from '../../src/pipeline/sources/live/keep.ts'
import { deadLetterFields } from '../../src/pipeline/streams/dead-letter.ts'
import { claimIdOf, type RawEntry, readEntry } from '../../src/pipeline/streams/entries.ts'
import { findClaim, seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { agreeOnPartitions, createGroups } from '../../src/pipeline/streams/topology.ts'
import { systemClock } from '../../src/run/clock.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'
import { connectRedis, type RedisClient } from '../../src/stores/redis/connect.ts'
import { persisted } from '../../src/stores/redis/durability/persisted.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { sharedLimits } from '../../src/tenants/limits/limits.ts'
import { RedisTokenCounters } from '../../src/tenants/limits/redis/token-counters.ts'
import type { Caller } from '../../src/tenants/tenancy.ts'
import { clusterUrl, startCluster as startNodes } from '../chaos/run/cluster.ts'
import { readArchive } from '../support/archive.ts'
import { runCommand } from '../support/command.ts'
import { acme } from '../support/http.ts'
import { startInstance } from '../support/instance.ts'
import { envelope, quiet, startIntake } from '../support/pipeline.ts'
import { readEvents } from '../support/read-events.ts'
import { startCluster, startSecretCluster } from '../support/redis-cluster.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

const PARTITIONS = 4
const WINDOW_MS = ingest.limits.dedupWindowMs

/** Rows in the intake of all partitions. */
async function rowsOf(client: RedisClient, stream: string, partitions = PARTITIONS): Promise<string[]> {
  const rows: string[] = []
  for (let partition = 0; partition < partitions; partition++) {
    const raw = (await client.callBuffer('XRANGE', keys.stream(partition, stream, 'live'), '-', '+')) as RawEntry[]
    for (const entry of raw) {
      const read = readEntry(entry, 'live', partition, 1)
      assert.ok('block' in read)
      rows.push(...read.block.rows.toString().trimEnd().split('\n'))
    }
  }
  return rows
}

test('on a Redis Cluster live and batch events arrive once, in accounts and archive too', async (t) => {
  const settings = { REDIS_URL: await startCluster(t), ARCHIVE_PART_AGE_MS: '200', SINK_SHARES: '2' }
  const instance = await startInstance(t, settings)
  assert.match(instance.stderr(), /Redis has no append-only file: a restart of it loses accepted events/)
  assert.doesNotMatch(instance.stderr(), /evicts/)
  const site = new TestSite(t, { DATA_DIR: instance.dataDir })
  const status = JSON.parse((await site.ipid('status', '--json')).stdout) as SystemStatus
  assert.deepEqual([status.unknown, status.redis?.append_only, status.redis?.evicts], [[], false, false])
  assert.match(status.verdict.text, /^warning: Redis has no append-only file/)
  assert.equal((await site.ipid('tenant', 'set', 'demo', '--archive', 'on')).code, 0)
  const events = Array.from({ length: 100 }, (_, i) => ({ ip: `17.0.0.${i % 10}`, event_id: `e${i}` }))
  for (let i = 0; i < 2; i++) {
    const answer = await instance.post('/v1/ingest', { events })
    assert.equal(answer.status, 200)
    await answer.arrayBuffer()
  }
  const lines = Array.from(
    { length: 500 },
    (_, i) => `{"ip":"18.0.0.1","event_id":"${i < 100 ? 'e' : 'b'}${i}"}\nnonsense\n`,
  )
  const upload = await instance.post('/v1/ingest/batch', lines.join(''))
  assert.equal(upload.status, 202)
  const { job_id } = (await upload.json()) as { job_id: string }
  const job = await until(async () => {
    const answer = await fetch(`${instance.ready.url}/v1/ingest/batch/${job_id}`, {
      headers: { 'x-api-key': instance.apiKey },
    })
    const found = (await answer.json()) as { status: string; result_summary: Record<string, unknown> }
    return found.status === 'completed' ? found : undefined
  })
  assert.equal(job.result_summary.duplicates, 100)
  assert.equal(job.result_summary.rejected, 500)
  await until(async () => (await instance.query('SELECT count() FROM events')) === '500')
  const accounts = await instance.query('SELECT account_id, events, unique_ips FROM accounts ORDER BY account_id')
  assert.equal(accounts, 'fruit.example\t100\t10\nschool.example\t400\t1')
  const store = new FolderStore(join(instance.dataDir, 'archive'))
  const archived = async () => (await readArchive(store)).reduce((sum, part) => sum + part.events.length, 0)
  await until(async () => (await archived()) === 2 * 100 + 500)

  const erased = await site.ipid('erase', 'demo', '--ip', '17.0.0.3', '--json')
  assert.equal(erased.code, 0, erased.stderr)
  const { clickhouse, redis } = JSON.parse(erased.stdout) as ErasureReceipt
  assert.deepEqual([clickhouse.rows, redis.dedup, redis.files], [10, 10, 'none'])
  const deleted = await site.ipid('tenant', 'delete', 'demo', '--yes', '--json')
  assert.equal(deleted.code, 0, deleted.stderr)
  const receipt = JSON.parse(deleted.stdout) as DeletionReceipt
  assert.deepEqual([receipt.clickhouse.rows, receipt.redis.keys, receipt.redis.batch_jobs], [490, 1, 1])
  assert.deepEqual(await readArchive(store), [])
  assert.equal(await instance.stop(), 0)
})

test('a request refused by a partial cluster is whole after its repeat, and counts once', async (t) => {
  const url = await startCluster(t)
  const client = quiet(connectRedis(url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  const node = new Redis({ port: Number(new URL(url).port), host: '127.0.0.1', password: 'p@ss' })
  const { intake, stop } = startIntake(url, PARTITIONS, 700)
  t.after(async () => {
    await stop()
    client.disconnect()
    node.disconnect()
  })
  await node.config('SET', 'cluster-require-full-coverage', 'no')
  for (let lost = 0; lost < PARTITIONS; lost++) {
    const named = Array.from({ length: 20 }, (_, i) => ({ ip: '17.0.0.1', event_id: `e${lost} ${i}` }))
    const made = Array.from({ length: 20 }, () => ({ ip: '17.0.0.2' }))
    // In every other round the counts belong to no event with a made id.
    const events = [...named, ...(lost % 2 === 0 ? made : []), { ip: 'nowhere' }, { ip: '' }]
    const receipt = { tenantId: 'acme', receivedAtMs: 1_800_000_000_000, colocateAmong: PARTITIONS }
    const text = JSON.stringify({ events })
    const accept = () => acceptEvents(text, readEvents(text), receipt, { enrich: () => NOTHING_KNOWN })
    const slot = await node.call('CLUSTER', 'KEYSLOT', keys.stream(lost, 'intake', 'live'))
    await node.call('CLUSTER', 'DELSLOTS', String(slot))
    const append = () => {
      const { envelopes, outcomes } = accept()
      return intake.append(envelopes, [], outcomes)
    }
    await assert.rejects(append(), UnavailableError)
    await node.call('CLUSTER', 'ADDSLOTS', String(slot))
    await append()
    const rows = await rowsOf(client, 'intake')
    assert.equal(rows.filter((row) => row.startsWith('17.0.0.2')).length, lost % 2 === 0 ? 20 : 0)
    const counts = await rowsOf(client, 'outcomes')
    assert.deepEqual(
      counts.map((row) => row.split('\t').slice(1)),
      [['acme', '2027-01-15', '', 'invalid_ip', '', '', '2']],
    )
    assert.equal(new Set(rows.filter((row) => row.startsWith('17.0.0.1'))).size, 20)
    for (let partition = 0; partition < PARTITIONS; partition++) {
      await client.del(keys.stream(partition, 'intake', 'live'), keys.stream(partition, 'outcomes', 'live'))
    }
  }
  // Tenants that ask for tokens and lookups in one turn are in several slots, and a lost slot fails alone.
  const limits = { rate: 0.001, burst: 3, daily_lookups: 3, monthly_accounts: 1 }
  const caller = (id: string): Caller => ({ tenant: { ...acme.tenant, id }, plan: limits })
  const { requests, lookups } = sharedLimits(new RedisTokenCounters(client), systemClock)
  const askAll = async () => {
    const ids = Array.from({ length: 16 }, (_, i) => `t${i % 8}`)
    const asked = ids.flatMap((id) => [requests.take(caller(id), 1), lookups.take(caller(id), 2)])
    return (await Promise.allSettled(asked)).map((result) =>
      result.status === 'fulfilled' ? result.value.allowed : (result.reason as Error).name,
    )
  }
  const first = [true, true]
  const second = [true, false]
  assert.deepEqual(await askAll(), [...Array(8).fill(first), ...Array(8).fill(second)].flat())
  const slot = await node.call('CLUSTER', 'KEYSLOT', keys.tokens('t5', 'bucket'))
  await node.call('CLUSTER', 'DELSLOTS', String(slot))
  // One token is left of each, and one lookup, fewer than requested.
  const lost = ['UnavailableError', 'UnavailableError']
  const left = Array.from({ length: 8 }, (_, i) => (i === 5 ? lost : [true, false]))
  const none = Array.from({ length: 8 }, (_, i) => (i === 5 ? lost : [false, false]))
  assert.deepEqual(await askAll(), [...left, ...none].flat())
})

test('on a cluster a restore moves dead letters to other partitions, where all commands work', async (t) => {
  const url = await startCluster(t)
  const client = quiet(connectRedis(url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  t.after(() => client.disconnect())
  await agreeOnPartitions(client, PARTITIONS)
  await createGroups(client, ingest, PARTITIONS)
  const claims: { identity: Buffer; claimId: Buffer }[] = []
  for (let i = 0; i < 20; i++) {
    const claimId = claimIdOf(`${Date.now()}-${i}`, 0)
    const origin = { group: 'process', stream: 'intake', lane: 'live' as const, claimId }
    const event = envelope(i < 8 ? 'acme' : 'other', `e${i}`)
    const partition = partitionOf(event.identity, PARTITIONS)
    const block = packBlock([event])
    const identity = block.identities
    await seedClaims(client, [{ partition, identity, claimId }], WINDOW_MS)
    claims.push({ identity, claimId })
    const letter = { reason: 'test', block, outcome: undefined }
    await client.call('XADD', keys.dead(partition), '*', ...deadLetterFields(origin, letter))
  }
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await runCommand([...args, '--json'], { env: { REDIS_URL: url } })
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  for (const node of (client as Cluster).nodes('master')) await node.client('SETNAME', 'none')
  const copies: LetterCopy[] = []
  for await (const copy of new RedisRecordSource(client, ingest, systemClock).letters()) copies.push(copy)
  for (const node of (client as Cluster).nodes('master')) await node.flushall()
  const target = new RedisRecordTarget(client, ingest, systemClock)
  await target.begin('backup', undefined)
  await target.fixPartitions(6, { partitions: PARTITIONS, sinceMs: 0 })
  await target.clearLetters()
  await target.addLetters(copies)
  await target.placeLetters()
  await target.end()
  await target.close()
  await createGroups(client, ingest, 6)
  for (const { identity, claimId } of claims) {
    const place = { partition: partitionOf(identity.toString('latin1'), 6), identity, ms: Date.now() }
    assert.deepEqual(await findClaim(client, place, WINDOW_MS), claimId)
  }
  const ipid = (...args: string[]) => run('dead-letter', ...args)
  assert.equal((await ipid('list')).letters.length, 20)
  assert.equal((await ipid('discard', '--tenant', 'acme')).discarded, 8)
  assert.equal((await ipid('retry', '--all')).retried, 12)
  assert.equal((await rowsOf(client, 'intake', 6)).length, 12)
})

test('a Redis Cluster with TLS needs its authority and its password, and an error shows neither', async (t) => {
  const { url, authority } = await startSecretCluster(t)
  const site = new TestSite(t)
  const list = async (redisUrl: string, ca?: string) => {
    Object.assign(site.env, { REDIS_URL: redisUrl, NODE_EXTRA_CA_CERTS: ca })
    const { ended, stdout, stderr } = site.spawn('tenant', 'list', '--json')
    await ended
    return stdout() + stderr()
  }
  assert.equal(await list(url, authority), '[]\n')
  assert.match(
    await list(url),
    /^ipid: cannot reach Redis at .*: no node answers as one of a cluster: the authority of .* NODE_EXTRA_CA_CERTS .*$/m,
  )
  const refused = await list(url.replace('p%40ss', 'wrong'), authority)
  assert.match(refused, /^ipid: cannot reach Redis at "rediss-cluster:\/\/:\*\*\*@127.0.0.1:\d+": .*WRONGPASS/)
  assert.doesNotMatch(refused, /wrong/)
})

test('with waitReplicas=1 a write that counts as stored survives its master', async (t) => {
  const nodes = await startNodes(t, { nodeTimeoutMs: 1_000 })
  const client = quiet(
    connectRedis(clusterUrl(nodes, '?waitReplicas=1'), { name: 'test', kind: 'request', timeoutMs: 30_000 }),
  )
  t.after(() => client.disconnect())
  const [master] = nodes
  const replica = await until(async () => {
    for (const node of nodes) if ((await node.masterPort()) === master!.port) return node
    return undefined
  })
  // Its slot is in the first third, which the first master has.
  const KEY = 'bar'
  const stored: string[] = []
  let tried = 0
  const write = async () => {
    const value = String(tried++)
    await client.rpush(KEY, value)
    await persisted(client)
    stored.push(value)
  }
  await until(write, () => true)
  await replica.client.call('READONLY')
  assert.deepEqual((await replica.client.lrange(KEY, 0, -1)).slice(-1), stored)

  replica.signal('SIGSTOP')
  await assert.rejects(write(), /only 0 of 1 replicas have the last writes/)
  replica.signal('SIGCONT')
  await until(write, () => true)

  await t.test('a master that is killed for good: the next one has them, and needs a replica again', async () => {
    await master!.kill()
    await until(() => replica.isMaster())
    await assert.rejects(write())
    await master!.restart()
    await until(write, () => true)
  })

  await t.test('a master that is paused is left, and what only it has does not count', async () => {
    await until(async () => /state=online/.test(await replica.client.info('replication')))
    replica.signal('SIGSTOP')
    // It is repeated at the next master, or refused.
    const late = write().catch(() => {})
    const slot = Number(await master!.client.call('CLUSTER', 'KEYSLOT', KEY))
    await until(() => (client as Cluster).slots[slot]?.[0] === `127.0.0.1:${master!.port}`)
    replica.signal('SIGCONT')
    await late
    await until(write, () => true)
  })

  const found = await client.lrange(KEY, 0, -1)
  assert.deepEqual(
    stored.filter((value) => !found.includes(value)),
    [],
  )
})

test('with waitReplicas=1 and two replicas for each master, writes go on without a lost master', async (t) => {
  const nodes = await startNodes(t, { nodeTimeoutMs: 1_000, replicas: 2 })
  const client = quiet(
    connectRedis(clusterUrl(nodes, '?waitReplicas=1'), { name: 'test', kind: 'request', timeoutMs: 5_000 }),
  )
  t.after(() => client.disconnect())
  const write = async () => {
    await client.rpush('bar', 'x')
    await persisted(client)
    return true
  }
  await until(write, Boolean)
  await nodes[0]!.kill()
  await assert.rejects(write())
  await until(write, Boolean)
})
