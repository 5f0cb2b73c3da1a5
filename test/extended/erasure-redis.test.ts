import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { createDemoTenant } from '../../src/cli/start/demo-tenant.ts'
import { renewLetters, untilNodesGone } from '../../src/operations/erasure/redis/deleted-entries.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { identityOf } from '../../src/pipeline/event/envelope.ts'
import { claimIdOf } from '../../src/pipeline/streams/entries.ts'
import { findClaim, forgetClaims, seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const { dedupWindowMs: windowMs } = ingest.limits

test('events are removed from Redis, and nothing else', async (t) => {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const dead = keys.dead(0)
  const dump = async (key: string) => String(await client.callBuffer('DUMP', key))
  const add = (key: string, text: string) => client.call('XADD', key, '*', 'r', text)

  await t.test('removed letters are in no node of the stream; the others keep their ids', async () => {
    const ids: string[] = []
    for (let i = 0; i < 250; i++) ids.push(String(await add(dead, i % 50 === 7 ? `secret-${i}` : `letter-${i}`)))
    const gone = ids.filter((_, i) => i % 50 === 7)
    await client.xdel(dead, ...gone)
    assert.match(await dump(dead), /secret/)
    const before = await client.xrange(dead, '-', '+')
    await renewLetters(client, 0, performance.now() + 5_000)
    assert.doesNotMatch(await dump(dead), /secret/)
    assert.deepEqual(await client.xrange(dead, '-', '+'), before)
    assert.equal(await client.exists(keys.deadCopy(0)), 0)
    // Entries are never added before existing ones.
    await client.xdel(dead, ids.at(-1)!)
    await renewLetters(client, 0, performance.now() + 5_000)
    await assert.rejects(client.call('XADD', dead, ids.at(-1)!, 'r', 'again'), /equal or smaller/)
  })

  await t.test('letters that come and go meanwhile are not lost, and do not come back', async () => {
    await client.del(dead)
    for (let i = 0; i < 400; i++) await add(dead, `letter-${i}`)
    const renewals = (async () => {
      for (let i = 0; i < 5; i++) await renewLetters(client, 0, performance.now() + 20_000)
    })()
    const added = Array.from({ length: 60 }, (_, i) => add(dead, `late-${i}`))
    const removed = (await client.xrange(dead, '-', '+', 'COUNT', 100)).map(([id]) => id)
    for (const id of removed) assert.equal(await client.xdel(dead, id), 1)
    await Promise.all([renewals, ...added])
    const left = (await client.xrange(dead, '-', '+')).map(([, fields]) => fields[1])
    const expected = [...Array.from({ length: 300 }, (_, i) => `letter-${i + 100}`)]
    assert.deepEqual(left, [...expected, ...Array.from({ length: 60 }, (_, i) => `late-${i}`)])
  })

  await t.test('a stream loses its old nodes while the pipeline runs', async () => {
    const key = keys.stream(0, 'intake', 'live')
    for (let i = 0; i < 3; i++) await add(key, `secret-${i}`)
    let rounds = 0
    // The pipeline runs on: later entries share the node.
    const trim = async () => {
      rounds++
      for (let i = 0; i < 40; i++) await add(key, `later-${rounds}-${i}`)
      await client.xtrim(key, 'MAXLEN', 10)
    }
    await untilNodesGone(client, [key, keys.stream(1, 'intake', 'live')], trim, performance.now() + 20_000)
    assert.ok(rounds > 1)
    assert.doesNotMatch(await dump(key), /secret/)
  })

  await t.test('a start waits for a tenant demo that is being deleted, and creates it again after that', async () => {
    const config = { plans: new Map(Object.entries(DEFAULT_PLANS)) }
    assert.notEqual(await createDemoTenant(redis.url, config), undefined)
    const removal = new RedisTenantRemoval(client)
    assert.equal(await removal.removeKeys('demo'), 0, 'not before it is marked')
    await removal.mark('demo')
    assert.equal(await removal.removeKeys('demo'), 1)
    assert.equal(await createDemoTenant(redis.url, config), undefined)
    await removal.removeRecord('demo')
    assert.notEqual(await createDemoTenant(redis.url, config), undefined)
  })

  await t.test('a claim is released unless it belongs to a later event', async () => {
    const beforeMs = Date.now()
    const claim = (id: string, ms: number) => {
      return { partition: 0, identity: Buffer.from(identityOf('t', id), 'latin1'), claimId: claimIdOf(`${ms}-0`, 0) }
    }
    const claims = [claim('old', beforeMs - windowMs + 1_000), claim('new', beforeMs), claim('other', beforeMs - 5)]
    await seedClaims(client, claims, windowMs)
    const identities = claims.slice(0, 2).map(({ identity }) => identity)
    assert.equal(await forgetClaims(client, { partition: 0, identities, beforeMs }, windowMs), 1)
    const known = await Promise.all(
      claims.map(({ identity }) => findClaim(client, { partition: 0, identity, ms: beforeMs }, windowMs)),
    )
    assert.deepEqual(
      known.map((claimId) => claimId !== undefined),
      [false, true, true],
    )
  })
})
