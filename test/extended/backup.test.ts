import assert from 'node:assert/strict'
import { cpSync, existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import { readStatus } from '../../src/pipeline/streams/status.ts'
import { BATCH_LINES, batchLines, IP, makeFolder, ODD_EVENTS, Running, sendOn } from '../support/backup.ts'
import { envelope } from '../support/pipeline.ts'
import { receivedDays } from '../support/received-days.ts'
import { bury } from '../support/running.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

const RULES = [
  ['own', '198.51.7.0/24'],
  ['never-noise', 'buro-gmbh'],
] as const

test('a backup written under load is restored in another folder', async (t) => {
  const step = stepsOf(t)
  const dir = makeFolder(t)
  const [early, late] = [join(dir, 'early'), join(dir, 'late')]
  const site = () => new TestSite(t, { ARCHIVE_PART_AGE_MS: '200' })
  const sites = { source: site(), first: site(), second: site() }
  let expected: string[] = []
  let addressKey: string | undefined
  let dayEndsAt = ''
  let sentBefore: readonly string[] = []
  let sent: readonly string[] = []
  const apiKeys = { demo: '', acme: '', revoked: '' }

  await step('it holds everything confirmed before the call, live and batch', async () => {
    const source = await Running.start(t, sites.source)
    apiKeys.demo = source.ready.api_key!
    await sites.source.ipid('tenant', 'create', 'acme', '--plan', 'growth', '--archive', 'on')
    await sites.source.ipid('tenant', 'set', 'demo', '--addresses', 'truncated')
    addressKey = await source.addressKey('demo')
    for (const rule of RULES)
      assert.equal((await sites.source.ipid('rules', 'add', 'acme', ...rule, '--past', 'none')).code, 0)
    await sites.source.ipid('tenant', 'set', 'acme', '--unclassified', 'event')
    apiKeys.acme = await source.key('acme')
    apiKeys.revoked = await source.key('acme')
    await sites.source.ipid('key', 'revoke', apiKeys.revoked.slice(0, 12))
    await source.send(apiKeys.acme, ODD_EVENTS)
    const lookup = await source.post('/v1/lookup', apiKeys.acme, { ip: IP })
    dayEndsAt = (await quotaOf(lookup)).reset_at
    const correction =
      "INSERT INTO company_corrections (tenant_id, company_id, field, value) VALUES ('acme', 'x', 'note', 'y')"
    await source.query(correction)
    const writer = sendOn(source, apiKeys.demo)
    const upload = await source.post('/v1/ingest/batch', apiKeys.acme, batchLines())
    assert.equal(upload.status, 202)
    sentBefore = [...writer.sent]
    const made = await sites.source.ipid('backup', early, '--json')
    await writer.stop()
    sent = writer.sent
    assert.equal(made.code, 0, made.stderr)
    const { rows } = JSON.parse(made.stdout) as { rows: { events: number } }
    assert.ok(rows.events >= BATCH_LINES + ODD_EVENTS.length + sentBefore.length)

    await source.untilIdle()
    await bury(source.redis, envelope('acme', 'dead-1'))
    await bury(source.redis, envelope('acme', 'odd 2'))
    const second = await sites.source.ipid('backup', late)
    assert.equal(second.code, 0, second.stderr)
    assert.match(second.stdout, /^tenants {2,}2$/m)
    assert.match(second.stdout, /^dead letters {2,}2$/m)
    const again = await sites.source.ipid('backup', late)
    assert.deepEqual([again.code, again.stderr.includes('late is not empty')], [2, true])
    assert.deepEqual(readdirSync(dir).sort(), ['early', 'late'])
    expected = await source.answers()
    await source.stop()
  })

  await step('a damaged backup is refused before anything is written', async () => {
    const damaged = join(dir, 'damaged')
    cpSync(late, damaged, { recursive: true })
    const name = readdirSync(damaged).find((file) => file.includes('events'))!
    const content = readFileSync(join(damaged, name))
    content[content.length >> 1]! ^= 1
    writeFileSync(join(damaged, name), content)
    const refused = await sites.first.ipid('restore', damaged)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, new RegExp(`^ipid: the backup is damaged: the checksum of ${name} is wrong$`, 'm'))
    writeFileSync(
      join(damaged, 'manifest.json'),
      readFileSync(join(late, 'manifest.json'), 'utf8').replace('": 4', '": 5'),
    )
    assert.match((await sites.first.ipid('restore', damaged)).stderr, /the checksum of manifest.json is wrong/)
    rmSync(join(damaged, 'manifest.json'))
    assert.match((await sites.first.ipid('restore', damaged)).stderr, /is not a backup, or the backup did not finish/)
    assert.equal(existsSync(sites.first.dir), false)
  })

  await step('killed halfway it is no instance; repeated it is whole, with more partitions', async () => {
    const site = sites.first
    site.env.PARTITIONS = '7'
    const child = site.spawn('restore', early)
    await until(() => child.stderr().includes('table events'))
    child.child.kill('SIGKILL')
    await child.ended
    await site.untilNothingRuns()
    const start = site.start(['--roles', 'process'])
    assert.equal((await start.ended).code, 1)
    assert.match(start.stderr(), /a restore of a backup was not finished/)
    assert.match((await site.ipid('restore', late)).stderr, /a restore of another backup did not finish here/)
    cpSync(join(sites.source.dir, 'archive'), join(site.dir, 'archive'), { recursive: true })
    const restored = await site.ipid('restore', early)
    assert.equal(restored.code, 0, restored.stderr)
    assert.match(restored.stderr, /starting over/)
    assert.match(restored.stdout, /^objects of the archive {2,}[1-9]\d* in \/.*, none missing$/m)

    assert.match(restored.stdout, /^partitions {2,}7$/m)
    const running = await Running.start(t, site)
    assert.equal(await running.query('SELECT count() = uniqExact(tenant_id, event_id) FROM events'), '1')
    const ids = (await running.query("SELECT event_id FROM events WHERE event_id LIKE 'during%'")).split('\n')
    assert.deepEqual(
      sentBefore.filter((id) => !ids.includes(id)),
      [],
    )
    const unknown = new Set(sent)
    assert.deepEqual(
      ids.filter((id) => !unknown.has(id)),
      [],
    )
    // The job was still running when the backup began: all of its lines are in it.
    assert.equal(await running.query("SELECT count() FROM events WHERE job_id != ''"), String(BATCH_LINES))
    // A sender that repeats everything stores each event once: those in the backup are repeats, the others are new.
    for (let at = 0; at < sent.length; at += 100) {
      await running.send(
        apiKeys.demo,
        sent.slice(at, at + 100).map((event_id) => ({ event_id, ip: IP })),
      )
    }
    await running.untilIdle()
    const counts = await running.query("SELECT count(), uniqExact(event_id) FROM events WHERE event_id LIKE 'during%'")
    assert.equal(counts, `${sent.length}\t${sent.length}`)
    const again = await running.upload(apiKeys.acme, batchLines())
    assert.equal(again.result_summary?.duplicates, (BATCH_LINES / 10) * 9, 'lines with an id of their own are repeats')
    assert.equal(await replayed(site, 'acme'), 0)
    await running.stop()
  })

  await step('with fewer partitions it answers like the source, for the same keys', async () => {
    const site = sites.second
    site.env.PARTITIONS = '2'
    const restored = await site.ipid('restore', late, '--json')
    assert.equal(restored.code, 0, restored.stderr)
    const summary = JSON.parse(restored.stdout) as {
      tenants: number
      dead_letters: number
      rows: { events: number }
      archive: { objects: number; missing: number }
    }
    assert.ok(summary.archive.objects > 0)
    assert.equal(summary.archive.missing, summary.archive.objects, 'it was not copied here')
    assert.deepEqual([summary.tenants, summary.dead_letters], [2, 1], 'a letter whose event is stored is left out')
    const running = await Running.start(t, site)
    assert.equal(running.ready.api_key, undefined, 'the tenant demo has its key')
    assert.deepEqual(await running.answers(), expected)
    assert.match(addressKey!, /^[0-9a-f]{64}$/)
    assert.equal(await running.addressKey('demo'), addressKey, 'or a visit of today would be counted twice')

    const judging = JSON.parse((await site.ipid('rules', 'list', 'acme', '--json')).stdout)
    assert.deepEqual(judging, { tenant_id: 'acme', rules: RULES.map((rule) => rule.join(' ')), unclassified: 'event' })
    const own = await running.post('/v1/ingest', apiKeys.acme, { events: [{ ip: '198.51.7.7' }] })
    assert.equal(((await own.json()) as { results: { rule?: string }[] }).results[0]!.rule, 'own 198.51.7.0/24')
    const statuses = [apiKeys.demo, apiKeys.acme, apiKeys.revoked].map(async (key) => {
      return (await running.post('/v1/lookup', key, { ip: IP })).status
    })
    assert.deepEqual(await Promise.all(statuses), [200, 200, 401])
    const lookup = await running.post('/v1/lookup', apiKeys.acme, { ip: IP })
    const { daily_used, reset_at } = await quotaOf(lookup)
    assert.equal(daily_used, reset_at === dayEndsAt ? 3 : 2, "today's use counts")
    await running.send(apiKeys.acme, ODD_EVENTS)
    const job = await running.upload(apiKeys.acme, batchLines())
    assert.equal(job.result_summary?.duplicates, (BATCH_LINES / 10) * 9, 'lines with an id of their own are repeats')
    const list = await site.ipid('key', 'list', 'acme', '--json')
    assert.equal((JSON.parse(list.stdout) as { revoked_at: string | null }[])[1]!.revoked_at === null, false)
    await running.untilIdle()
    const stored = Number(await running.query('SELECT count() FROM events'))
    assert.equal(stored, summary.rows.events + BATCH_LINES / 10, 'lines without an id are new')
    assert.equal((await readStatus(running.redis, ingest)).dead_letters, 1)
    const retried = await site.ipid('dead-letter', 'retry', '--all')
    assert.equal(retried.code, 0, retried.stderr)
    await running.untilIdle()
    assert.equal(await running.query('SELECT count() FROM events'), String(stored + 1), 'the letter is stored once')
    // Parts of partitions 2 and 3, which no longer exist, are compared with the tables too.
    cpSync(join(sites.source.dir, 'archive'), join(site.dir, 'archive'), { recursive: true })
    assert.equal(await replayed(site, 'acme'), 0)

    assert.match((await site.ipid('restore', late)).stderr, /another ipid \(process \d+\) runs on/)
    await running.stop()
    const full = await site.ipid('restore', late)
    assert.equal(full.code, 1)
    assert.match(full.stderr, /a restore needs an empty instance, but this one has 2 tenants/)
  })
})

/** The events that a replay of the tenant's archive restores. */
async function replayed(site: TestSite, tenant: string): Promise<number> {
  const { code, stdout, stderr } = await site.ipid('replay', '--tenant', tenant, ...receivedDays(), '--json')
  assert.equal(code, 0, stderr)
  const { replayed, stored } = JSON.parse(stdout) as { replayed: number; stored: number }
  assert.ok(stored > BATCH_LINES)
  return replayed
}

async function quotaOf(lookup: Response): Promise<{ daily_used: number; reset_at: string }> {
  return ((await lookup.json()) as { quota: { daily_used: number; reset_at: string } }).quota
}
