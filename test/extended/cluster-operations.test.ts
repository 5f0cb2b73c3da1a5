import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { ClickHouseReenrichment } from '../../src/operations/reenrich/clickhouse.ts'
import type { EventReplacement } from '../../src/operations/reenrich/ports.ts'
import { finishReenrich, reenrich } from '../../src/operations/reenrich/reenrich.ts'
import { ClickHouseAgedTables } from '../../src/operations/retention/aged-tables.ts'
import { utcDay } from '../../src/pipeline/event/outcomes.ts'
import { startTestCluster, type TestShard } from '../support/cluster.ts'
import { ErasableInstance } from '../support/erasable.ts'
import { receivedDays } from '../support/received-days.ts'
import { stepsOf } from '../support/steps.ts'
import { todaysData } from '../support/todays-data.ts'
import { until } from '../support/until.ts'

const FRUIT = '17.0.0.1'
const GARDEN = '17.1.0.1'
/** Erased. A text in its events is found as bytes in files. */
const VISITOR = '17.0.9.9'
const MARK = 'Zq8-mark-of-one-visitor-7Xw'

function organisations(fruit: string): string {
  return `network,business_name,domain,classification
17.0.0.0/16,Fruit,${fruit},business
17.1.0.0/16,Garden,garden.example,business
`
}

