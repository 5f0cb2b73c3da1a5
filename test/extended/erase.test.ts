import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ingest } from '../../pipelines/ingest.ts'
import type { BatchJob } from '../../schemas/api/batch.ts'
import type { DeletionReceipt } from '../../schemas/erasure.ts'
import { DEFAULT_PLANS } from '../../schemas/plans.ts'
import { createDemoTenant } from '../../src/cli/start/demo-tenant.ts'
import { BUILD_ID, BUILD_SQL } from '../../src/days/day-tables.ts'
import { ClickHouseErasableEvents } from '../../src/operations/erasure/erasable-events.ts'
import { renewLetters, untilNodesGone } from '../../src/operations/erasure/redis/deleted-entries.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { identityOf } from '../../src/pipeline/event/envelope.ts'
import { claimIdOf } from '../../src/pipeline/streams/entries.ts'
import { findClaim, forgetClaims, seedClaims } from '../../src/pipeline/streams/seen-claims.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { DAY_TABLES } from '../../src/stores/clickhouse/tables.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { hashKey } from '../../src/tenants/key.ts'
import { readArchive } from '../support/archive.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { TestDays } from '../support/days.ts'
import { ErasableInstance } from '../support/erasable.ts'
import { type PagedS3, type Paging, startPagedS3 } from '../support/paged-s3.ts'
import { quiet } from '../support/pipeline.ts'
import { receivedDays } from '../support/received-days.ts'
import { startTestRedis } from '../support/redis.ts'
import { S3_ENVIRONMENT } from '../support/s3.ts'
import { stepsOf } from '../support/steps.ts'
import { handClock, startTenants } from '../support/tenants.ts'
import { until } from '../support/until.ts'

Object.assign(process.env, S3_ENVIRONMENT)

const ERASED = '17.123.45.67'
/** A text in an event of that address, found as bytes in files: LZ4, unlike other codecs, keeps new text as it is. */
const MARK = 'Zq8-mark-of-one-visitor-7Xw'
const OTHER = '17.200.1.2'
/** The known domain of one of its events. */
const EMPLOYER = 'zq8-employer.example'

const REST = [
  `SELECT * EXCEPT (received_at) FROM events WHERE event_id NOT IN ('a1', 'a2', 'a3', 'b1') ORDER BY tenant_id, event_id`,
  `SELECT * FROM accounts WHERE account_id != 'of-the-visitor' ORDER BY ALL`,
  `SELECT * FROM daily_visits WHERE account_id != 'of-the-visitor' ORDER BY ALL`,
  `SELECT * FROM outcomes ORDER BY ALL`,
]

