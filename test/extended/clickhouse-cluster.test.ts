import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { AlertType } from '../../schemas/alert.ts'
import { tryAlert } from '../../src/alerts/evaluation/trial.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { ClickHouseOverview } from '../../src/dashboard/queries/overview.ts'
import { ClickHouseStoredEvents } from '../../src/operations/reenrich/stored-events.ts'
import { ClickHouseAgedTables } from '../../src/operations/retention/aged-tables.ts'
import { absentRows } from '../../src/pipeline/sinks/clickhouse/absent-rows.ts'
import { clickhouse as clickhouseEvents, clickhouseOutcomes } from '../../src/pipeline/sinks/clickhouse/destination.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { assertOneServer } from '../../src/stores/clickhouse/cluster.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { readMigrations } from '../../src/stores/clickhouse/migrations.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { EVENTS, OUTCOMES } from '../../src/stores/clickhouse/tables.ts'
import { filteredSums, storedGroups } from '../../src/tenants/rules/rule-trial.ts'
import { readTrackedAccounts } from '../../src/tenants/usage.ts'
import { eventRows } from '../support/event-rows.ts'
import { startLocalCluster } from '../support/local-cluster.ts'
import { stepsOf } from '../support/steps.ts'

const log = pino({ level: 'silent' })

