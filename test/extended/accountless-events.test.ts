import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { businessName } from '../../src/enrichment/rules/business-name.ts'
import { companyIdOf } from '../../src/enrichment/rules/company-id.ts'
import { doubtfulAs } from '../support/doubtful.ts'
import { asnMmdb, temporaryFolder } from '../support/enrichment-data.ts'
import { fetchClickHouse } from '../support/fetch-clickhouse.ts'
import { receivedDays } from '../support/received-days.ts'
import { TestSite } from '../support/site.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/** As the AS of 81.2.69.0/24 alone. */
const DOUBTFUL_AS = doubtfulAs({ asAddresses: 256, asHasV6: false, asScatter: 81_000 })
const DOUBTFUL_NAME = businessName(DOUBTFUL_AS.name)
const DOUBTFUL_ID = companyIdOf({ name: DOUBTFUL_AS.name, domain: undefined })
const IPS = { doubtful: '81.2.69.7', person: '81.2.70.7', company: '81.2.71.7', unknown: '81.2.72.7' }

async function receiver(t: { after(hook: () => void): void }) {
  const bodies: string[] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const part of request) text += part
    bodies.push(text)
    response.end()
  }).listen(0, '127.0.0.1')
  t.after(() => server.close())
  await once(server, 'listening')
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, bodies }
}