test('erased events are in no file and no object, and all others are unchanged', async (t) => {
  const step = stepsOf(t)
  const run = await ErasableInstance.start(t)
  const demo = run.ready.api_key!
  await run.ipid('tenant', 'create', 'acme', '--plan', 'custom', '--archive', 'on')
  await run.ipid('tenant', 'set', 'demo', '--archive', 'on')
  const { key: acme } = JSON.parse(await run.ipid('key', 'create', 'acme', '--json')) as { key: string }
  // Searched as bytes, whatever surrounds it.
  await run.query('ALTER TABLE events MODIFY COLUMN ip String CODEC(NONE)')

  const mine = {
    account_id: 'of-the-visitor',
    properties: { mark: MARK },
    user_properties: { email: `jane@mail.${EMPLOYER}` },
  }
  await run.send(demo, { ip: ERASED, event_id: 'a1', ...mine }, { ip: OTHER, event_id: 'o1' }, { ip: OTHER })
  await run.send(
    demo,
    { ip: ERASED, event_id: 'a1' },
    { ip: `::ffff:${ERASED}`, event_id: 'a2', account_id: 'of-the-visitor' },
  )
  await run.send(demo, { ip: ERASED, event_id: 'a3', account_id: 'of-the-visitor' }, { ip: `${ERASED}:443` })
  await run.send(acme, { ip: OTHER, event_id: 'a1', account_id: 'kept' }, { ip: '10.0.0.1' })
  const lines = [
    `{"ip":"::FFFF:${ERASED}","event_id":"b1","account_id":"of-the-visitor","x":"${MARK}"}`,
    `{"ip":"${OTHER}","event_id":"o2"}`,
    `x${ERASED}`,
  ]
  const batch = await run.job('/v1/ingest/batch', demo, lines.join('\n'))
  // Earlier versions quoted the line in the error.
  const summary = JSON.parse((await run.redis.hget(keys.job(batch.job_id), 'summary'))!)
  summary.errors[0].detail = `is not JSON: Unexpected token 'x', "x${ERASED}" is not valid JSON`
  await run.redis.hset(keys.job(batch.job_id), 'summary', JSON.stringify(summary))
  const bulk = await run.job('/v1/bulk?mode=async', demo, JSON.stringify({ ips: [OTHER, ERASED] }))
  const otherBulk = await run.job('/v1/bulk?mode=async', demo, JSON.stringify({ ips: [OTHER] }))
  await run.untilIdle()
  await run.bury('demo', 'dead-1', ERASED)
  await run.bury('demo', 'dead-2', OTHER)
  await until(async () => (await readArchive(run.store)).flatMap(({ events }) => events).length === 11)
  // An archiver that was killed during a write.
  writeFileSync(join(run.site.dir, 'archive/.partial/left'), gzipSync(`{"ip":"${ERASED}"}`))
  const rest = await Promise.all(REST.map((sql) => run.query(sql)))

  await step('before it, they are found everywhere', async () => {
    assert.equal(await run.query(`SELECT event_id FROM events WHERE known_domain = '${EMPLOYER}'`), 'a1')
    for (const text of [ERASED, MARK]) {
      const files = run.filesWith(text)
      for (const folder of ['archive/tenant=', 'clickhouse/store', 'redis/appendonlydir']) {
        assert.ok(
          files.some((name) => name.startsWith(folder)),
          `${text} in ${folder}: ${files}`,
        )
      }
    }
    assert.deepEqual((await run.keysWith(ERASED)).length >= 3, true)
  })

  await step('an erasure by address', async () => {
    const receipt = await run.erase('demo', '--ip', `::ffff:${ERASED}`)
    const { clickhouse, archive, redis, ...said } = receipt
    assert.deepEqual(clickhouse, { rows: 4, detached_parts: 0 })
    assert.equal(archive.lines, 6)
    assert.ok(archive.rewritten + archive.deleted > 0)
    assert.deepEqual(redis, { dead_letters: 1, dedup: 4, batch_jobs: 1, bulk_jobs: 1, files: 'rewritten' })
    const rejected = await fetch(`${run.ready.url}/v1/ingest/batch/${batch.job_id}/rejected`, {
      headers: { 'x-api-key': demo },
    })
    assert.match(await rejected.text(), /^\{"line":3,"code":"not_json","detail":"[^"]*"\}\n$/)
    assert.deepEqual([said.tenant_id, said.selector], ['demo', 'ip'])
    assert.doesNotMatch(JSON.stringify(receipt), /123\.45|of-the-visitor|"a1"/)
    for (const text of [ERASED, MARK, EMPLOYER, 'of-the-visitor']) {
      assert.deepEqual(run.filesWith(text), [], text)
      assert.deepEqual(await run.keysWith(text), [], text)
    }
    assert.equal(await run.query(`SELECT count() FROM events WHERE ip = '${ERASED}'`), '0')
    assert.deepEqual(await Promise.all(REST.map((sql) => run.query(sql))), rest)
    // Every part still matches its index.
    const ids = (await readArchive(run.store)).flatMap(({ events }) => events.map(({ eventId }) => eventId))
    assert.deepEqual(ids.filter((id) => /^[abo]\d$/.test(id)).sort(), ['a1', 'o1', 'o2'])
    assert.equal(ids.length, 5)
    assert.equal((await readStatus(run.redis, ingest)).dead_letters, 1)
    assert.equal((await run.ask('GET', `/v1/bulk/${bulk.job_id}`, demo)).status, 404)
    assert.equal((await run.ask('GET', `/v1/bulk/${otherBulk.job_id}`, demo)).status, 200)
    const job = (await (await run.ask('GET', `/v1/ingest/batch/${batch.job_id}`, demo)).json()) as BatchJob
    assert.deepEqual(job.result_summary!.errors, [{ line: 3, detail: 'is not JSON' }])
  })

  await step('repeated, it finds nothing; events sent again are new', async () => {
    const again = await run.erase('demo', '--ip', ERASED)
    assert.deepEqual([again.clickhouse.rows, again.archive.lines, again.redis.dedup], [0, 0, 0])
    for (let i = 0; i < 2; i++) await run.send(demo, { ip: ERASED, event_id: 'a1' }, { ip: OTHER, event_id: 'o1' })
    await run.untilIdle()
    assert.equal(
      await run.query(
        `SELECT event_id, count() FROM events WHERE tenant_id = 'demo' AND event_id IN ('a1', 'o1') GROUP BY ALL ORDER BY ALL`,
      ),
      'a1\t1\no1\t1',
    )
  })

  await step('killed halfway and repeated, it has the same result', async () => {
    const mark = 'Kq2-mark-of-a-killed-one'
    await run.send(demo, { ip: ERASED, event_id: 'k1', properties: { mark } })
    await run.untilIdle()
    const killed = run.site.spawn('erase', 'demo', '--ip', ERASED)
    await until(
      () => killed.stderr(),
      (text) => text.includes('rows'),
    )
    killed.child.kill('SIGKILL')
    await killed.ended
    await run.erase('demo', '--ip', ERASED)
    for (const text of [ERASED, mark]) assert.deepEqual([...run.filesWith(text), ...(await run.keysWith(text))], [])
    // The setting during its run is as before.
    assert.doesNotMatch(await run.query('SHOW CREATE TABLE events'), /old_parts_lifetime/)
    assert.equal(await run.query(`SELECT count() FROM system.tables WHERE name = 'erasing'`), '0')
  })

  await step('by account, also when the organisation is the account; by id', async () => {
    await run.send(
      demo,
      { ip: OTHER, event_id: 'c1', account_id: 'kept' },
      { ip: OTHER, event_id: 'c2', x: 'of-no-account' },
    )
    await run.send(acme, { ip: OTHER, event_id: 'c2' })
    await run.untilIdle()
    const company = await run.query(`SELECT account_id FROM events WHERE event_id = 'c2' AND tenant_id = 'demo'`)
    assert.match(company, /^[a-z.-]+$/)
    const receipt = await run.erase('demo', '--account', company)
    assert.equal(receipt.clickhouse.rows, 4, 'o1, c2, o2, and the one without an id')
    assert.deepEqual(run.filesWith('of-no-account'), [])
    assert.equal(await run.query(`SELECT groupArraySorted(9)(event_id) FROM events WHERE tenant_id = 'demo'`), "['c1']")
    const left = (await readArchive(run.store)).filter(({ location }) => location.tenantId === 'demo')
    assert.deepEqual(
      left.flatMap(({ events }) => events.map(({ eventId }) => eventId)),
      ['c1'],
    )
    const one = await run.erase('acme', '--event', 'c2')
    assert.deepEqual([one.clickhouse.rows, one.archive.lines], [1, 1])
    assert.equal(await run.query(`SELECT groupArraySorted(9)(event_id) FROM events WHERE tenant_id = 'acme'`), "['a1']")
  })

  await step('by source, with the counts of its events', async () => {
    const { source_id, url } = JSON.parse(await run.ipid('source', 'create', 'acme', 'segment', '--json'))
    const call = (messageId: string, ip?: string) => ({ type: 'page', messageId, context: { ip } })
    const batch = [call('s1', OTHER), call('s2', OTHER), call('s2', OTHER), call('s3', '10.0.0.1'), call('s4')]
    const sent = await fetch(`${url}/v1/batch`, { method: 'POST', body: JSON.stringify({ batch }) })
    assert.equal(sent.status, 200)
    await run.untilIdle()
    const counted = `SELECT sum(events) FROM outcomes WHERE source_id = '${source_id}'`
    await until(
      () => run.query(counted),
      (events) => events === '3',
    )
    const receipt = await run.erase('acme', '--source', source_id)
    assert.deepEqual([receipt.clickhouse.rows, receipt.redis.dedup], [2, 2])
    assert.equal(await run.query(counted), '0')
    assert.equal(await run.query(`SELECT groupArraySorted(9)(event_id) FROM events WHERE tenant_id = 'acme'`), "['a1']")
  })

  await step('a tenant is deleted with all its data; a repeated deletion has the same result', async () => {
    const others = ['events', 'accounts', 'daily_outcomes'].map(
      (name) => `SELECT * FROM ${name} WHERE tenant_id != 'acme'`,
    )
    const answers = () => Promise.all(others.map((sql) => run.query(`${sql} ORDER BY ALL`)))
    await run.send(acme, { ip: OTHER, event_id: 'z1', properties: { mark: 'of-acme-alone' } })
    await run.job('/v1/ingest/batch', acme, `{"ip":"${OTHER}","event_id":"z2"}\nof-acme`)
    await run.job('/v1/bulk?mode=async', acme, JSON.stringify({ ips: [OTHER] }))
    await run.untilIdle()
    await run.bury('acme', 'dead-3', OTHER)
    await run.query(
      "INSERT INTO company_corrections (tenant_id, company_id, value) VALUES ('acme', 'x', 'of-acme-alone')",
    )
    await run.query(
      "INSERT INTO company_corrections (tenant_id, field, value) VALUES ('acme', 'intent_pages', 'of-acme-alone')",
    )
    const before = await answers()
    const declined = await runCommand(['tenant', 'delete', 'acme'], { env: run.site.env as never, stdin: ['demo\n'] })
    assert.deepEqual([declined.code, declined.stderr.includes('nothing was deleted')], [2, true])

    await new RedisTenantRemoval(run.redis).mark('acme')
    await until(async () => (await run.ask('POST', '/v1/lookup', acme, { ip: OTHER })).status === 401)
    for (const args of [
      ['tenant', 'create', 'acme'],
      ['key', 'create', 'acme'],
      ['tenant', 'set', 'acme', '--plan', 'growth'],
    ]) {
      const { code, stderr } = await run.site.ipid(...args)
      assert.deepEqual(
        [code, /is being deleted: run "ipid tenant delete acme" again/.test(stderr)],
        [2, true],
        args.join(' '),
      )
    }
    assert.match(await run.ipid('tenant', 'show', 'acme'), /being deleted/)
    const options = { env: run.site.env as never, stdin: ['acme\n'] }
    const done = await runCommand(['tenant', 'delete', 'acme', '--json'], options)
    assert.equal(done.code, 0, done.stderr)
    const { clickhouse, archive, redis } = JSON.parse(done.stdout) as DeletionReceipt
    assert.deepEqual(clickhouse, { rows: 3, outcomes: 2, corrections: 2, detached_parts: 0 })
    assert.ok(archive.objects > 0 && archive.objects % 2 === 0)
    assert.deepEqual(redis, { keys: 2, dead_letters: 1, dedup: 3, batch_jobs: 1, bulk_jobs: 1, files: 'rewritten' })

    assert.deepEqual(await answers(), before)
    for (const table of ['events', 'outcomes', 'company_corrections']) {
      assert.equal(await run.query(`SELECT count() FROM ${table} WHERE tenant_id = 'acme'`), '0', table)
    }
    assert.deepEqual(
      (await readArchive(run.store)).filter(({ location }) => location.tenantId === 'acme'),
      [],
    )
    assert.deepEqual(run.filesWith('of-acme-alone'), [])
    const named = (await run.redis.keys('*')).filter((key) => key.includes('acme'))
    assert.deepEqual([...named, ...(await run.keysWith('acme'))], [])
    assert.match((await run.site.ipid('tenant', 'delete', 'acme', '--yes')).stderr, /unknown tenant "acme"/)
    assert.equal((await run.ask('POST', '/v1/lookup', acme, { ip: OTHER })).status, 401)
    await run.ipid('tenant', 'create', 'acme')
    assert.deepEqual(JSON.parse(await run.ipid('key', 'list', 'acme', '--json')), [])
  })

  await step('rows and objects past their age are searched for, by the default or a tenant’s own number', async () => {
    // Its exit code is that of the verdict, a warning about the dead letter.
    const status = await until(
      async () => (await run.site.ipid('status')).stdout,
      (text) => text.split('retention: ').length === 3,
    )
    assert.match(status, /retention: 0 old objects of the archive removed at 2/)
    assert.match(status, /retention: 0 old rows removed at 2/)
    for (const [given, kept] of [
      ['90', 90],
      ['none', 0],
      ['default', null],
    ] as const) {
      const set = await run.ipid('tenant', 'set', 'demo', '--retention-days', given, '--json')
      assert.equal((JSON.parse(set) as { retention_days: number | null }).retention_days, kept)
    }
    const { code, stderr } = await run.site.ipid('tenant', 'set', 'demo', '--retention-days', '0')
    assert.deepEqual([code, /--retention-days "0": .*, none or default/.test(stderr)], [2, true], stderr)
  })

  await step('the list of a bucket is read to its end, or the erasure fails', async () => {
    for (const id of ['s1', 's2', 's3']) {
      await run.send(demo, { ip: ERASED, event_id: id })
      // Each is in its own part.
      await until(async () =>
        (await readArchive(run.store)).some(({ events }) => events.some(({ eventId }) => eventId === id)),
      )
    }
    await run.untilIdle()
    const bucketOf = async (paging: Paging) => {
      const s3 = await startPagedS3(t, paging)
      for await (const { key } of run.store.list('')) s3.objects.set(key, await buffer((await run.store.get(key))!))
      return { s3, flags: ['--archive-url', `s3://events?endpoint=${s3.endpoint}`] }
    }
    const [whole, stuck] = [await bucketOf('markers'), await bucketOf('repeats')]
    const held = (s3: PagedS3) => [...s3.objects.values()].filter((bytes) => gunzipSync(bytes).includes(ERASED)).length
    assert.deepEqual([held(whole.s3), held(stuck.s3)], [3, 3])

    const replay = (flags: readonly string[]) =>
      run.site.ipid('replay', '--tenant', 'demo', ...receivedDays(), '--dry-run', ...flags)
    const followed = await replay([...whole.flags, '--json'])
    assert.equal(followed.code, 0, followed.stderr)
    const parts = (await readArchive(run.store)).filter(({ location }) => location.tenantId === 'demo').length
    assert.deepEqual([JSON.parse(followed.stdout).parts, parts > 3], [parts, true])
    for (const command of [
      () => replay(stuck.flags),
      () => run.site.ipid('erase', 'demo', '--ip', ERASED, ...stuck.flags),
    ]) {
      const before = stuck.s3.lists
      const { code, stdout, stderr } = await command()
      assert.deepEqual([code, stdout], [1, ''], stderr)
      assert.match(
        stderr,
        /^ipid: s3:\/\/events\/ at \S+ (?:its list repeats a continuation token|it lists \S+ after \S+)$/m,
      )
      assert.ok(stuck.s3.lists - before < 10)
    }
    assert.equal(held(stuck.s3), 3)
    const { archive } = await run.erase('demo', '--ip', ERASED, ...whole.flags)
    assert.deepEqual([archive.lines, held(whole.s3)], [3, 0])
  })

  await step('wrong usage gets a clear error, which does not repeat the address', async () => {
    const said = async (...args: string[]) => {
      const { code, stderr } = await run.site.ipid('erase', ...args)
      return `${code} ${stderr.trim()}`
    }
    assert.equal(await said('demo'), '2 ipid: give one of --ip, --account, --event and --source')
    assert.equal(
      await said('demo', '--ip', OTHER, '--event', 'x'),
      '2 ipid: give one of --ip, --account, --event and --source',
    )
    assert.equal(await said('demo', '--ip', 'visitor'), '2 ipid: --ip is no IP address')
    assert.match(await said('nobody', '--ip', OTHER), /^2 ipid: .*nobody/)
  })
})

/* The tables. */

const AT = Date.parse('2026-11-22T00:00:00Z')

test('an e-mail address that is erased is in no file and no key, and one of a person of the workspace is refused', async (t) => {
  const run = await ErasableInstance.start(t)
  const [gone, kept] = ['zq8-gone@site.example', 'zq8-kept@site.example']
  for (const address of [gone, kept]) {
    await run.ipid(
      'alert',
      'create',
      'demo',
      `To ${address.slice(4, 8)}`,
      '--on',
      'company.first_seen',
      '--email',
      address,
    )
    await run.ipid('digest', 'subscribe', 'demo', address)
  }
  assert.ok((await run.keysWith(gone)).length > 0)
  const text = await run.ipid('erase', 'demo', '--email', gone.toUpperCase())
  assert.match(text, /alerts and subscriptions +2\nmessages +2\nRedis' files +rewritten/)
  assert.deepEqual([...run.filesWith(gone), ...(await run.keysWith(gone))], [])
  assert.ok((await run.keysWith(kept)).length > 0)
  await run.ipid('dashboard', 'link', 'demo', '--name', 'Kept', '--email', kept)
  const refused = await run.site.ipid('erase', 'demo', '--email', kept)
  assert.deepEqual([refused.code, /belongs to a person of the workspace/.test(refused.stderr)], [2, true])
  const both = await run.site.ipid('erase', 'demo', '--email', gone, '--ip', ERASED)
  assert.deepEqual([both.code, /give it alone/.test(both.stderr)], [2, true])
})

test('an interrupted erasure continues by itself, and removes nothing that the next one needs', async (t) => {
  // Stops merges, which only the user of an external one may.
  const { url, client, rows } = await startTestClickHouse(t, { external: true })
  const command = (query: string) => client.command({ query })
  for (const tenant of ['a', 'b']) {
    for (const account of ['x', 'y']) {
      await command(`
        INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id)
        SELECT '17.0.0.1', '${tenant}', '${account}' || toString(number), '2026-11-20', '2026-11-20', '${account}', 'c'
        FROM numbers(5)`)
    }
  }
  const erase = async (tenantId: string, value: string, waitMs: number) => {
    const tables = new ClickHouseErasableEvents(url)
    try {
      await tables.begin({ tenantId, selector: { kind: 'account', value }, beforeMs: AT })
      return await tables.remove(performance.now() + waitMs)
    } finally {
      await tables.end()
    }
  }
  await command('SYSTEM STOP MERGES events')
  await assert.rejects(erase('a', 'x', 300), /has not removed the rows in time/)
  await command('SYSTEM START MERGES events')
  assert.deepEqual(await erase('b', 'y', 60_000), { rows: 5, outcomes: 0, corrections: 0, detachedParts: 0 })
  const left = await rows('SELECT tenant_id, account_id, count() AS n FROM events GROUP BY ALL ORDER BY ALL')
  assert.deepEqual(
    left.map((row) => `${row.tenant_id}${row.account_id} ${row.n}`),
    ['ay 5', 'bx 5'],
  )
  const views = await rows('SELECT tenant_id, events FROM accounts ORDER BY ALL')
  assert.deepEqual(views, [
    { tenant_id: 'a', events: 5 },
    { tenant_id: 'b', events: 5 },
  ])
  const [tables] = await rows("SELECT count() AS n FROM system.tables WHERE name = 'erasing'")
  assert.equal(tables!.n, 0)
  // Later events stay.
  await command(
    "INSERT INTO events (tenant_id, event_id, received_at, account_id) VALUES ('a', 'late', '2026-11-22', 'y')",
  )
  assert.equal((await erase('a', 'y', 60_000)).rows, 5)
  assert.deepEqual(await rows("SELECT event_id FROM events WHERE tenant_id = 'a'"), [{ event_id: 'late' }])
  // A sink that hung in an insert and lost its share to another sink runs on after the erasure.
  const late = () =>
    client.command({
      query:
        "INSERT INTO events (tenant_id, event_id, received_at, account_id) VALUES ('c', 'again', '2025-01-01', 'z')",
      clickhouse_settings: { insert_deduplicate: 1, insert_deduplication_token: 'of-the-sink' },
    })
  await late()
  assert.equal((await erase('c', 'z', 60_000)).rows, 1)
  await late()
  assert.deepEqual(await rows("SELECT event_id FROM events WHERE tenant_id = 'c'"), [])
})

test('an erasure removes the stored days that its events have left, also of a build that ran meanwhile', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const { url, client, rows } = clickhouse
  const days = new TestDays(clickhouse)
  t.after(() => days.tables.close())
  for (const tenant of ['a', 'b'])
    await client.command({
      query: `
        INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id, extra)
        SELECT concat('17.0.0.', toString(number)), '${tenant}', toString(number), time, time, concat('x', toString(number)), 'c', '{"url":"https://a.example/"}'
        FROM (SELECT number, toDateTime64('2026-11-19', 3, 'UTC') + intDiv(number, 5) * 86400 AS time FROM numbers(10))`,
    })
  days.zones = new Map(['a', 'b'].map((tenant) => [tenant, 'Asia/Kolkata']))
  await days.build()
  const before = await rows<{ built: number; day: string }>('SELECT DISTINCT day, built FROM entity_days ORDER BY ALL')
  /** Rows of companies and accounts, and of the cuts of companies and of pages. */
  const holding = async (ip: string, tenant: string) => {
    const rowsOf = (table: string) =>
      `(SELECT count() FROM ${table} WHERE tenant_id = '${tenant}' AND has(visitors, sipHash64('${ip}')))`
    const query = `SELECT ${['entity_days', 'zone_days', 'zone_page_days'].map(rowsOf).join(' + ')} AS n`
    return (await rows<{ n: number }>(query))[0]!.n
  }
  assert.equal(await holding('17.0.0.1', 'a'), 4)
  const erase = async (tenantId: string, value: string | undefined) => {
    const tables = new ClickHouseErasableEvents(url)
    try {
      const selector = value === undefined ? undefined : ({ kind: 'ip', value } as const)
      await tables.begin({ tenantId, selector, beforeMs: AT })
      return await tables.remove(performance.now() + 60_000)
    } finally {
      await tables.end()
    }
  }
  // It has read the events, and stores them after these are removed.
  const slow = client.command({
    query: BUILD_SQL.entity_days.replace('length(part.3)', 'length(part.3) + sleepEachRow(2)'),
    query_params: { tenant: 'a', day: '2026-11-19', built: Date.now() },
    query_id: `${BUILD_ID}slow`,
    // Longer than the removal of events.
    clickhouse_settings: { function_sleep_max_microseconds_per_block: '60000000' },
  })
  const isRunning = async () =>
    (await rows(`SELECT 1 FROM system.processes WHERE initial_query_id = '${BUILD_ID}slow'`)).length > 0
  await until(isRunning)
  assert.equal((await erase('a', '17.0.0.1')).rows, 1)
  assert.equal(await isRunning(), false)
  await slow
  assert.equal(await holding('17.0.0.1', 'a'), 0)
  // A day without the address stays, and the day of another tenant.
  assert.equal(await holding('17.0.0.7', 'a'), 4)
  assert.equal(await holding('17.0.0.1', 'b'), 4)
  const parts = "SELECT count() AS n FROM system.parts WHERE database = 'ipid' AND table LIKE '%_days' AND NOT active"
  assert.deepEqual(await rows(parts), [{ n: 0 }])
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 3, page_days: 3 })
  await days.build()
  assert.deepEqual(await days.exactness(), { entities: 1, pages: 1, entity_days: 4, page_days: 4 })
  assert.equal(before.length, 4)
  await erase('b', undefined)
  const tenants = `SELECT DISTINCT tenant_id FROM (${DAY_TABLES.map((table) => `SELECT tenant_id FROM ${table}`).join(' UNION ALL ')})`
  assert.deepEqual(await rows(tenants), [{ tenant_id: 'a' }])
})

