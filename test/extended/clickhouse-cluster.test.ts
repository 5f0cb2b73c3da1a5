import assert from 'node:assert/strict'
import { test } from 'node:test'
import { pino } from 'pino'
import type { AlertType } from '../../schemas/alert.ts'
import { tryAlert } from '../../src/alerts/evaluation/trial.ts'
import { ClickHouseVisits } from '../../src/alerts/evaluation/visits.ts'
import { ClickHouseCompanies } from '../../src/companies/companies.ts'
import { ClickHouseHome } from '../../src/companies/home.ts'
import { ClickHousePages } from '../../src/companies/pages.ts'
import { ClickHouseOverview } from '../../src/dashboard/queries/overview.ts'
import { ClickHouseStoredEvents } from '../../src/operations/reenrich/stored-events.ts'
import { ClickHouseAgedTables } from '../../src/operations/retention/aged-tables.ts'
import { clickhouse as clickhouseEvents, clickhouseOutcomes } from '../../src/pipeline/sinks/clickhouse/destination.ts'
import { absentRows, TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { connectClickHouse, DATABASE } from '../../src/stores/clickhouse/client.ts'
import { HostConnections } from '../../src/stores/clickhouse/hosts.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { connectReading, QuestionReader } from '../../src/stores/clickhouse/reader.ts'
import { readMigrations } from '../../src/stores/clickhouse/schema.ts'
import { EVENTS, OUTCOMES } from '../../src/stores/clickhouse/tables.ts'
import { filteredSums, storedGroups } from '../../src/tenants/rules/rule-trial.ts'
import { readTrackedAccounts } from '../../src/tenants/usage.ts'
import { startTestCluster, type TestShard } from '../support/cluster.ts'
import { eventRows } from '../support/event-rows.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const log = pino({ level: 'silent' })

test('the tables of a cluster', async (t) => {
  const step = stepsOf(t)
  const { url, hosts, shards, onCluster, inserts } = await startTestCluster(t)
  const [first, second] = shards
  const client = connectClickHouse(url, { application: 'test', database: DATABASE })
  t.after(() => client.close())
  const engines = (shard: TestShard) =>
    shard.rows<{ name: string; engine: string }>(
      `SELECT name, engine FROM system.tables WHERE database = '${DATABASE}' ORDER BY name`,
    )
  const count = async (table: string, shard: TestShard = first) =>
    (await shard.rows<{ n: number }>(`SELECT count() AS n FROM ipid.${table}`))[0]!.n

  await step('an unknown cluster is named, and nothing is created', async () => {
    await assert.rejects(migrate(url, log, { cluster: 'none' }), {
      name: 'StartupError',
      message: /^CLICKHOUSE_CLUSTER "none": must be a cluster that ClickHouse knows: away, both, lagging, one$/,
    })
    for (const shard of shards) assert.deepEqual(await engines(shard), [])
  })

  await step('Distributed tables read replicated ones, and views read Distributed ones', async () => {
    await migrate(url, log, { cluster: 'both' })
    assert.deepEqual(await engines(second), await engines(first))
    assert.deepEqual(
      (await engines(first)).map(({ name, engine }) => `${name} ${engine}`),
      [
        ...['accounts View', 'companies View', 'company_corrections MergeTree'],
        ...['company_heat View', 'company_numbers View', 'corrected_companies View'],
        ...['daily_outcomes View', 'daily_visits View', 'day_builds View'],
        ...['entity_days Distributed', 'entity_days_local MergeTree', 'events Distributed'],
        ...['events_local MergeTree', 'heat_weights View', 'hidden_changes MergeTree', 'hidden_events Distributed'],
        ...['hidden_events_local MergeTree', 'intent_pages View', 'merged_companies View'],
        ...['migrations MergeTree', 'outcomes Distributed', 'outcomes_local MergeTree'],
        ...['page_days Distributed', 'page_days_local MergeTree', 'read_intent_pages View'],
        ...['sessions View', 'valid_days View', 'valid_page_days View'],
        ...['valid_zone_days View', 'valid_zone_page_days View', 'visit_days View'],
        ...['zone_day_builds View', 'zone_days Distributed', 'zone_days_local MergeTree'],
        ...['zone_page_days Distributed', 'zone_page_days_local MergeTree'],
      ],
    )
    const columns = (table: string) =>
      first.rows(
        `SELECT name, type, default_kind, default_expression, comment FROM system.columns WHERE database = 'ipid' AND table = '${table}' ORDER BY position`,
      )
    for (const { name } of [EVENTS, OUTCOMES]) assert.deepEqual(await columns(name), await columns(`${name}_local`))
    const silent = `SELECT name FROM system.tables WHERE database = '${DATABASE}' AND comment = ''`
    assert.deepEqual(await first.rows(silent), [])
  })

  await step('applied migrations are left alone: an unreachable host delays no start', async () => {
    const before = onCluster.length
    await migrate(url, log, { cluster: 'both' })
    assert.equal(onCluster.length, before)
    const applied = await first.rows('SELECT DISTINCT name FROM ipid.migrations ORDER BY name')
    assert.deepEqual(
      applied,
      (await readMigrations()).map(({ name }) => ({ name })),
    )
  })

  await step('ClickHouse accepts the replicated tables as they are written', async () => {
    await first.client.command({ query: 'CREATE DATABASE form' })
    const creates = onCluster.filter((query) => query.includes('ReplicatedMergeTree('))
    assert.equal(creates.length, 10)
    for (const query of creates) {
      const here = query.replace(/ ON CLUSTER `both`/, '').replaceAll('ipid.', 'form.')
      await first.client.command({ query: here })
    }
    const replicas = await first.rows(
      "SELECT table, zookeeper_path AS path, replica_name AS name FROM system.replicas WHERE database = 'form' ORDER BY table",
    )
    assert.deepEqual(replicas, [
      { table: 'company_corrections', path: '/clickhouse/tables/ipid/company_corrections', name: '01-r1' },
      { table: 'entity_days_local', path: '/clickhouse/tables/01/ipid/entity_days', name: 'r1' },
      { table: 'events_local', path: '/clickhouse/tables/01/ipid/events', name: 'r1' },
      { table: 'hidden_changes', path: '/clickhouse/tables/ipid/hidden_changes', name: '01-r1' },
      { table: 'hidden_events_local', path: '/clickhouse/tables/01/ipid/hidden_events', name: 'r1' },
      { table: 'migrations', path: '/clickhouse/tables/ipid/migrations', name: '01-r1' },
      { table: 'outcomes_local', path: '/clickhouse/tables/01/ipid/outcomes', name: 'r1' },
      { table: 'page_days_local', path: '/clickhouse/tables/01/ipid/page_days', name: 'r1' },
      { table: 'zone_days_local', path: '/clickhouse/tables/01/ipid/zone_days', name: 'r1' },
      { table: 'zone_page_days_local', path: '/clickhouse/tables/01/ipid/zone_page_days', name: 'r1' },
    ])
  })

  await step('ClickHouse parses every statement for all hosts', async () => {
    const texts = onCluster.map((query) => `$query$${query}$query$`).join()
    const read = await first.rows<{ q: string }>(`SELECT formatQuery(arrayJoin([${texts}])) AS q`)
    assert.equal(read.length, onCluster.length)
    for (const { q } of read) assert.match(q, /\bON CLUSTER both\b/)
  })

  const tools = {
    clickhouseUrl: url,
    clickhouseCluster: 'both',
    settings: {},
    archive: { folder: '' },
    share: { number: 0, of: 1 },
    log,
  }
  const [sink, outcomes] = [clickhouseEvents, clickhouseOutcomes].map((destination) => destination.open(tools))
  t.after(() => Promise.all([sink!.close(), outcomes!.close()]))
  const rows = eventRows([
    { event_id: 'a', extra: '{"url":"/?utm_source=news"}' },
    { event_id: 'b', received_at: Date.UTC(2025, 8, 1), ip: '192.0.2.2' },
  ])
  const ofSecond = eventRows([{ event_id: 'c', ip: '192.0.2.3' }])
  const tokenOf = (shard: 1 | 2) => sink!.newToken!().replace(/s\d$/, `s${shard}`)

  await step(
    'rows are stored once under a token, in the shard that it names, and all are seen in the views',
    async () => {
      await sink!.prepare()
      const used = new Set(Array.from({ length: 50 }, () => sink!.newToken!().slice(-2)))
      assert.deepEqual([...used].sort(), ['s1', 's2'])
      const tokens = [tokenOf(1), tokenOf(2)] as const
      for (let i = 0; i < 3; i++) {
        await sink!.insert([rows], tokens[0])
        await sink!.insert([ofSecond], tokens[1])
      }
      assert.deepEqual([await count('events_local', first), await count('events_local', second)], [2, 1])
      const account = 'SELECT account_id, events, visits, unique_ips FROM ipid.accounts'
      for (const shard of shards) {
        assert.equal(await count('events', shard), 3)
        assert.deepEqual(await shard.rows(account), [
          { account_id: 'example.com', events: 3, visits: 3, unique_ips: 3 },
        ])
        for (const view of ['companies', 'daily_visits', 'daily_outcomes'])
          assert.notEqual(await count(view, shard), 0, view)
      }
      await sink!.assertOpen!()
      const pages = 'SELECT url, utm_source, count() AS events FROM ipid.events GROUP BY ALL ORDER BY ALL'
      assert.deepEqual(await first.rows(pages), [
        { url: '', utm_source: '', events: 2 },
        { url: '/?utm_source=news', utm_source: 'news', events: 1 },
      ])
    },
  )

  await step('sums of outcomes are stored once, too', async () => {
    await outcomes!.prepare()
    const sum = [Buffer.from('commit:1\tacme\t2025-11-20\t\tfiltered\t\tisp\t3\n')]
    assert.deepEqual(await outcomes!.absent(sum), sum)
    for (let i = 0; i < 2; i++) await outcomes!.insert(sum, 'sum')
    assert.deepEqual(await outcomes!.absent(sum), [])
    const filtered = "SELECT events FROM ipid.daily_outcomes WHERE status = 'filtered'"
    assert.deepEqual(await first.rows(filtered), [{ events: 3 }])
  })

  await step('an insert waits for a majority of several replicas', async () => {
    const settings = inserts.find(({ query }) => query!.startsWith('INSERT INTO events '))!
    assert.deepEqual([settings.distributed_foreground_insert, settings.prefer_localhost_replica], ['1', '0'])
    assert.equal(settings.insert_quorum, undefined)
    const ofTwo = new TableInserter(EVENTS, client, async () => {}, 'away')
    await ofTwo.prepare()
    await ofTwo.insert([rows], settings.insert_deduplication_token!)
    assert.equal(inserts.at(-1)!.insert_quorum, 'auto')
    assert.equal(await count('events'), 3)
  })

  await step('a removed shard refuses no row', async () => {
    const token = sink!.newToken!().replace(/s\d$/, 's3')
    await assert.rejects(sink!.insert([rows], `${token}.0`), { type: 'INVALID_SHARD_ID' })
  })

  await step('ClickHouse refuses an insert that names no shard of several', async () => {
    const insert = first.client.command({ query: "INSERT INTO ipid.events (event_id) VALUES ('x')" })
    await assert.rejects(insert, { type: 'STORAGE_REQUIRES_PARAMETER' })
  })

  await step('a shard that is down: its rows wait, and no read is answered without them', async () => {
    await second.kill()
    await assert.rejects(sink!.insert([ofSecond], tokenOf(2)))
    await sink!.insert(
      [rows],
      inserts.find(({ query }) => query!.startsWith('INSERT INTO events '))!.insert_deduplication_token!,
    )
    await assert.rejects(count('events'))
    await second.start()
    assert.equal(await count('events'), 3)
  })

  await step('every read of the product covers several shards', async () => {
    const reading = connectReading(url, 'test')
    t.after(() => reading.close())
    const reader = new QuestionReader(reading)
    const companies = new ClickHouseCompanies(reader, { now: () => Date.UTC(2025, 10, 21) })
    const days = { from: '2025-11-01', to: '2025-11-21' }
    const view = { sort: 'visits', order: 'desc', ...days } as const
    const page = await companies.page('acme', { ...view, limit: 10 })
    assert.deepEqual([page.total, page.rows[0]!.events], [1, 3])
    const [found] = (await companies.details('acme', { companies: ['example.com'], ...days })).companies
    assert.equal(found!.visits, 3)
    assert.equal((await companies.company('acme', 'example.com', 30))!.events.length, 3)
    await companies.choices('acme')
    assert.equal((await companies.page('acme', { sort: 'heat', heat_max: 100 })).total, 1)
    for await (const rows of companies.rows('acme', view, new AbortController().signal)) assert.equal(rows.length, 1)
    const week = await new ClickHouseHome(reader).week('acme', Date.UTC(2025, 10, 21))
    assert.deepEqual([week.now.companies, week.now.events, week.newcomers.length], [1, 3, 1])
    const read = await new ClickHousePages(reader).pages('acme', { from: '2025-11-01', to: '2025-11-21' }, [])
    assert.ok(read.total > 0)
    const overview = new ClickHouseOverview(reader)
    assert.equal((await overview.eventDays('acme', days)).companies, 1)
    const received = await overview.outcomes('acme', days)
    assert.deepEqual(received.map(({ status, events }) => `${status} ${events}`).sort(), ['filtered 3', 'stored 2'])
    assert.equal((await overview.tracked('acme', '2025-11', 5)).tracked_accounts, 1)
    assert.deepEqual(await readTrackedAccounts(client, '2025-11'), new Map([['acme', 1]]))
    for (const eventId of ['a', 'c'])
      assert.equal((await new ClickHouseStoredEvents(client).find({ tenantId: 'acme', eventId })).length, 1)
    let grouped = 0
    for await (const group of storedGroups(client, 'acme', { since: '2025-11-01' })) grouped += group.events
    assert.equal(grouped, 2)
    await filteredSums(client, 'acme', { since: '2025-11-01' })
    const visits = new ClickHouseVisits(reader, async () => [], { now: () => Date.UTC(2025, 10, 21) })
    const dry = (on: AlertType, where?: string) =>
      tryAlert(visits, 'acme', { on, afterDays: 30, where }, 90, Date.UTC(2025, 10, 21))
    const once = [{ day: '2025-11-20', company_id: 'example.com' }]
    assert.deepEqual(await dry('company.first_seen', 'country=DE'), once)
    assert.deepEqual(await dry('company.returned'), [])
    assert.deepEqual(await dry('company.corrected', 'country=DE'), [])
    assert.deepEqual(await dry('segment.entered', 'country=DE,visits>=2,days=30,page~utm_source,campaign!=x'), once)
    assert.deepEqual(await dry('segment.entered', 'visits>=4,heat<=100'), [])
  })

  await step('a row is stored if a majority has it, and absent if all replicas answer without it', async () => {
    const others = eventRows([{ event_id: 'nowhere' }])
    const onTwo = eventRows([{ event_id: 'replicated', tenant_id: 'replicated' }])
    for (const shard of [1, 2] as const) await sink!.insert([onTwo], tokenOf(shard))
    const look = (lines: Buffer, name: string, of: number) =>
      absentRows(client, [lines], { table: EVENTS, cluster: { name, replicasPerShard: of } })
    assert.deepEqual(await sink!.absent([rows, ofSecond]), [])
    assert.deepEqual(await sink!.absent([rows, others]), [others])
    // Two of three replicas have them, and the third one is down.
    assert.deepEqual(await look(onTwo, 'lagging', 3), [])
    await assert.rejects(look(rows, 'away', 2), /127\.0\.0\.1:1\b/)
    await assert.rejects(look(rows, 'one', 3), UnavailableError)
    await assert.rejects(look(others, 'lagging', 3), /127\.0\.0\.1:1\b/)
    // The reset of its connection to the first may have ended the second, and if it has not yet, it may end it later.
    await second.kill()
    await second.start()
    const remove = "ALTER TABLE ipid.events_local DELETE WHERE tenant_id = 'replicated' SETTINGS mutations_sync = 1"
    for (const shard of shards) await shard.client.command({ query: remove })
  })

  await step('rows that are too old are removed from the tables of all hosts', async () => {
    const policy = { defaultDays: 30, ofTenants: new Map() }
    const aged = new ClickHouseAgedTables({ url, cluster: 'both' })
    const before = onCluster.length
    // On the first of December the month of September is dropped as a whole.
    assert.equal(await aged.removeAged(policy, Date.UTC(2025, 11, 1)), 1)
    assert.equal(await count('events'), 2)
    // In the middle of a month single rows are deleted.
    assert.equal(await aged.removeAged(policy, Date.UTC(2025, 11, 25)), 3)
    const [month, day, sums] = onCluster.slice(before)
    assert.match(month!, /^ALTER TABLE ipid\.events_local ON CLUSTER `both` DROP PARTITION ID '202509'/)
    assert.match(day!, /^ALTER TABLE ipid\.events_local ON CLUSTER `both` DELETE WHERE \(toDate32/)
    assert.match(sums!, /^ALTER TABLE ipid\.outcomes_local ON CLUSTER `both` DELETE WHERE \(day < /)
    await until(
      () => count('events'),
      (events) => events === 0,
    )
    await sink!.assertOpen!()
    // A node that cannot reach all replicas removes nothing.
    await assert.rejects(
      new ClickHouseAgedTables({ url, cluster: 'away' }).removeAged(policy, Date.UTC(2026, 1, 1)),
      /127\.0\.0\.1:1\b/,
    )
  })

  await step('heat follows the events of all shards, and the intent pages of the tenant', async () => {
    const nowMs = Date.now()
    const recent = { received_at: nowMs, timestamp: nowMs, tenant_id: 'warm', extra: '{"url":"/buy"}' }
    await sink!.insert([eventRows([{ event_id: 'warm', ...recent }])], sink!.newToken!())
    const heat = async () => {
      const [row] = await first.rows<{ heat: number }>("SELECT heat FROM ipid.companies WHERE tenant_id = 'warm'")
      return row!.heat
    }
    assert.equal(await heat(), 49)
    const own = { tenant_id: 'warm', company_id: '', field: 'intent_pages', at: nowMs, change_id: '1', value: 'else' }
    await first.client.insert({ table: 'ipid.company_corrections', values: [own], format: 'JSONEachRow' })
    assert.equal(await heat(), 41)
  })

  await step('CLICKHOUSE_HOSTS must name each host of the cluster once', async () => {
    const find = async (place: { cluster?: string; hosts?: readonly string[] }) => {
      const connections = new HostConnections({ url, ...place }, { application: 'test' })
      try {
        return await connections.find()
      } finally {
        await connections.close()
      }
    }
    const found = await find({ cluster: 'both', hosts: [...hosts].reverse() })
    assert.deepEqual(
      found.shards.map((shard) => shard.map(({ name }) => name)),
      hosts.map((host) => [new URL(host).host]),
    )
    const [one, two] = hosts.map((host) => new URL(host).host)
    const refusals: [Parameters<typeof find>[0], RegExp][] = [
      // Whatever the settings say, the tables show that they are on a cluster.
      [
        {},
        /^the tables are on the ClickHouse cluster "both", .*: set CLICKHOUSE_CLUSTER to its name, and CLICKHOUSE_HOSTS to http:\/\/host:8123 of each/,
      ],
      [{ cluster: 'both' }, /and CLICKHOUSE_HOSTS/],
      [
        { cluster: 'both', hosts: [hosts[0]!] },
        /^CLICKHOUSE_HOSTS lacks a host of the cluster: shard 2, replica 1 \(127/,
      ],
      [{ cluster: 'both', hosts: [url, ...hosts] }, new RegExp(`shard 1, replica 1 .* 2 times: .*, ${one}$`)],
      [{ cluster: 'one', hosts }, /is "one", and the database ipid has tables of cluster "both"/],
    ]
    for (const [place, message] of refusals) await assert.rejects(find(place), { name: 'StartupError', message })
    await second.kill()
    await assert.rejects(find({ cluster: 'both', hosts }), {
      name: 'UnavailableError',
      message: new RegExp(`^${two} of CLICKHOUSE_HOSTS does not answer: `),
    })
    await second.start()
  })

  await step('tables of one form are not used in the other form', async () => {
    await assert.rejects(migrate(url, log), {
      name: 'StartupError',
      message: /^CLICKHOUSE_CLUSTER is not set, and the database ipid has tables of cluster "both": nothing is changed/,
    })
    await assert.rejects(
      migrate(url, log, { cluster: 'one' }),
      /is "one", and the database ipid has tables of cluster "both"/,
    )
    for (const shard of shards) await shard.client.command({ query: 'DROP DATABASE ipid SYNC' })
    await migrate(url, log, { only: ['0001_events'] })
    await assert.rejects(migrate(url, log, { cluster: 'both' }), /has tables of one server/)
    const whole = new HostConnections({ url, cluster: 'both', hosts }, { application: 'test' })
    await assert.rejects(whole.find(), /has tables of one server/)
    await whole.close()
  })
})
