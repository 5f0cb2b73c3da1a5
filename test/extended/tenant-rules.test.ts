import assert from 'node:assert/strict'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { STARTER_DIR } from '../../src/enrichment/files/folder.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { RedisTenantStore } from '../../src/tenants/redis/tenant-store.ts'
import { runCommand } from '../support/command.ts'
import { DnsServer } from '../support/dns-server.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { quiet } from '../support/pipeline.ts'
import { receivedDays } from '../support/received-days.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/** From the starter data: a company, a university, an access provider and a cloud. */
const ADDRESSES = { apple: '17.253.144.10', ethz: '129.132.1.1', sunrise: '80.218.1.1', google: '8.8.8.8' }
const EVENTS = (run: string) => Object.entries(ADDRESSES).map(([name, ip]) => ({ ip, event_id: `${run}-${name}` }))

const RULES = [
  ['own', '17.253.144.77/24'],
  ['always-noise', 'ethz.ch'],
  ['never-noise', 'Google LLC'],
  ['keep', 'isp'],
] as const

test('tenant rules apply at once, in both lanes, in replays and in re-enrichment', async (t) => {
  const step = stepsOf(t)
  const dns = await DnsServer.start(t)
  const enrichDir = await temporaryFolder(t)
  await cp(STARTER_DIR, enrichDir, { recursive: true })
  await writeFile(join(enrichDir, 'ours.csv'), 'network,business_name,classification\n93.184.216.1,Ours GmbH,isp\n')
  const site = new TestSite(t, {
    ...{ SINK_LINGER_MS: '100', ARCHIVE_PART_AGE_MS: '200', ENRICH_DIR: enrichDir },
    ...{ RDNS: 'on', RDNS_SERVERS: dns.address, RDNS_DEADLINE_MS: '10000' },
  })
  const ready = await site.start().ready()
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await site.ipid(...args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const ipid = async (...args: string[]) => JSON.parse(await run(...args, '--json'))
  await ipid('tenant', 'create', 'acme', '--archive', 'on')
  const { key: ownKey } = await ipid('key', 'create', 'acme')
  const call = async (path: string, body?: string, key: string = ownKey) => {
    const headers = { 'x-api-key': key }
    // Busy for a moment, on a slow machine.
    const answer = await until(
      () => fetch(ready.url + path, { headers, ...(body !== undefined && { method: 'POST', body }) }),
      ({ status }) => status !== 429 && status !== 503,
    )
    const text = await answer.text()
    assert.ok(answer.ok, `${path}: ${answer.status} ${text}`)
    return JSON.parse(text)
  }
  const send = async (name: string) => {
    const { results } = await call('/v1/ingest', JSON.stringify({ events: EVENTS(name) }))
    return results.map(({ status, rule }: { status: string; rule?: string }) => [status, rule ?? null])
  }
  const query = async (sql: string) => {
    const text = await (await fetchClickHouse(ready.tables_url, { database: 'ipid' }, { body: sql })).text()
    return text.replace(/\n$/, '')
  }
  const untilCounted = (count: number) =>
    until(
      () => query("SELECT sum(events) FROM daily_outcomes WHERE tenant_id = 'acme'"),
      (text) => text === String(count),
    )
  const judgedAgain = async (tenant: string) => {
    const args = ['replay', '--tenant', tenant, ...receivedDays(), '--reenrich', '--json']
    const { code, stdout, stderr } = await until(
      () => site.ipid(...args),
      // A Redis that waits for a slow disk renews no lease in time.
      (ended) => !ended.stderr.includes('is not finished: for 3 s'),
    )
    assert.equal(code, 0, stderr)
    return JSON.parse(stdout)
  }
  const again = () => judgedAgain('acme')
  const stored = () => query('SELECT event_id, company_id, account_id FROM events ORDER BY event_id FORMAT TSV')

  assert.deepEqual(await send('before'), [
    ['ok', null],
    ['ok', null],
    ['filtered', null],
    ['filtered', null],
  ])
  await untilCounted(4)

  await step('an invalid rule is refused, and a dry run changes nothing', async () => {
    for (const [args, message] of [
      [['add', 'acme', 'own', '1.2.3.4/40'], /own "1\.2\.3\.4\/40" has a prefix length out of range/],
      [['add', 'nobody', 'own', '1.2.3.4'], /unknown tenant "nobody"/],
      [['remove', 'acme', 'keep', 'isp'], /tenant acme has no rule "keep isp"/],
    ] as const) {
      const { code, stderr } = await site.ipid('rules', ...args)
      assert.equal(code, 2)
      assert.match(stderr, message)
    }
    const own = await ipid('rules', 'add', 'acme', 'own', '17.253.144.77/24', '--dry-run')
    assert.deepEqual([own.stored, own.newly_filtered], [2, { 'own 17.253.144.0/24': 1 }])
    const { filtered, newly_kept: kept, unknown } = await ipid('rules', 'add', 'acme', 'keep', 'isp', '--dry-run')
    assert.deepEqual([filtered, kept, unknown], [2, { 'keep isp': 1 }, 1])
    assert.match(await run('rules', 'add', 'acme', 'keep', 'isp', '--dry-run'), /would be kept: keep isp +1\n/)
    assert.deepEqual((await ipid('rules', 'list', 'acme')).rules, [])
  })

  await step('a rule of a later version decides nothing, and can be removed in its listed form', async () => {
    const client = quiet(connectRedis(ready.redis_url, { name: 'cli', kind: 'loop' }))
    await new RedisTenantStore(client).changeRules('acme', ['later 1.2.3.4 x'], [])
    client.disconnect()
    assert.deepEqual((await ipid('rules', 'list', 'acme')).rules, ['later 1.2.3.4 x'])
    assert.equal((await site.ipid('rules', 'remove', 'acme', 'later', '1.2.3.4', 'y')).code, 2)
    assert.deepEqual((await ipid('rules', 'remove', 'acme', 'later', '1.2.3.4', 'x')).rules, [])
  })

  // Those that make noise would hide the events that are stored.
  for (const [kind, subject] of RULES) await ipid('rules', 'add', 'acme', kind, subject, '--past', 'none')
  // A repeat changes nothing; a change of another setting keeps them.
  await ipid('rules', 'add', 'acme', 'keep', 'isp')
  await ipid('tenant', 'set', 'acme', '--plan', 'custom')
  const { rules } = await ipid('rules', 'list', 'acme')
  assert.deepEqual(rules, ['own 17.253.144.0/24', 'always-noise ethz.ch', 'never-noise google', 'keep isp'])

  await step('answers and the command line name the rule', async () => {
    const expected = [
      ['filtered', rules[0]],
      ['filtered', rules[1]],
      ['ok', rules[3]],
      ['ok', rules[2]],
    ]
    assert.deepEqual(await send('live'), expected)
    assert.match(await run('rules', 'check', 'acme', ADDRESSES.sunrise), /80\.218\.1\.1 +ok +isp +keep isp\n/)
    // By the data of the instance, whatever the environment of the shell.
    const env = { ...site.env, ENRICH_DIR: '' } as Record<string, string>
    const { stdout } = await runCommand(['rules', 'check', 'acme', '93.184.216.1'], { env })
    assert.match(stdout, /93\.184\.216\.1 +ok +isp +keep isp\n/)
    const ips = [...Object.values(ADDRESSES), '93.184.216.1', 'nonsense']
    const printed = (await runCommand(['enrich', '--tenant', 'acme', '--json', ...ips], { env })).stdout
    const found = printed
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    assert.deepEqual(
      found.map(({ status, rule, company_id }) => [status, rule, company_id]),
      [
        ...['filtered', 'filtered'].map((status, i) => [status, rules[i], null]),
        ...[
          ['ok', rules[3], null],
          ['ok', rules[2], 'google.com'],
          ['ok', rules[3], null],
          ['invalid_ip', null, null],
        ],
      ],
    )
    assert.equal(found[3].data.business_name, 'Google')
    const explained = (await runCommand(['enrich', '--tenant', 'acme', '--explain', ADDRESSES.google], { env })).stdout
    assert.match(explained, /^status +ok\ntenant rule +never-noise google\naccount_id +google\.com\n/m)
    assert.match(explained, /^business_name +Google +organisations/m)
    const none = await runCommand(['enrich', '--tenant', 'nobody', '8.8.8.8'], { env })
    assert.deepEqual([none.code, none.stderr], [2, 'ipid: unknown tenant "nobody"\n'])
  })

  await step('lines of a batch job are judged the same, and both are counted by the rule', async () => {
    const lines = EVENTS('batch').map((event) => JSON.stringify(event))
    const { job_id } = await call('/v1/ingest/batch', lines.join('\n'))
    const { result_summary: summary } = await until(
      () => call(`/v1/ingest/batch/${job_id}`),
      ({ status }) => status === 'completed',
    )
    assert.deepEqual([summary.valid_ips, summary.filtered, summary.identified_ips], [4, 2, 1])
    await untilCounted(12)
    const counted = await query(
      "SELECT lane, reason, sum(events) FROM daily_outcomes WHERE status = 'filtered' GROUP BY ALL ORDER BY ALL FORMAT TSV",
    )
    const ofLane = (lane: string) => `${lane}\talways_noise\t1\n${lane}\town\t1`
    assert.equal(counted, `${ofLane('batch')}\nlive\t\t2\n${ofLane('live').split('\n').join('\n')}`)
  })

  await step('events judged before the rules are judged again by them, and then stay', async () => {
    const { filtered } = await again()
    assert.deepEqual(filtered, { events: 2, classifications: { always_noise: 1, own: 1 } })
    const kept = (run: string) => `${run}-google\tgoogle.com\tgoogle.com\n${run}-sunrise\t\t`
    await untilCounted(12)
    assert.equal(
      await until(stored, (text) => text.split('\n').length === 6),
      ['batch', 'before', 'live'].map(kept).join('\n'),
    )
    const counted =
      "SELECT reason, sum(events) FROM daily_outcomes WHERE status = 'filtered' GROUP BY reason ORDER BY reason FORMAT TSV"
    assert.equal(await query(counted), 'always_noise\t3\nown\t3')
    const { events, archive } = await again()
    assert.deepEqual([events.changed, archive.found, archive.replayed], [0, 0, 0])
  })

  await step('usage and the summary of a job report most events from infrastructure', async () => {
    assert.equal('warning' in (await ipid('usage', 'acme')), false)
    const events = (count: number, ip: string) => Array.from({ length: count }, () => ({ ip }))
    const batch = [...events(120, '10.0.0.1'), ...events(30, ADDRESSES.apple)].map((event) => JSON.stringify(event))
    const { job_id } = await call('/v1/ingest/batch', batch.join('\n'))
    const { result_summary: summary } = await until(
      () => call(`/v1/ingest/batch/${job_id}`),
      ({ status }) => status === 'completed',
    )
    assert.match(
      summary.warning,
      /^120 of 150 events came from addresses of a private network, .* most likely your own proxy/,
    )
    await call('/v1/ingest', JSON.stringify({ events: events(100, '10.0.0.2') }))
    // Those of the job, this request, and the 12 events before.
    const { warning, share } = await until(
      () => ipid('usage', 'acme'),
      (usage) => usage.warning?.startsWith('220 of 262 events ') ?? false,
    )
    assert.match(warning, /^220 of 262 events since yesterday came from addresses of a private network, /)
    assert.equal(share, 0.84)
    assert.match(await run('usage', 'acme'), /^warning +220 of /m)
  })

  await step('lines of a batch job get host names and are judged by them, with and without rules', async () => {
    await ipid('tenant', 'create', 'beta')
    const { key: othersKey } = await ipid('key', 'create', 'beta')
    dns.host('93.184.216.34', 'mail.quux-anvils.com')
    dns.host('93.184.216.35', 'dsl-93-184-216-35.dynamic.example.net')
    const lines = ['34', '35'].map((last) => `{"ip":"93.184.216.${last}","event_id":"named-${last}"}`)
    for (const [tenant, key, names] of [
      ['beta', othersKey, ['mail.quux-anvils.com']],
      // It keeps access providers.
      ['acme', ownKey, ['mail.quux-anvils.com', 'dsl-93-184-216-35.dynamic.example.net']],
    ] as const) {
      const { job_id } = await call('/v1/ingest/batch', lines.join('\n'), key)
      const { result_summary: summary } = await until(
        () => call(`/v1/ingest/batch/${job_id}`, undefined, key),
        ({ status }) => status === 'completed',
      )
      assert.deepEqual([summary.valid_ips, summary.filtered], [2, 2 - names.length])
      const sql = `SELECT hostname FROM events WHERE tenant_id = '${tenant}' AND event_id LIKE 'named%' ORDER BY event_id`
      await until(
        () => query(sql),
        (text) => text === names.join('\n'),
      )
    }
  })

  await step('bots are counted by operator and proof in both lanes, and a rule keeps them after a replay', async () => {
    await ipid('tenant', 'create', 'gamma', '--archive', 'on')
    const { key } = await ipid('key', 'create', 'gamma')
    const events = (lane: string) => [
      { ip: ADDRESSES.apple, event_id: `${lane}-claimed`, properties: { user_agent: 'AhrefsBot/7.0' } },
      { ip: ADDRESSES.apple, event_id: `${lane}-office`, properties: { user_agent: 'Mozilla/5.0 Firefox/133.0' } },
      { ip: '66.249.66.1', event_id: `${lane}-verified` },
    ]
    const { results } = await call('/v1/ingest', JSON.stringify({ events: events('live') }), key)
    assert.deepEqual(
      results.map(({ status }: { status: string }) => status),
      ['filtered', 'ok', 'filtered'],
    )
    const lines = events('batch').map((event) => JSON.stringify(event))
    const { job_id } = await call('/v1/ingest/batch', lines.join('\n'), key)
    await until(
      () => call(`/v1/ingest/batch/${job_id}`, undefined, key),
      ({ status }) => status === 'completed',
    )
    const counted = (where: string) =>
      query(`SELECT lane, reason, classification, sum(events) AS n FROM daily_outcomes
        WHERE tenant_id = 'gamma' AND ${where} GROUP BY ALL HAVING n != 0 ORDER BY ALL FORMAT TSV`)
    const reasons = ['bot:ahrefsbot:claimed\tbot\t1', 'bot:googlebot:verified\tbot\t1']
    const both = ['batch', 'live'].flatMap((lane) => reasons.map((reason) => `${lane}\t${reason}`)).join('\n')
    await until(
      () => counted("status = 'filtered'"),
      (text) => text === both,
    )
    const kept = () =>
      query(`SELECT event_id, classification, account_id FROM events WHERE tenant_id = 'gamma' ORDER BY ALL FORMAT TSV`)
    const office = ['batch', 'live'].map((lane) => `${lane}-office\tbusiness\tapple.com`)
    await until(kept, (text) => text === office.join('\n'))
    const bots = ['batch', 'live'].flatMap((lane) => [`${lane}-claimed\tbot\t`, `${lane}-verified\tbot\t`])
    const replay = () => ipid('replay', '--tenant', 'gamma', ...receivedDays(), '--reenrich')
    await ipid('rules', 'add', 'gamma', 'keep', 'bot')
    assert.equal((await replay()).archive.found, 4)
    await until(kept, (text) => text === [...office, ...bots].sort().join('\n'))
    // Stored user agents are judged as new ones are.
    assert.equal((await replay()).events.changed, 0)
    await ipid('rules', 'remove', 'gamma', 'keep', 'bot')
    const { filtered } = await replay()
    assert.deepEqual(filtered, {
      events: 4,
      classifications: { 'bot:googlebot:verified': 2, 'bot:ahrefsbot:claimed': 2 },
    })
    await until(kept, (text) => text === office.join('\n'))

    // A bot stays one in a network with a rule "is".
    for (const ip of [ADDRESSES.apple, '66.249.66.1'])
      await ipid('rules', 'add', 'gamma', 'is', `${ip}/32`, 'office.example')
    const held = await until(
      () => call('/v1/ingest', JSON.stringify({ events: events('live-is') }), key),
      (answer) => answer.results[1].rule !== undefined,
    )
    assert.deepEqual(
      held.results.map(({ status }: { status: string }) => status),
      ['filtered', 'ok', 'filtered'],
    )
    await call(
      '/v1/ingest/batch',
      events('batch-is')
        .map((event) => JSON.stringify(event))
        .join('\n'),
      key,
    )
    const ofRule = ['batch-is', 'live-is'].map((lane) => `${lane}-office\tbusiness\toffice.example`)
    await until(
      () =>
        kept().then((text) =>
          text
            .split('\n')
            .filter((line) => line.includes('-is-'))
            .join('\n'),
        ),
      (text) => text === ofRule.join('\n'),
    )
  })

  await step('a hiding rule hides stored visits of all days, and only a confirmed deletion is for good', async () => {
    await ipid('tenant', 'create', 'hiding')
    const { key } = await ipid('key', 'create', 'hiding')
    const event = { ip: ADDRESSES.apple, event_id: 'h' }
    await call('/v1/ingest', JSON.stringify({ events: [event] }), key)
    const rule = ['hiding', 'always-noise', 'apple.com'] as const
    const untilStatus = async (status: string) => {
      const found = async () => (await ipid('event', 'hiding', 'h')).receipts?.[0]?.status
      await until(found, (text) => text === status)
    }
    await untilStatus('stored')
    await ipid('rules', 'add', ...rule)
    await untilStatus('hidden')
    await ipid('rules', 'remove', ...rule)
    await untilStatus('stored')
    await ipid('rules', 'add', ...rule)
    await untilStatus('hidden')
    const refused = await site.ipid('rules', 'delete-hidden', ...rule)
    assert.equal(refused.code, 2)
    assert.match(refused.stderr, /nothing was deleted\. This cannot be undone/)
    await ipid('rules', 'delete-hidden', ...rule, '--yes')
    await until(
      () => query("SELECT count() FROM hidden_events WHERE tenant_id = 'hiding'"),
      (text) => text === '0',
    )
    await ipid('rules', 'remove', ...rule)
    assert.equal(await query("SELECT count() FROM events WHERE tenant_id = 'hiding'"), '0')
  })

  await step('a rule `is` applies to live events, batch, lookups, bulk and re-enrichment', async () => {
    await ipid('tenant', 'create', 'held')
    const { key } = await ipid('key', 'create', 'held')
    const { apple, sunrise } = ADDRESSES
    const live = (event_id: string) => call('/v1/ingest', JSON.stringify({ events: [{ ip: apple, event_id }] }), key)
    const batch = async (event_id: string) => {
      const { job_id } = await call('/v1/ingest/batch', JSON.stringify({ ip: apple, event_id }), key)
      await until(
        () => call(`/v1/ingest/batch/${job_id}`, undefined, key),
        ({ status }) => status === 'completed',
      )
    }
    const companies = () =>
      query(`
        SELECT company_id, account_id, business_name, domain, industry, classification, quality, count()
        FROM events WHERE tenant_id = 'held' GROUP BY ALL ORDER BY ALL FORMAT TSV`)
    await live('live-before')
    await batch('batch-before')
    const before = await until(companies, (text) => text.endsWith('\t2'))
    assert.match(before, /^apple\.com\tapple\.com\tApple\t/)

    const is = `is 17.253.144.0/24 ethz.ch`
    const { newly_held } = await ipid('rules', 'add', 'held', ...is.split(' '), '--dry-run')
    assert.deepEqual(newly_held, { [is]: 2 })
    await ipid('rules', 'add', 'held', ...is.split(' '))
    await ipid('rules', 'add', 'held', 'is', '80.218.1.0/24', 'quux.example', 'Quux', 'Works')
    const { results } = await live('live-after')
    assert.deepEqual([results[0].rule, results[0].enrichment.classification], [is, 'education'])
    await batch('batch-after')
    const again = () => judgedAgain('held')
    await until(companies, (text) => text.split('\n').length === 2)
    assert.equal((await again()).events.changed, 2)
    const [stored, ...more] = (await until(companies, (text) => text.endsWith('\t4'))).split('\n')
    assert.deepEqual(more, [])
    const [id, account, name, domain, industry, classification, quality] = stored!.split('\t')
    assert.deepEqual([id, account, domain, classification], ['ethz.ch', 'ethz.ch', 'ethz.ch', 'education'])

    const facts = { business_name: name, domain, industry: industry || undefined, classification }
    const shown = ({ quality: found, data }: { quality: number; data: Record<string, unknown> }) => [
      String(found),
      Object.fromEntries(Object.keys(facts).map((key) => [key, data[key]])),
    ]
    assert.deepEqual(shown(await call('/v1/lookup', JSON.stringify({ ip: apple }), key)), [quality, facts])
    const ask = (mode: string) =>
      fetch(`${ready.url}/v1/bulk?mode=${mode}`, {
        ...{ method: 'POST', headers: { 'x-api-key': key } },
        body: JSON.stringify({ ips: [apple, sunrise] }),
      }).then((answer) => answer.text())
    const bulk = (await ask('sync'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    const { job_id } = JSON.parse(await ask('async'))
    const job = await until(
      () => call(`/v1/bulk/${job_id}`, undefined, key),
      (found) => found.status === 'completed',
    )
    for (const [ofApple, ofSunrise] of [bulk, job.results]) {
      assert.deepEqual(shown(ofApple), [quality, facts])
      assert.deepEqual([ofSunrise.data.business_name, ofSunrise.data.classification], ['Quux Works', 'business'])
    }
    const env = { ...site.env, ENRICH_DIR: '' } as Record<string, string>
    const enriched = await runCommand(['enrich', '--tenant', 'held', '--json', apple], { env })
    assert.deepEqual(shown(JSON.parse(enriched.stdout)), [quality, facts])
    // Another tenant's lookups stay as they are.
    assert.equal((await call('/v1/lookup', JSON.stringify({ ip: apple }))).data.domain, 'apple.com')

    await ipid('rules', 'remove', 'held', ...is.split(' '))
    assert.equal((await again()).events.changed, 4)
    assert.equal(await until(companies, (text) => text.endsWith('\t4')), before.replace(/2$/, '4'))
  })

  for (const rule of rules) {
    const [kind, subject] = rule.split(' ')
    await ipid('rules', 'remove', 'acme', kind!, subject!)
  }
  assert.deepEqual(await send('after'), [
    ['ok', null],
    ['ok', null],
    ['filtered', null],
    ['filtered', null],
  ])
})