test('one of two shards is killed in the middle of a command, and the command repeated', async (t) => {
  const step = stepsOf(t)
  const cluster = await startTestCluster(t)
  const { shards } = cluster
  const [first, second] = shards
  const data = mkdtempSync(join(tmpdir(), 'ipid-data-'))
  t.after(() => rmSync(data, { recursive: true }))
  writeFileSync(join(data, 'organisations.csv'), organisations('fruit.example'))
  const run = await ErasableInstance.start(t, { ...cluster.env, ENRICH_DIR: data })
  const demo = run.ready.api_key!
  // Searched as bytes, whatever surrounds it.
  for (const { client } of shards)
    await client.command({ query: 'ALTER TABLE ipid.events_local MODIFY COLUMN properties String CODEC(NONE)' })
  await run.ipid('tenant', 'set', 'demo', '--archive', 'on')
  await run.ipid('tenant', 'create', 'acme', '--plan', 'custom')
  const { key: acme } = JSON.parse(await run.ipid('key', 'create', 'acme', '--json')) as { key: string }

  const count = async (shard: TestShard, where = '1', table = 'events_local') => {
    const [row] = await shard.rows<{ n: number }>(`SELECT count() AS n FROM ipid.${table} WHERE ${where}`)
    return row!.n
  }
  /** Sends events until both shards have some of each address. An insert goes to a random shard. Returns how many there are. */
  const spread = async (
    key: string,
    name: string,
    events: readonly { readonly ip: string; readonly [name: string]: unknown }[],
  ) => {
    const addresses = new Set(events.map(({ ip }) => ip)).size
    const query = `SELECT count() AS n, uniqExact(ip) AS ips FROM ipid.events_local WHERE event_id LIKE '${name}-%'`
    for (let round = 0; ; round++) {
      await run.send(key, ...events.map((event, i) => ({ event_id: `${name}-${round}-${i}`, ...event })))
      await run.untilIdle()
      const found = await Promise.all(shards.map((shard) => shard.rows<{ n: number; ips: number }>(query)))
      if (found.every(([row]) => row!.ips === addresses)) return found.reduce((sum, [row]) => sum + row!.n, 0)
    }
  }
  const rows = (where: string) => run.query(`SELECT event_id, * FROM events WHERE ${where} ORDER BY event_id`)
  const doubled = () => run.query('SELECT event_id FROM events GROUP BY tenant_id, event_id HAVING count() > 1')
  /** Kills the second shard before it has removed anything, when the command has asked it to. Returns the message of the command. */
  const interrupted = async (...args: string[]) => {
    await second.client.command({ query: 'SYSTEM STOP MERGES ipid.events_local' })
    const command = run.site.ipid(...args)
    const open = "SELECT 1 FROM system.mutations WHERE table = 'events_local' AND NOT is_done"
    await until(
      () => second.rows(open),
      (found) => found.length > 0,
    )
    await second.kill()
    const { code, stdout, stderr } = await command
    assert.notEqual(code, 0)
    assert.equal(stdout, '')
    return stderr
  }

  const fruits = await spread(demo, 'fruit', [{ ip: FRUIT }, { ip: FRUIT, account_id: 'own' }, { ip: GARDEN }])
  const visits = await spread(demo, 'visitor', [{ ip: VISITOR, properties: { mark: MARK } }])
  await spread(acme, 'acme', [{ ip: FRUIT }, { ip: GARDEN }])

  await step('an erasure leaves no byte on either shard', async () => {
    const others = await rows(`ip != '${VISITOR}'`)
    for (const shard of shards) assert.notDeepEqual(run.filesWith(MARK, shard.folder), [])
    await interrupted('erase', 'demo', '--ip', VISITOR)
    await second.start()
    const left = await count(second, `ip = '${VISITOR}'`)
    assert.deepEqual([await count(first, `ip = '${VISITOR}'`), left > 0], [0, true])
    const receipt = await run.erase('demo', '--ip', VISITOR)
    assert.deepEqual(receipt.clickhouse, { rows: left, detached_parts: 0 })
    assert.ok(left < visits)
    for (const shard of shards) {
      assert.deepEqual(run.filesWith(MARK, shard.folder), [])
      assert.deepEqual(await shard.rows("SELECT 1 FROM system.tables WHERE name = 'erasing'"), [])
    }
    assert.equal(await rows('1'), others)
    assert.equal((await run.erase('demo', '--ip', VISITOR)).clickhouse.rows, 0)
  })

  await step('a replay restores the rows that a shard lost, each once', async () => {
    const before = await rows("tenant_id = 'demo'")
    const lost = await count(second, "tenant_id = 'demo'")
    await second.client.command({
      query: "ALTER TABLE ipid.events_local DELETE WHERE tenant_id = 'demo' SETTINGS mutations_sync = 1",
    })
    const replay = ['replay', '--tenant', 'demo', ...receivedDays(), '--json']
    await second.kill()
    const failed = await run.site.ipid(...replay)
    assert.deepEqual([failed.code === 0, failed.stdout], [false, ''])
    await second.start()
    const report = JSON.parse(await run.ipid(...replay)) as { replayed: number }
    assert.equal(report.replayed, lost)
    assert.equal(await rows("tenant_id = 'demo'"), before)
    assert.equal((JSON.parse(await run.ipid(...replay)) as { replayed: number }).replayed, 0)
  })

  await step('re-enrichment replaces the events of each shard where they are', async () => {
    const places = () =>
      Promise.all(shards.map((shard) => shard.rows('SELECT event_id FROM ipid.events_local ORDER BY 1')))
    const before = await places()
    writeFileSync(join(data, 'organisations.csv'), organisations('new-fruit.example'))
    const replay = ['replay', '--tenant', 'demo', ...receivedDays(), '--reenrich', '--json']
    const preview = JSON.parse(await run.ipid(...replay, '--dry-run'))
    await interrupted(...replay)
    await second.start()
    const early = await run.site.ipid(...replay, '--dry-run')
    assert.match(early.stderr, /a re-enrichment is running or did not finish/)
    await run.ipid(...replay)
    assert.deepEqual(await places(), before)
    const domains = "SELECT account_id, domain, count() FROM events WHERE tenant_id = 'demo' GROUP BY ALL ORDER BY ALL"
    assert.equal(preview.events.changed, (fruits / 3) * 2)
    assert.equal(
      await run.query(domains),
      [
        `garden.example\tgarden.example\t${fruits / 3}`,
        ...[`new-fruit.example\tnew-fruit.example\t${fruits / 3}`, `own\tnew-fruit.example\t${fruits / 3}`],
      ].join('\n'),
    )
    assert.equal(await run.query("SELECT name FROM system.tables WHERE name LIKE 'reenrich%'"), '')
  })

  await step('a copy that is complete on one shard only is finished on both', async () => {
    const place = { url: cluster.url, cluster: 'both', hosts: cluster.hosts }
    const store = new ClickHouseReenrichment(place)
    t.after(() => store.close())
    const day = utcDay(Date.now())
    const selection = { tenantId: 'demo', from: utcDay(Date.now() - 86_400_000), to: day, receivedUntilMs: Date.now() }
    const known = {
      business_name: 'All',
      domain: 'all.example',
      companyId: 'all.example',
      classification: 'business',
    } as const
    const tools = { events: store, assertHeld: () => {}, say: () => {} }
    const replacement = new Proxy<EventReplacement>(store, {
      get(target, name) {
        if (name === 'complete')
          return async () => {
            await first.client.command({ query: 'RENAME TABLE ipid.reenrich_building TO ipid.reenrich_staged' })
            throw new Error('killed')
          }
        const value = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const judged = { ...tools, replacement, data: todaysData(() => known), run: { id: 'half', by: 'test' } }
    await assert.rejects(reenrich(selection, judged), /killed/)
    await finishReenrich({ ...tools, replacement: store })
    assert.equal(
      await run.query("SELECT domain, count() FROM events WHERE tenant_id = 'demo' GROUP BY domain"),
      `all.example\t${fruits}`,
    )
    assert.equal(await doubled(), '')
  })

  await step('a rule hides the stored visits of both shards, and its removal shows them', async () => {
    const before = await rows("tenant_id = 'demo'")
    const stored = await Promise.all(shards.map((shard) => count(shard, `tenant_id = 'demo' AND ip = '${GARDEN}'`)))
    const hidden = () => Promise.all(shards.map((shard) => count(shard, '1', 'hidden_events_local')))
    await run.ipid('rules', 'add', 'demo', 'own', `${GARDEN}/32`)
    // A replay may have put all of them on one shard.
    await until(hidden, (counts) => counts.join() === stored.join())
    await until(
      () => run.query("SELECT sum(events) FROM hidden_changes WHERE action = 'hidden'"),
      (sum) => sum === String(fruits / 3),
    )
    await run.ipid('rules', 'remove', 'demo', 'own', `${GARDEN}/32`)
    await until(hidden, (counts) => counts.every((n) => n === 0))
    await until(
      () => rows("tenant_id = 'demo'"),
      (now) => now === before,
    )
  })

  await step('retention continues after a shard was down', async () => {
    const old = (shard: TestShard, id: string, at: string) =>
      shard.client.command({
        query: `INSERT INTO ipid.events_local (tenant_id, event_id, received_at, timestamp) VALUES ('demo', '${id}', '${at}', '${at}')`,
      })
    const now = Date.now()
    const month = utcDay(now - 90 * 86_400_000)
    const floor = utcDay(now - 31 * 86_400_000)
    for (const [i, shard] of shards.entries()) {
      await old(shard, `old-month-${i}`, month)
      await old(shard, `old-day-${i}`, floor)
    }
    const aged = new ClickHouseAgedTables({ url: cluster.url, cluster: 'both', hosts: cluster.hosts })
    const policy = { defaultDays: 30, ofTenants: new Map() }
    await second.kill()
    await assert.rejects(aged.removeAged(policy, now))
    assert.equal(await count(first, "event_id LIKE 'old-%'"), 2)
    await second.start()
    await second.client.command({ query: 'SYSTEM STOP MERGES ipid.events_local' })
    assert.equal(await aged.removeAged(policy, now), 4)
    // It has accepted the removal, and does it after its next start.
    await second.kill()
    await second.start()
    for (const shard of shards) {
      await until(
        () => count(shard, "event_id LIKE 'old-%'"),
        (left) => left === 0,
      )
    }
  })

  await step('a tenant is deleted from both shards, and the other one stays', async () => {
    const others = await rows("tenant_id != 'acme'")
    await interrupted('tenant', 'delete', 'acme', '--yes')
    assert.match(await run.ipid('tenant', 'list', '--json'), /"acme"/)
    await second.start()
    const receipt = JSON.parse(await run.ipid('tenant', 'delete', 'acme', '--yes', '--json'))
    assert.ok(receipt.clickhouse.rows > 0)
    assert.doesNotMatch(await run.ipid('tenant', 'list', '--json'), /"acme"/)
    for (const table of ['events_local', 'outcomes_local'])
      for (const shard of shards) assert.equal(await count(shard, "tenant_id = 'acme'", table), 0)
    assert.equal(await rows("tenant_id != 'acme'"), others)
    assert.equal(await doubled(), '')
  })
})
