import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { after, describe, test } from 'node:test'
import { ingest } from '../../pipelines/ingest.ts'
import type { SystemStatus } from '../../src/operations/status/system-status.ts'
import { outlineOf, type Sink } from '../../src/pipeline/declaration/pipeline.ts'
import { pick, type ReadyFile, TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

describe('without an instance', () => {
  const USAGE: [args: string[], stderr: RegExp][] = [
    [['start', '--prot', '1'], /^ipid: unknown option '--prot' \(Did you mean --port\?\)\n$/],
    [['start', '--port', 'x'], /^ipid: --port "x": must be a whole number from 0 to 65535\n$/],
    [['start', '--roles', 'web'], /^ipid: --roles "web": must be one or more of ingress, .*\n$/],
    [['start', 'now'], /^ipid: too many arguments .*\n$/],
    [['tenant', 'creat', 'x'], /^ipid: unknown command 'creat' \(Did you mean create\?\)\n$/],
    [['tenant', 'create'], /^ipid: missing required argument 'name' .*\n$/],
    [
      ['tenant', 'create', 'x', '--archive', 'maybe'],
      /^ipid: option '--archive <on\|off>' argument 'maybe' is invalid.*\n$/,
    ],
    [['frobnicate'], /^ipid: unknown command 'frobnicate'.*\n$/],
    [[], /^ipid: give a command: see ipid --help\n$/],
  ]
  for (const [args, stderr] of USAGE) {
    test(`ipid ${args.join(' ')}: exit code 2`, async (t) => {
      const result = await new TestSite(t).ipid(...args)
      assert.equal(result.code, 2)
      assert.match(result.stderr, stderr)
      assert.equal(result.stdout, '')
    })
  }

  test('commands say how to start one', async (t) => {
    for (const args of [
      ['tenant', 'list'],
      ['status', '--json'],
      ['sql', 'SELECT 1'],
      ['key', 'list', 'demo'],
    ]) {
      const { code, stdout, stderr } = await new TestSite(t).ipid(...args)
      assert.equal(code, args[0] === 'status' ? 2 : 1)
      assert.equal(stdout, '')
      assert.match(stderr, /^ipid: no ipid is running on .*"npm start".*\n$/)
    }
  })

  test('data sets are listed whatever else the environment sets', async (t) => {
    const { code, stderr } = await new TestSite(t, { SINK_SHARES: '8' }).ipid('db', 'list')
    assert.equal(code, 0, stderr)
  })

  test('--version and --help', async (t) => {
    const site = new TestSite(t)
    const version = site.spawn('--version')
    assert.equal((await version.ended).code, 0)
    assert.match(version.stdout(), /^\d+\.\d+\.\d+\n$/)
    const help = await site.ipid('start', '--help')
    assert.equal(help.code, 0)
    assert.match(help.stdout, /--port <n>.*\(PORT, 8080\)/)
  })
})

const UNLIMITED = { rate: 1e6, burst: 1e6, daily_lookups: 1e6, monthly_accounts: 1e6 }

function ownPlans(site: TestSite): string {
  const path = join(dirname(site.dir), 'own-plans.json')
  writeFileSync(path, JSON.stringify({ custom: { monthly_accounts: 9 } }))
  return path
}

const site = new TestSite({ after })
let started: Promise<ReadyFile> | undefined

/** The instance of the tests below. Commands get only its DATA_DIR. */
function running(): Promise<ReadyFile> {
  started ??= start()
  return started
}

async function start(): Promise<ReadyFile> {
  const plans = join(dirname(site.dir), 'plans.json')
  writeFileSync(plans, JSON.stringify({ custom: { monthly_accounts: 7 }, huge: UNLIMITED }))
  const enrichDir = join(dirname(site.dir), 'enrich')
  mkdirSync(enrichDir)
  writeFileSync(
    join(enrichDir, 'mine.csv'),
    'network,org_name,domain,classification\n17.0.0.0/8,Mine,mine.example,business\n',
  )
  Object.assign(site.env, { PLANS_FILE: plans, ENRICH_DIR: enrichDir })
  const ready = await site.start().ready()
  for (const name of ['PLANS_FILE', 'ENRICH_DIR']) delete site.env[name]
  return ready
}

test('commands reach the running instance', async () => {
  const ready = await running()
  const json = (...args: readonly string[]) => site.json(...args)

  const tenant = await json('tenant', 'create', 'acme', '--plan', 'growth')
  assert.deepEqual([tenant.tenant_id, tenant.plan, tenant.archive], ['acme', 'growth', false])
  assert.equal(tenant.unclassified, 'account')
  assert.deepEqual(await json('tenant', 'show', 'acme'), tenant)
  assert.equal((await json('tenant', 'set', 'acme', '--archive', 'on')).archive, true)
  assert.deepEqual((await json('tenant', 'list')).map((found: { tenant_id: string }) => found.tenant_id).sort(), [
    'acme',
    'demo',
  ])

  const key = await json('key', 'create', 'acme')
  assert.deepEqual(Object.keys(key).sort(), ['created_at', 'key', 'prefix', 'tenant_id'])
  assert.equal((await json('key', 'list', 'acme'))[0].revoked_at, null)
  const testKey = await json('key', 'create', 'acme', '--test')
  assert.match(testKey.key, /^ipid_test_[0-9a-f]{64}$/)
  assert.deepEqual(
    (await json('key', 'list', 'acme')).map((listed: { prefix: string; test: boolean }) => [
      listed.prefix,
      listed.test,
    ]),
    [
      [key.prefix, false],
      [testKey.prefix, true],
    ],
  )
  assert.notEqual((await json('key', 'revoke', key.prefix)).revoked_at, null)

  const { source_id } = await json('source', 'create', 'acme', 'segment', '--name', 'Shop')
  const listed = ['source_id', 'tenant_id', 'name', 'state', 'last_event']
  assert.deepEqual(pick((await json('source', 'list', 'acme'))[0], ...listed), [
    source_id,
    'acme',
    'Shop',
    'waiting',
    null,
  ])
  assert.match(
    (await site.ipid('source', 'list', 'acme')).stdout,
    /REJECTED +HEALTH\nsrc_\w{7} +segment +Shop .* 0 +waiting\n$/,
  )
  site.env.CLICKHOUSE_URL = 'http://127.0.0.1:1'
  const blind = await site.ipid('source', 'list', 'acme', '--json')
  assert.deepEqual(pick(JSON.parse(blind.stdout)[0], 'source_id', 'state', 'today'), [source_id, 'unknown', null])
  assert.deepEqual(
    [blind.code, blind.stderr],
    [0, 'ipid: without health: ClickHouse does not answer: try again in a moment\n'],
  )
  delete site.env.CLICKHOUSE_URL

  assert.deepEqual((await json('sql', 'SELECT 1 AS one')).data, [{ one: 1 }])
  assert.deepEqual((await json('sql', 'CREATE TEMPORARY TABLE t (x Int8)')).data, [])
  const change = 'ALTER TABLE events DELETE WHERE 0'
  const refused = await site.ipid('sql', change)
  assert.equal(refused.code, 1)
  assert.match(refused.stderr, /analyst: Not enough privileges/)
  assert.deepEqual((await json('sql', '--write', change)).data, [])
  assert.equal((await site.ipid('sql', '--write', change)).stdout, '')
  assert.equal((await site.ipid('sql', '--print-url')).stdout, `${ready.clickhouse_url}\n`)
  assert.deepEqual(await site.ipid('sql'), { code: 2, stdout: '', stderr: 'ipid: give a statement, or --print-url\n' })
  assert.deepEqual(pick(await json('usage', 'acme'), 'tracked_accounts', 'limit'), [0, 2_500])
  assert.deepEqual(pick(await json('usage', 'demo'), 'plan', 'limit'), ['custom', 7])
  assert.equal((await json('tenant', 'create', 'giant', '--plan', 'huge')).plan, 'huge')
  const other = await site.ipid('usage', 'demo', '--json', '--plans-file', ownPlans(site))
  assert.equal(JSON.parse(other.stdout).limit, 9, 'plans that a command is given are its own')

  const status: SystemStatus = await until(
    () => json('status'),
    ({ processes, data }) => processes.length === 3 && data.length > 0,
  )
  assert.ok(status.streams.some(({ group }) => group === 'process'))
  assert.deepEqual(status.unknown, [])
  assert.deepEqual(status.quotas, { passed: { daily_lookups: 0, monthly_accounts: 0 }, highest: [] })
  assert.equal(status.verdict.level, 'ok', status.verdict.text)
  assert.deepEqual(
    status.processes.flatMap(({ roles }) => roles),
    ['dashboard', 'ingress', 'process', 'sink', 'batch', 'archive'],
  )
  assert.deepEqual(pick(status.data[0]!, 'name', 'state', 'records'), ['mine', 'ok', 1])
  assert.deepEqual(pick(status.redis!, 'max_bytes', 'evicts', 'append_only'), [2 ** 28, false, true])
  assert.ok(status.redis!.used_bytes > 0 && status.clickhouse!.memory_bytes > 0)
  const file = join(site.dir, 'run/instance.json')
  const written = readFileSync(file, 'utf8')
  const { pipeline, ...earlier } = JSON.parse(written)
  const isOn = ({ into }: Sink) => into.isOn === undefined
  assert.deepEqual(pipeline, outlineOf({ ...ingest, sinks: ingest.sinks.filter(isOn) }))
  const groupsWith = async (given: object) => {
    writeFileSync(file, JSON.stringify(given))
    const { streams }: SystemStatus = await json('status')
    return [...new Set(streams.map(({ group }) => group))]
  }
  const groups = [...new Set(status.streams.map(({ group }) => group))]
  assert.deepEqual(await groupsWith(earlier), groups, 'an instance of version 0.2.0 wrote no pipeline')
  const own = await groupsWith({ ...earlier, pipeline: { ...pipeline, sinks: [] } })
  assert.deepEqual(own, ['process'], 'the pipeline of the instance, not that of the command')
  writeFileSync(file, written)
  assert.deepEqual(
    (await json('db', 'list')).map(({ name }: { name: string }) => name),
    ['mine', 'rdns'],
  )
  assert.equal((await json('enrich', '17.0.0.1')).data.org_name, 'Mine')
  const checked = await json('rules', 'check', 'acme', '17.0.0.1', '10.0.0.1')
  assert.deepEqual(
    checked.map((found: object) => pick(found, 'status', 'classification')),
    [
      ['ok', 'business'],
      ['filtered', 'reserved'],
    ],
  )
  assert.match((await json('dashboard', 'link', 'acme')).dashboard_url, /^http:.*\/sign-in\?token=/)
  const ada = ['dashboard', 'link', 'acme', '--name', 'Ada Lovelace', '--email', 'ada@example.com', '--days', '2']
  for (const { dashboard_url: link } of [await json(...ada), await json(...ada)]) assert.match(link, /token=/)
  // The second link of a person ends the first.
  assert.deepEqual(await json('dashboard', 'sign-out', 'acme'), { sessions: 0, links: 2 })
  const noName = await site.ipid('dashboard', 'link', 'acme', '--email', 'ada')
  assert.deepEqual([noName.code, noName.stderr], [2, 'ipid: email: "ada" is no e-mail address like ada@example.com\n'])
  const text = (await site.ipid('status')).stdout
  assert.match(text, /^ok: 0 events stored in the last minute; nothing waits\n\nSTREAM .*\n/)
  assert.match(text, /^process \d+ on .*: ingress, since /m)

  const table = (await site.ipid('tenant', 'list')).stdout.split('\n')
  assert.match(table[0]!, /^TENANT +PLAN +ARCHIVE +ADDRESSES +CREATED$/)
  assert.match((await site.ipid('sql', 'SELECT 1 AS one')).stdout, /┌─one─┐/)
  const steering = String.raw`SELECT 'a\n2. │ \x1b[31m' AS text, NULL AS nothing`
  const steered = (await site.ipid('sql', steering)).stdout.split('\n')
  assert.match(steered[1]!, /^1\. │ a +↴│ ᴺᵁᴸᴸ +│$/)
  assert.match(steered[2]!, /^ {3}│↳2\. │ \\u001b\[31m *│ +│$/, 'a value cannot look like a row')
  assert.equal((await site.ipid('sql', 'SELECT 1 AS one WHERE 0')).stdout, '0 rows\n')
  assert.equal((await site.ipid('sql', 'SELECT 1 AS one WHERE 0 FORMAT CSV')).stdout, '')
  assert.equal((await site.ipid('sql', 'CREATE TEMPORARY TABLE t (x Int8)')).stdout, '')
})

test('wrong usage is exit code 2, a failure is 1, each in one line', async () => {
  await running()
  const refused: [args: string[], code: number, stderr: RegExp][] = [
    [['tenant', 'create', 'demo'], 2, /^ipid: tenant demo already exists\n$/],
    [['tenant', 'create', 'Demo!'], 2, /^ipid: a tenant's name must be .*\n$/],
    [['tenant', 'create', 'x', '--plan', 'none'], 2, /^ipid: unknown plan "none": .*\n$/],
    [['tenant', 'set', 'demo'], 2, /^ipid: nothing to set.*\n$/],
    [['key', 'create', 'nobody'], 2, /^ipid: unknown tenant "nobody"\n$/],
    [['dead-letter', 'list', '--tenant', 'nobody'], 2, /^ipid: unknown tenant "nobody"\n$/],
    [['dead-letter', 'retry', '--tenant', 'nobody'], 2, /^ipid: unknown tenant "nobody"\n$/],
    // A command with subcommands, and the same options.
    [['dashboard', 'link', 'demo', '--data-dir', '/nowhere'], 1, /^ipid: no ipid is running on \/nowhere: .*\n$/],
    [['dashboard', 'sign-out', '--data-dir', '/nowhere'], 1, /^ipid: no ipid is running on \/nowhere: .*\n$/],
    [['usage', 'demo', '--month', 'May'], 2, /^ipid: month: must be YYYY-MM.*\n$/],
    [['sql', 'SELECT * FROM nowhere'], 1, /^ipid: Code: 60\. DB::Exception: .*\n$/],
    [['sql', 'SELECT 1 FORMAT CSV', '--json'], 2, /^ipid: --json needs a statement without a FORMAT.*\n$/],
  ]
  for (const [args, code, stderr] of refused) {
    const result = await site.ipid(...args)
    assert.deepEqual([args, result.code, result.stdout], [args, code, ''])
    assert.match(result.stderr, stderr)
  }
})
