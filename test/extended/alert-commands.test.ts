import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { systemClock } from '../../src/run/clock.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { TenantCopies } from '../../src/tenants/redis/tenant-copies.ts'
import { runCommand } from '../support/command.ts'
import { quiet } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'

const redis = await startTestRedis()
const env = { REDIS_URL: redis.url, SECRETS_KEY: 'cd'.repeat(32) }
const run = (...args: string[]) => runCommand(args, { env })
const json = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout)

test('segments and alerts are made, shown, copied and removed by commands', async (t) => {
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  t.after(() => client.disconnect())
  if (client.status !== 'ready') await once(client, 'ready')
  await run('tenant', 'create', 'acme')
  const segment = await json('segment', 'create', 'acme', 'Keen', '--where', 'country=DE,visits>=3')
  assert.match(segment.segment_id, /^segment_[0-9a-f]{12}$/)
  assert.deepEqual(await json('segment', 'list', 'acme'), [segment])
  assert.deepEqual(await json('segment', 'show', 'acme', 'Keen'), segment)
  const twice = await run('segment', 'create', 'acme', 'Keen', '--where', 'country=FR')
  assert.deepEqual([twice.code, /has a segment named "Keen"/.test(twice.stderr)], [2, true])
  assert.equal((await run('segment', 'create', 'acme', 'Bad', '--where', 'colour=red')).code, 2)

  const on = ['--on', 'segment.entered', '--segment', 'Keen'] as const
  const created = await json('alert', 'create', 'acme', 'Hot', ...on, '--webhook', 'https://93.184.215.14/hook?a=b')
  assert.match(created.secret, /^whsec_/)
  const [alert] = await json('alert', 'list', 'acme')
  assert.deepEqual(
    [alert.alert_id, alert.name, alert.segment, alert.target, alert.paused],
    [created.alert_id, 'Hot', 'Keen', 'https://93.184.215.14/hook?…', null],
  )
  const stored = await client.hget(keys.alertsOf('acme'), created.alert_id)
  assert.ok(!stored!.includes(created.secret.slice(6)) && !stored!.includes('a=b'))
  const inner = await run(
    'alert',
    'create',
    'acme',
    'Inner',
    '--on',
    'company.first_seen',
    '--webhook',
    'http://127.0.0.1/',
  )
  assert.deepEqual([inner.code, /is not a public address/.test(inner.stderr)], [2, true])
  const teams = ['--teams', 'https://93.184.215.14/workflows/1/triggers/manual/paths/invoke?sig=hidden'] as const
  assert.deepEqual(Object.keys(await json('alert', 'create', 'acme', 'Team', ...on, ...teams)), ['alert_id'])
  const [, team] = await json('alert', 'list', 'acme')
  assert.deepEqual([team.to, team.target], ['teams', 'https://93.184.215.14/…'])
  const both = await run('alert', 'create', 'acme', 'Both', ...on, ...teams, '--slack', 'https://93.184.215.14/')
  assert.deepEqual([both.code, /one of --webhook, --slack, --teams and --email/.test(both.stderr)], [2, true])
  await run('alert', 'remove', 'acme', 'Team')

  const subscribe = ['digest', 'subscribe', 'acme', 'Bo@b.example'] as const
  const digest = await json(...subscribe, '--segment', 'Keen', '--every', 'day', '--at', '07:30', '--empty')
  assert.deepEqual(
    [digest.address, digest.every, digest.at, digest.segment, digest.sends_empty, digest.unconfirmed],
    ['bo@b.example', 'day', '07:30', 'Keen', true, 'bo@b.example'],
  )
  const weekly = await json(...subscribe)
  assert.deepEqual([weekly.every, weekly.at, weekly.segment, weekly.sends_empty], ['week', '08:00', null, false])
  const again = await json(...subscribe, '--segment', 'Keen')
  assert.deepEqual([again.digest_id, again.every, again.sends_empty], [digest.digest_id, 'week', false])
  assert.deepEqual(await json('digest', 'list', 'acme'), [again, weekly])
  assert.equal((await json('alert', 'list', 'acme')).length, 1, 'a digest is no alert')
  const late = await run(...subscribe, '--at', '8:00')
  assert.deepEqual([late.code, /is no time of day: write HH:MM/.test(late.stderr)], [2, true])
  const kept = await run('segment', 'remove', 'acme', 'Keen')
  assert.match(kept.stderr, /the alert Hot needs segment Keen/)
  await json('digest', 'unsubscribe', 'acme', 'bo@b.example', '--segment', 'Keen')
  assert.equal((await run('digest', 'unsubscribe', 'acme', 'bo@b.example', '--segment', 'Keen')).code, 2)
  assert.deepEqual(await json('digest', 'list', 'acme'), [weekly])
  const needed = await run('segment', 'remove', 'acme', 'Keen')
  assert.deepEqual([needed.code, /the alert Hot needs segment Keen/.test(needed.stderr)], [2, true])
  assert.equal((await json('alert', 'pause', 'acme', 'Hot')).paused.by, 'person')
  assert.equal(await client.exists(keys.alertingTenants()), 0)
  assert.equal((await json('alert', 'resume', 'acme', 'Hot')).paused, null)
  assert.deepEqual(await client.smembers(keys.alertingTenants()), ['acme'])

  // A backup, and a restore on another Redis.
  const other = await startTestRedis(t)
  const target = quiet(connectRedis(other.url, { name: 'test', kind: 'loop', timeoutMs: 5_000 }))
  t.after(() => target.disconnect())
  if (target.status !== 'ready') await once(target, 'ready')
  for await (const copy of new TenantCopies(client, systemClock).all()) {
    await new TenantCopies(target, systemClock).add(copy)
  }
  assert.deepEqual(await target.hgetall(keys.segmentsOf('acme')), await client.hgetall(keys.segmentsOf('acme')))
  const restored = JSON.parse((await target.hget(keys.alertsOf('acme'), created.alert_id))!)
  const { paused, ...others } = restored
  assert.deepEqual({ ...others, active_since: '' }, { ...JSON.parse(stored!), active_since: '' })
  assert.equal(paused.by, 'restore')
  const digestOf = JSON.parse((await target.hget(keys.alertsOf('acme'), weekly.digest_id))!)
  assert.deepEqual([digestOf.on, digestOf.paused.by], ['digest', 'restore'])
  const removal = new RedisTenantRemoval(target)
  await removal.mark('acme')
  await removal.removeKeys('acme')
  assert.equal(await target.exists(keys.segmentsOf('acme'), keys.alertsOf('acme')), 0)

  const mail = await run('alert', 'create', 'acme', 'Mail', '--on', 'company.first_seen', '--email', 'Ada@b.example')
  assert.match(mail.stdout, /waits for ada@b\.example to confirm/)
  const listed = async () => {
    const all = (await json('alert', 'list', 'acme')) as { name: string; unconfirmed: unknown; paused: unknown }[]
    return all.find(({ name }) => name === 'Mail')!
  }
  const waits = await listed()
  assert.deepEqual([waits.unconfirmed, (waits.paused as { by: string }).by], ['ada@b.example', 'unconfirmed'])
  const table = async () => (await run('alert', 'list', 'acme')).stdout.split('\n').find((line) => /^Mail /.test(line))!
  assert.match(await table(), / waits for ada@b\.example to confirm$/)
  for (const verb of ['test', 'resume']) {
    const refused = await run('alert', verb, 'acme', 'Mail')
    assert.deepEqual([refused.code, /waits for ada@b\.example to confirm/.test(refused.stderr)], [2, true], verb)
  }
  assert.equal((await run('alert', 'confirm', 'acme', 'ada')).code, 2)
  await json('alert', 'confirm', 'acme', 'eve@b.example')
  assert.equal((await listed()).unconfirmed, 'ada@b.example', 'another address')
  assert.deepEqual(await json('alert', 'confirm', 'acme', ' ADA@B.example'), {
    ...{ tenant_id: 'acme', address: 'ada@b.example', confirmed: true },
  })
  const confirmed = await listed()
  assert.deepEqual([confirmed.unconfirmed, confirmed.paused], [null, null])
  assert.match(await table(), / active$/)
  await run('alert', 'remove', 'acme', 'Mail')

  await run('alert', 'remove', 'acme', 'Hot')
  await run('segment', 'remove', 'acme', 'Keen')
  await json('digest', 'unsubscribe', 'acme', 'bo@b.example')
  assert.equal(await client.exists(keys.segmentsOf('acme'), keys.alertsOf('acme'), keys.alertingTenants()), 0)
})
