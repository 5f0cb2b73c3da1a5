import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { ingest } from '../../pipelines/ingest.ts'
import type { BatchJob } from '../../schemas/api/batch.ts'
import type { DeletionReceipt } from '../../schemas/erasure.ts'
import { RedisTenantRemoval } from '../../src/operations/erasure/redis/tenant-removal.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { readArchive } from '../support/archive.ts'
import { runCommand } from '../support/command.ts'
import { ErasableInstance } from '../support/erasable.ts'
import { type PagedS3, type Paging, startPagedS3 } from '../support/paged-s3.ts'
import { receivedDays } from '../support/received-days.ts'
import { S3_ENVIRONMENT } from '../support/s3.ts'
import { stepsOf } from '../support/steps.ts'
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
