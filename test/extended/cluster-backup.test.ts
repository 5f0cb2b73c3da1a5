import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { ClickHouseTables } from '../../src/operations/backup/table-copies.ts'
import { IP, makeFolder, ODD_EVENTS, QUERIES, Running } from '../support/backup.ts'
import { startTestCluster, type TestCluster } from '../support/cluster.ts'
import { type CommandResult, runCommand } from '../support/command.ts'
import { silent } from '../support/pipeline.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'

const OWN = 'CREATE TABLE ipid.notes (id String, text String) ENGINE = MergeTree ORDER BY id'
const NOTES = 'SELECT * FROM notes ORDER BY id'

/** Runs a command, and kills the second shard when it has printed that it begins with the events. */
async function killedAtEvents({ shards }: TestCluster, site: TestSite, ...args: string[]): Promise<CommandResult> {
  let killed: Promise<void> | undefined
  const onError = (text: string) => {
    if (text.includes('table events')) killed ??= shards[1].kill()
  }
  const result = await runCommand(args, { env: site.env as Record<string, string>, onError })
  await killed
  assert.notEqual(killed, undefined, result.stderr)
  await shards[1].start()
  return result
}

test('a backup of two shards is restored into two shards and into one server', async (t) => {
  const step = stepsOf(t)
  const cluster = await startTestCluster(t)
  const { shards } = cluster
  const [first, second] = shards
  const path = join(makeFolder(t), 'backup')
  const answersOn = async (test: TestContext, site: TestSite) => {
    const running = await Running.start(test, site)
    const answers = [...(await running.answers()), await running.query(NOTES)]
    await running.stop()
    return answers
  }
  const perShard = async (table: string) => {
    const query = `SELECT count() AS n FROM ipid.${table}`
    return await Promise.all(shards.map(async (shard) => (await shard.rows<{ n: number }>(query))[0]!.n))
  }
  let expected: string[] = []

  await step('it has the rows of both shards, each once, and is not made without one of them', async (s) => {
    const site = new TestSite(t, cluster.env)
    const source = await Running.start(s, site)
    const key = source.ready.api_key!
    for (let round = 0; ; round++) {
      const events = Array.from({ length: 5 }, (_, i) => ({
        event_id: `e-${round}-${i}`,
        ip: IP,
        timestamp: new Date(Date.UTC(2026, 0, 1) + round * 60_000 + i * 1_000).toISOString(),
      }))
      await source.send(key, round === 0 ? [...ODD_EVENTS, { ip: '10.0.0.1', event_id: 'noise' }] : events)
      await source.untilIdle()
      if ((await perShard('events_local')).every((n) => n > 3)) break
    }
    await first.client.command({
      query:
        "INSERT INTO ipid.company_corrections (tenant_id, company_id, field, value) VALUES ('demo', 'x', 'note', 'y')",
    })
    for (const [i, { client }] of shards.entries()) {
      await client.command({ query: OWN })
      await client.command({ query: `INSERT INTO ipid.notes VALUES ('${i}', 'of shard ${i}')` })
    }
    expected = [...(await source.answers()), '0\tof shard 0\n1\tof shard 1']
    const failed = await killedAtEvents(cluster, site, 'backup', path)
    assert.notEqual(failed.code, 0)
    assert.equal(existsSync(join(path, 'manifest.json')), false)
    const made = await site.ipid('backup', path, '--json')
    assert.equal(made.code, 0, made.stderr)
    const { rows } = JSON.parse(made.stdout) as { rows: Record<string, number> }
    const [events] = (await source.query('SELECT count() FROM events')).split('\t')
    const tables = ['events', 'company_corrections', 'hidden_changes', 'hidden_events', 'notes', 'outcomes']
    assert.deepEqual(Object.keys(rows), tables)
    assert.deepEqual([rows.events, rows.company_corrections, rows.notes], [Number(events), 1, 2])
    await source.stop()
    const checked = await site.ipid('restore', '--check', path)
    assert.equal(checked.code, 0, checked.stderr)
  })

  await step('on one server', async (s) => {
    const site = new TestSite(t)
    const restored = await site.ipid('restore', path)
    assert.equal(restored.code, 0, restored.stderr)
    assert.deepEqual(await answersOn(s, site), expected)
  })

  await step('on two shards, one of which was killed in the middle', async (s) => {
    for (const { client } of shards) await client.command({ query: 'DROP DATABASE ipid SYNC' })
    const site = new TestSite(t, cluster.env)
    const failed = await killedAtEvents(cluster, site, 'restore', path)
    assert.notEqual(failed.code, 0)
    const restored = await site.ipid('restore', path)
    assert.equal(restored.code, 0, restored.stderr)
    assert.deepEqual(await answersOn(s, site), expected)
    assert.equal(QUERIES.length + 1, expected.length)
    const full = await new TestSite(t, cluster.env).ipid('restore', path)
    assert.match(full.stderr, /a restore needs an empty instance/)
  })

  await step('a restore fills the shards in turn', async () => {
    const tables = new ClickHouseTables({ url: cluster.url, cluster: 'both', hosts: cluster.hosts }, silent)
    t.after(() => tables.close())
    const shape = { table: 'events', columns: ['event_id'], create: '' }
    await tables.clear(shape)
    assert.deepEqual(await perShard('events_local'), [0, 0])
    for (let i = 0; i < 4; i++) await tables.insert(shape, [Buffer.from(`${i}\n`)])
    assert.deepEqual(await perShard('events_local'), [2, 2])
    assert.equal(await tables.count(shape), 4)
    const copies = { table: 'company_corrections', columns: ['tenant_id'], create: '' }
    await tables.clear(copies)
    for (let i = 0; i < 2; i++) await tables.insert(copies, [Buffer.from('demo\n')])
    assert.deepEqual(await perShard('company_corrections'), [2, 0])
    // The rows of a copy belong to the events of one shard.
    await second.client.command({ query: 'CREATE TABLE ipid.reenrich_staged (a String) ENGINE = MergeTree ORDER BY a' })
    await assert.rejects(tables.tables(), /a re-enrichment did not finish/)
  })
})