/* Redis. */

const { dedupWindowMs: windowMs } = ingest.limits
const dead = keys.dead(0)

async function startClient(t: TestContext) {
  const redis = await startTestRedis(t)
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const dump = async (key: string) => String(await client.callBuffer('DUMP', key))
  const add = (key: string, text: string) => client.call('XADD', key, '*', 'r', text)
  return { redis, client, dump, add }
}

test('removed letters are in no node of the stream; the others keep their ids', async (t) => {
  const { client, dump, add } = await startClient(t)
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

test('letters that come and go meanwhile are not lost, and do not come back', async (t) => {
  const { client, add } = await startClient(t)
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

test('a stream loses its old nodes while the pipeline runs', async (t) => {
  const { client, dump, add } = await startClient(t)
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

test('a start waits for a tenant demo that is being deleted, and creates it again after that', async (t) => {
  const { redis, client } = await startClient(t)
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

test('a claim is released unless it belongs to a later event', async (t) => {
  const { client } = await startClient(t)
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

test('uses of keys that are written for a tenant being deleted or gone are dropped', async (t) => {
  const redis = await startTestRedis(t)
  const clock = handClock()
  const { client, admin, store } = await startTenants(t, redis.url, { clock })
  const removal = new RedisTenantRemoval(client)
  for (const name of ['acme', 'kept']) await admin.createTenant(name)
  const { key } = await admin.createKey('acme')
  const { key: other } = await admin.createKey('kept')
  const write = async () => {
    const uses = [key, other].map((one) => [hashKey(one), clock.nowMs] as const)
    await store.recordUses(new Map(uses))
  }
  const named = async () => {
    const names = [...(await client.keys('{tenant:*')), ...(await client.hkeys('{tenants}:uses'))]
    return names.map((name) => name.replace(hashKey(key), 'use of acme').replace(hashKey(other), 'use of kept')).sort()
  }
  await write()
  assert.deepEqual(await named(), ['use of acme', 'use of kept'])
  await removal.mark('acme')
  await removal.removeKeys('acme')
  await write()
  assert.deepEqual(await named(), ['use of kept'], 'being deleted')
  await removal.removeRecord('acme')
  await write()
  assert.deepEqual(await named(), ['use of kept'], 'gone')
})