test('events without an account are stored, count for no account, and get one by a rule', async (t) => {
  const step = stepsOf(t)
  const enrichDir = await temporaryFolder(t)
  const systems = {
    '81.2.69.0/24': [DOUBTFUL_AS.asn, DOUBTFUL_AS.name],
    '81.2.70.0/24': [64_601, 'Jan Kowalski'],
    '81.2.71.0/24': [64_602, 'Acme Widgets GmbH'],
  } as const
  await writeFile(join(enrichDir, 'asn.mmdb'), asnMmdb(systems))
  const hook = await receiver(t)
  const env = { ENRICH_DIR: enrichDir, SINK_LINGER_MS: '100', ARCHIVE_PART_AGE_MS: '200', WEBHOOK_PRIVATE: 'on' }
  const site = new TestSite(t, env)
  const start = site.start()
  const ready = await start.ready()
  const run = async (...args: string[]) => {
    const { code, stdout, stderr } = await site.ipid(...args)
    assert.equal(code, 0, `${args.join(' ')}: ${stderr}`)
    return stdout
  }
  const ipid = async (...args: string[]) => JSON.parse(await run(...args, '--json'))
  const queryOf = (url: string) => async (sql: string) => {
    const answer = await fetchClickHouse(url, { database: 'ipid' }, { body: sql })
    return (await answer.text()).replace(/\n$/, '')
  }
  const query = queryOf(ready.tables_url)
  await ipid('tenant', 'create', 'acme', '--plan', 'custom', '--archive', 'on')
  const { key } = await ipid('key', 'create', 'acme')
  const call = async (path: string, body?: string) => {
    const post = body !== undefined && { method: 'POST', body }
    const answer = await fetch(ready.url + path, { headers: { 'x-api-key': key }, ...post })
    assert.ok(answer.ok, `${path}: ${answer.status}`)
    return JSON.parse(await answer.text())
  }
  const STORED = 'SELECT event_id, account_id, company_id, business_name, as_name FROM events ORDER BY event_id'
  const stored = async () => (await query(STORED)).split('\n').map((line) => line.split('\t'))
  await ipid('segment', 'create', 'acme', 'All', '--where', 'events>=1')
  await ipid('alert', 'create', 'acme', 'New', '--on', 'company.first_seen', '--webhook', hook.url)
  await ipid('export', 'create', 'acme', 'All', '--segment', 'All', '--every', 'day')

  await step('they are answered ok, with the names; a caller names an account', async () => {
    const own = { ip: IPS.doubtful, event_id: 'own', account_id: 'theirs' }
    const events = [...Object.entries(IPS).map(([event_id, ip]) => ({ ip, event_id })), own]
    const { results } = await call('/v1/ingest', JSON.stringify({ events }))
    assert.deepEqual(
      results.map(({ status, enrichment }: { status: string; enrichment: Record<string, unknown> }) => [
        ...[status, enrichment.business_name ?? null],
      ]),
      [
        ['ok', DOUBTFUL_NAME],
        ['ok', null],
        ['ok', 'Acme Widgets'],
        ['ok', null],
        ['ok', DOUBTFUL_NAME],
      ],
    )
    const lines = Object.entries(IPS).map(([name, ip]) => JSON.stringify({ ip, event_id: `batch-${name}` }))
    const { job_id } = await call('/v1/ingest/batch', lines.join('\n'))
    const { result_summary: summary } = await until(
      () => call(`/v1/ingest/batch/${job_id}`),
      ({ status }) => status === 'completed',
    )
    assert.deepEqual([summary.valid_ips, summary.identified_ips], [4, 1])
    const rows = (prefix: string) => [
      [`${prefix}company`, 'acme-widgets', 'acme-widgets', 'Acme Widgets', 'Acme Widgets GmbH'],
      [`${prefix}doubtful`, '', '', DOUBTFUL_NAME, DOUBTFUL_AS.name],
      ...(prefix === '' ? [['own', 'theirs', '', DOUBTFUL_NAME, DOUBTFUL_AS.name]] : []),
      [`${prefix}person`, '', '', '', ''],
      [`${prefix}unknown`, '', '', '', ''],
    ]
    assert.deepEqual(await until(stored, (found) => found.length === 9), [...rows('batch-'), ...rows('')])
    const { data } = await call('/v1/lookup', JSON.stringify({ ip: IPS.doubtful }))
    assert.deepEqual([data.business_name, data.classification], [DOUBTFUL_NAME, undefined])
  })

  await step('--explain says why, and what to do', async () => {
    const [line] = (await run('enrich', IPS.doubtful, '--explain', '--json')).trimEnd().split('\n')
    const { account_id, explain } = JSON.parse(line!)
    assert.deepEqual([account_id, explain.rule.slice(0, 11)], [undefined, 'doubtful:0.'])
    const reason = `doubtful name: share ${explain.rule.slice(9)} of noise`
    const command = `./ipid rules add TENANT is AS${DOUBTFUL_AS.asn} - '${DOUBTFUL_NAME}'`
    assert.equal(explain.no_account, `${reason}; make it a company with ${command}`)
    assert.match(
      await run('enrich', IPS.doubtful, '--explain'),
      /^no account +doubtful name: share 0\.\d\d of noise; make it/m,
    )
    assert.match(await run('enrich', IPS.person, '--explain'), /^no account +a private person holds the network$/m)
    assert.doesNotMatch(await run('enrich', IPS.company, '--explain'), /no account/)
  })

  await step('accounts, companies, usage, exports and alerts leave them out', async () => {
    assert.equal(await query('SELECT account_id FROM accounts ORDER BY account_id'), 'acme-widgets\ntheirs')
    assert.equal(await query('SELECT company_id, events FROM companies'), 'acme-widgets\t2')
    assert.equal((await ipid('usage', 'acme')).tracked_accounts, 1)
    assert.equal((await ipid('export', 'run', 'acme', 'All', '--wait', '60')).last.rows, 1)
    await until(() => hook.bodies.length > 0)
    const told = hook.bodies.map((body) => JSON.parse(body).data.company.company_id)
    assert.deepEqual(told, ['acme-widgets'])
    const { companies } = await call('/v1/companies')
    assert.deepEqual(
      companies.map(({ company_id }: { company_id: string }) => company_id),
      ['acme-widgets'],
    )
  })

  const network = { reason: 'doubtful', visits: 1, events: 2, as_name: DOUBTFUL_AS.name, name: DOUBTFUL_NAME }
  await step('their networks are listed by the API and the command line', async () => {
    const answer = await call('/v1/unknown-networks?days=7')
    const short = answer.networks.map(({ asn, reason, as_name, visits, events, rule }: Record<string, unknown>) => [
      ...[asn, reason, as_name, visits, events, rule],
    ])
    assert.deepEqual(
      short.sort(([a]: number[], [b]: number[]) => a! - b!),
      [
        [0, 'unknown', '', 1, 2, null],
        ...[
          [DOUBTFUL_AS.asn, 'doubtful', DOUBTFUL_AS.name, 1, 2, null],
          [64_601, 'unnamed', '', 1, 2, null],
        ].sort(([a], [b]) => Number(a) - Number(b)),
      ],
    )
    assert.deepEqual([answer.visits, answer.total], [3, 3])
    const one = await call('/v1/unknown-networks?reason=doubtful&limit=1')
    assert.deepEqual([one.total, one.networks[0]], [1, { ...one.networks[0], ...network }])
    const { networks } = await ipid('company', 'unknown', 'acme', '--reason', 'doubtful')
    assert.deepEqual(networks, one.networks)
    const text = await run('company', 'unknown', 'acme')
    assert.match(text, new RegExp(`is AS${DOUBTFUL_AS.asn} - '${DOUBTFUL_NAME}' --past all\n$`))
    for (const wrong of ['days=0', 'limit=501', 'reason=none', 'days=1&days=2']) {
      const { status } = await fetch(`${ready.url}/v1/unknown-networks?${wrong}`, { headers: { 'x-api-key': key } })
      assert.equal(status, 422, wrong)
    }
  })

  await step('a replay and a new judgement change none of them', async () => {
    const days = ['--tenant', 'acme', ...receivedDays()]
    const replayed = await ipid('replay', ...days)
    assert.deepEqual([replayed.stored, replayed.replayed], [9, 0])
    const judged = await ipid('replay', ...days, '--reenrich')
    assert.deepEqual([judged.events.judged, judged.events.changed], [9, 0])
  })

  await step('a backup has them', async () => {
    const folder = join(await temporaryFolder(t), 'backup')
    await run('backup', folder)
    const other = new TestSite(t, env)
    assert.equal((await other.ipid('restore', folder)).code, 0)
    const started = other.start()
    const restored = queryOf((await started.ready()).tables_url)
    assert.equal(await restored(STORED), await query(STORED))
    started.child.kill('SIGTERM')
    await started.ended
  })

  const rule = `is AS${DOUBTFUL_AS.asn} - Kibo Works`
  const companyOf = async (id: string) => (await stored()).find(([event]) => event === id)?.slice(1, 4)
  await step('a rule makes it a company, in stored events too; what the caller named stays', async () => {
    const subject = ['is', `AS${DOUBTFUL_AS.asn}`, '-', 'Kibo', 'Works']
    const trial = await ipid('rules', 'add', 'acme', ...subject, '--dry-run')
    assert.deepEqual(trial.newly_held, { [rule]: 3 })
    await ipid('rules', 'add', 'acme', ...subject, '--past', 'all')
    const made = ['kibo-works', 'kibo-works', 'Kibo Works']
    await until(
      () => companyOf('doubtful'),
      (found) => found?.[0] === 'kibo-works',
    )
    assert.deepEqual([await companyOf('doubtful'), await companyOf('batch-doubtful')], [made, made])
    assert.deepEqual(await companyOf('own'), ['theirs', 'kibo-works', 'Kibo Works'])
    assert.deepEqual(await companyOf('person'), ['', '', ''])
    assert.equal((await call('/v1/unknown-networks?reason=doubtful')).total, 0)
    assert.equal((await ipid('usage', 'acme')).tracked_accounts, 2)
  })

  await step('its removal takes the company away again', async () => {
    await ipid('rules', 'remove', 'acme', 'is', `AS${DOUBTFUL_AS.asn}`, '-', 'Kibo', 'Works', '--past', 'all')
    await until(
      () => companyOf('doubtful'),
      (found) => found?.[0] === '',
    )
    assert.deepEqual(await companyOf('doubtful'), ['', '', DOUBTFUL_NAME])
    assert.deepEqual(await companyOf('own'), ['theirs', '', DOUBTFUL_NAME])
    await ipid('rules', 'add', 'acme', 'never-noise', `AS${DOUBTFUL_AS.asn}`, '--past', 'all')
    await until(
      () => companyOf('doubtful'),
      (found) => found?.[0] === DOUBTFUL_ID,
    )
  })
})