test('the tables of a cluster', async (t) => {
  const step = stepsOf(t)
  const { url, clickhouse, onCluster, inserts } = await startLocalCluster(t)
  const client = connectClickHouse(url, { application: 'test', database: DATABASE })
  t.after(() => client.close())
  const engines = () =>
    clickhouse.rows<{ name: string; engine: string }>(
      `SELECT name, engine FROM system.tables WHERE database = '${DATABASE}' ORDER BY name`,
    )
  const count = async (table: string) =>
    (await clickhouse.rows<{ n: number }>(`SELECT count() AS n FROM ipid.${table}`))[0]!.n

  await step('an unknown cluster is named, and nothing is created', async () => {
    await assert.rejects(migrate(url, log, { cluster: 'none' }), {
      name: 'StartupError',
      message: /^CLICKHOUSE_CLUSTER "none": must be a cluster that ClickHouse knows: away, both, lagging, one$/,
    })
    assert.deepEqual(await engines(), [])
  })

  await step('Distributed tables read replicated ones, and views read Distributed ones', async () => {
    await migrate(url, log, { cluster: 'one' })
    assert.deepEqual(
      (await engines()).map(({ name, engine }) => `${name} ${engine}`),
      [
        ...['accounts View', 'companies View', 'company_corrections MergeTree'],
        ...['company_heat View', 'concerned_accounts View', 'concerned_companies View', 'corrected_companies View'],
        ...['daily_outcomes View', 'daily_visits View', 'events Distributed', 'events_local MergeTree'],
        ...['hidden_changes MergeTree', 'hidden_events Distributed', 'hidden_events_local MergeTree'],
        ...['intent_pages View', 'migrations MergeTree', 'outcomes Distributed', 'outcomes_local MergeTree'],
        'sessions View',
      ],
    )
    const columns = (table: string) =>
      clickhouse.rows(
        `SELECT name, type, default_kind, default_expression, comment FROM system.columns WHERE database = 'ipid' AND table = '${table}' ORDER BY position`,
      )
    for (const { name } of [EVENTS, OUTCOMES]) assert.deepEqual(await columns(name), await columns(`${name}_local`))
    const silent = `SELECT name FROM system.tables WHERE database = '${DATABASE}' AND comment = ''`
    assert.deepEqual(await clickhouse.rows(silent), [])
  })

  await step('applied migrations are left alone: an unreachable host delays no start', async () => {
    const before = onCluster.length
    await migrate(url, log, { cluster: 'one' })
    assert.equal(onCluster.length, before)
    const applied = await clickhouse.rows('SELECT name FROM ipid.migrations ORDER BY name')
    assert.deepEqual(
      applied,
      (await readMigrations()).map(({ name }) => ({ name })),
    )
  })

  await step('ClickHouse accepts the replicated tables as they are written', async () => {
    await clickhouse.client.command({ query: 'CREATE DATABASE form' })
    const creates = onCluster.filter((query) => query.includes('ReplicatedMergeTree('))
    assert.equal(creates.length, 6)
    for (const query of creates) {
      const here = query.replace(/ ON CLUSTER `one`/, '').replaceAll('ipid.', 'form.')
      await clickhouse.client.command({ query: here })
    }
    const replicas = await clickhouse.rows(
      "SELECT table, zookeeper_path AS path, replica_name AS name FROM system.replicas WHERE database = 'form' ORDER BY table",
    )
    assert.deepEqual(replicas, [
      { table: 'company_corrections', path: '/clickhouse/tables/ipid/company_corrections', name: '01-r1' },
      { table: 'events_local', path: '/clickhouse/tables/01/ipid/events', name: 'r1' },
      { table: 'hidden_changes', path: '/clickhouse/tables/ipid/hidden_changes', name: '01-r1' },
      { table: 'hidden_events_local', path: '/clickhouse/tables/01/ipid/hidden_events', name: 'r1' },
      { table: 'migrations', path: '/clickhouse/tables/ipid/migrations', name: '01-r1' },
      { table: 'outcomes_local', path: '/clickhouse/tables/01/ipid/outcomes', name: 'r1' },
    ])
  })

  await step('ClickHouse parses every statement for all hosts', async () => {
    const texts = onCluster.map((query) => `$query$${query}$query$`).join()
    const read = await clickhouse.rows<{ q: string }>(`SELECT formatQuery(arrayJoin([${texts}])) AS q`)
    assert.equal(read.length, onCluster.length)
    for (const { q } of read) assert.match(q, /\bON CLUSTER one\b/)
  })

  const tools = { clickhouseUrl: url, clickhouseCluster: 'one', settings: {}, archive: { folder: '' }, log }
  const [sink, outcomes] = [clickhouseEvents, clickhouseOutcomes].map((destination) => destination.open(tools))
  t.after(() => Promise.all([sink!.close(), outcomes!.close()]))
  const rows = eventRows([
    { event_id: 'a', extra: '{"url":"/?utm_source=news"}' },
    { event_id: 'b', received_at: Date.UTC(2025, 8, 1), ip: '192.0.2.2' },
  ])

  await step('rows are stored once under a token, and seen in the views', async () => {
    await sink!.prepare()
    const token = sink!.newToken!()
    for (let i = 0; i < 3; i++) await sink!.insert([rows], token)
    assert.equal(await count('events'), 2)
    const account = 'SELECT account_id, events, visits, unique_ips FROM ipid.accounts'
    assert.deepEqual(await clickhouse.rows(account), [
      { account_id: 'example.com', events: 2, visits: 2, unique_ips: 2 },
    ])
    for (const view of ['companies', 'daily_visits', 'daily_outcomes']) assert.notEqual(await count(view), 0, view)
    await sink!.assertOpen!()
    const pages = 'SELECT url, utm_source, count() AS events FROM ipid.events GROUP BY ALL ORDER BY ALL'
    assert.deepEqual(await clickhouse.rows(pages), [
      { url: '', utm_source: '', events: 1 },
      { url: '/?utm_source=news', utm_source: 'news', events: 1 },
    ])
  })

  await step('sums of outcomes are stored once, too', async () => {
    await outcomes!.prepare()
    const sum = [Buffer.from('commit:1\tacme\t2025-11-20\t\tfiltered\t\tisp\t3\n')]
    assert.deepEqual(await outcomes!.absent(sum), sum)
    for (let i = 0; i < 2; i++) await outcomes!.insert(sum, 'sum')
    assert.deepEqual(await outcomes!.absent(sum), [])
    const filtered = "SELECT events FROM ipid.daily_outcomes WHERE status = 'filtered'"
    assert.deepEqual(await clickhouse.rows(filtered), [{ events: 3 }])
  })

  await step('an insert goes to the shard of its token, and waits for a majority of several replicas', async () => {
    const settings = inserts.find(({ query }) => query!.startsWith('INSERT INTO events '))!
    assert.deepEqual(
      [settings.insert_shard_id, settings.distributed_foreground_insert, settings.prefer_localhost_replica],
      ['1', '1', '0'],
    )
    assert.equal(settings.insert_quorum, undefined)
    assert.match(settings.insert_deduplication_token!, /-s1$/)
    const ofTwo = new TableInserter(EVENTS, client, async () => {}, 'away')
    await ofTwo.prepare()
    await ofTwo.insert([rows], settings.insert_deduplication_token!)
    assert.equal(inserts.at(-1)!.insert_quorum, 'auto')
    assert.equal(await count('events'), 2)
  })

  await step('a removed shard refuses no row', async () => {
    const token = sink!.newToken!().replace(/s1$/, 's2')
    await assert.rejects(sink!.insert([rows], `${token}.0`), { type: 'INVALID_SHARD_ID' })
  })

  await step('ClickHouse refuses an insert that names no shard of several', async () => {
    const create = "CREATE TABLE ipid.two AS ipid.events_local ENGINE = Distributed('both', 'ipid', 'events_local')"
    await clickhouse.client.command({ query: create })
    const insert = clickhouse.client.command({ query: "INSERT INTO ipid.two (event_id) VALUES ('x')" })
    await assert.rejects(insert, { type: 'STORAGE_REQUIRES_PARAMETER' })
    await clickhouse.client.command({ query: 'DROP TABLE ipid.two SYNC' })
  })

  await step('every read of the product covers several shards', async () => {
    const overTwo = (table: string) =>
      `CREATE OR REPLACE TABLE ipid.${table} AS ipid.${table}_local ENGINE = Distributed('both', 'ipid', '${table}_local')`
    for (const query of ['events', 'outcomes'].map(overTwo)) await clickhouse.client.command({ query })
    const reading = connectReading(url, 'test')
    t.after(() => reading.close())
    const reader = new QuestionReader(reading)
    const companies = new ClickHouseCompanies(reader, { now: () => Date.UTC(2025, 10, 21) })
    const days = { from: '2025-11-01', to: '2025-11-21' }
    const view = { sort: 'visits', order: 'desc', ...days } as const
    const page = await companies.page('acme', { ...view, limit: 10 })
    // Both shards are the same host: each row appears twice.
    assert.deepEqual([page.total, page.rows[0]!.events], [1, 4])
    const [found] = (await companies.details('acme', { companies: ['example.com'], ...days })).companies
    assert.equal(found!.visits, 2)
    assert.equal((await companies.company('acme', 'example.com', 30))!.events.length, 4)
    await companies.choices('acme')
    assert.equal((await companies.page('acme', { sort: 'heat', heat_max: 100 })).total, 1)
    for await (const rows of companies.rows('acme', view, new AbortController().signal)) assert.equal(rows.length, 1)
    const overview = new ClickHouseOverview(reader)
    assert.equal((await overview.eventDays('acme', days)).companies, 1)
    const received = await overview.outcomes('acme', days)
    assert.deepEqual(received.map(({ status, events }) => `${status} ${events}`).sort(), ['filtered 6', 'stored 2'])
    assert.equal((await overview.tracked('acme', '2025-11', 5)).tracked_accounts, 1)
    assert.deepEqual(await readTrackedAccounts(client, '2025-11'), new Map([['acme', 1]]))
    const event = { tenantId: 'acme', eventId: 'a' }
    assert.equal((await new ClickHouseStoredEvents(client).find(event)).length, 2)
    for await (const group of storedGroups(client, 'acme', { since: '2025-11-01' })) assert.equal(group.events, 2)
    await filteredSums(client, 'acme', { since: '2025-11-01' })
    const visits = new ClickHouseVisits(reader, async () => [], { now: () => Date.UTC(2025, 10, 21) })
    const dry = (on: AlertType, where?: string) =>
      tryAlert(visits, 'acme', { on, afterDays: 30, where }, 90, Date.UTC(2025, 10, 21))
    const once = [{ day: '2025-11-20', company_id: 'example.com' }]
    assert.deepEqual(await dry('company.first_seen', 'country=DE'), once)
    assert.deepEqual(await dry('company.returned'), [])
    assert.deepEqual(await dry('company.corrected', 'country=DE'), [])
    assert.deepEqual(await dry('segment.entered', 'country=DE,visits>=2,days=30,page~utm_source,campaign!=x'), once)
    assert.deepEqual(await dry('segment.entered', 'visits>=3,heat<=100'), [])
    const overOne = [...new Set(onCluster.filter((query) => query.includes('Distributed(')))]
    for (const query of overOne) {
      const again = query
        .replace('CREATE TABLE IF NOT EXISTS', 'CREATE OR REPLACE TABLE')
        .replace(/ ON CLUSTER `one`/, '')
      await clickhouse.client.command({ query: again })
    }
  })

  await step('a row is stored if a majority has it, and absent if all replicas answer without it', async () => {
    const others = eventRows([{ event_id: 'c' }])
    const look = (lines: Buffer, name: string, of: number) =>
      absentRows(client, [lines], { table: EVENTS, cluster: { name, replicasPerShard: of } })
    assert.deepEqual(await sink!.absent([rows]), [])
    assert.deepEqual(await sink!.absent([rows, others]), [others])
    // Two of three replicas have them, and the third one is down.
    assert.deepEqual(await look(rows, 'lagging', 3), [])
    await assert.rejects(look(others, 'lagging', 3), /127\.0\.0\.2:1\b/)
    await assert.rejects(look(rows, 'away', 2), /127\.0\.0\.2:1\b/)
    await assert.rejects(look(rows, 'one', 3), UnavailableError)
  })

  await step('rows that are too old are removed from the tables of all hosts', async () => {
    const policy = { defaultDays: 30, ofTenants: new Map() }
    const aged = new ClickHouseAgedTables(url, 'one')
    const before = onCluster.length
    // On the first of December the month of September is dropped as a whole.
    assert.equal(await aged.removeAged(policy, Date.UTC(2025, 11, 1)), 1)
    assert.equal(await count('events'), 1)
    // In the middle of a month single rows are deleted.
    assert.equal(await aged.removeAged(policy, Date.UTC(2025, 11, 25)), 2)
    const [month, day, sums] = onCluster.slice(before)
    assert.match(month!, /^ALTER TABLE ipid\.events_local ON CLUSTER `one` DROP PARTITION ID '202509'/)
    assert.match(day!, /^ALTER TABLE ipid\.events_local ON CLUSTER `one` DELETE WHERE \(toDate32/)
    assert.match(sums!, /^ALTER TABLE ipid\.outcomes_local ON CLUSTER `one` DELETE WHERE \(day < /)
    await sink!.assertOpen!()
    // A node that cannot reach all replicas removes nothing.
    await assert.rejects(
      new ClickHouseAgedTables(url, 'away').removeAged(policy, Date.UTC(2026, 1, 1)),
      /127\.0\.0\.2:1\b/,
    )
  })

  await step('heat follows the events of all shards, and the intent pages of the tenant', async () => {
    const nowMs = Date.now()
    const recent = { received_at: nowMs, timestamp: nowMs, tenant_id: 'warm', extra: '{"url":"/buy"}' }
    await sink!.insert([eventRows([{ event_id: 'warm', ...recent }])], sink!.newToken!())
    const heat = async () => {
      const [row] = await clickhouse.rows<{ heat: number }>("SELECT heat FROM ipid.companies WHERE tenant_id = 'warm'")
      return row!.heat
    }
    assert.equal(await heat(), 49)
    const own = { tenant_id: 'warm', company_id: '', field: 'intent_pages', at: nowMs, change_id: '1', value: 'else' }
    await clickhouse.client.insert({ table: 'ipid.company_corrections', values: [own], format: 'JSONEachRow' })
    assert.equal(await heat(), 41)
  })

  await step('tables of one form are not used in the other form', async () => {
    await assert.rejects(migrate(url, log), {
      name: 'StartupError',
      message: /^CLICKHOUSE_CLUSTER is not set, and the database ipid has tables of cluster "one": nothing is changed/,
    })
    await assert.rejects(
      migrate(url, log, { cluster: 'both' }),
      /is "both", and the database ipid has tables of cluster "one"/,
    )
    await assert.rejects(assertOneServer('a backup', url, undefined), {
      name: 'StartupError',
      message: /^a backup does not work with the tables of a ClickHouse cluster \("one"\): nothing was done/,
    })
    await clickhouse.client.command({ query: 'DROP DATABASE ipid SYNC' })
    await assertOneServer('a backup', url, undefined)
    await migrate(url, log, { only: ['0001_events'] })
    await assertOneServer('a backup', url, undefined)
    await assert.rejects(migrate(url, log, { cluster: 'one' }), /has tables of one server/)
  })
})
