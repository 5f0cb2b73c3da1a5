import assert from 'node:assert/strict'
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import type { Finding } from '../../src/operations/doctor/finding.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { FileServer } from '../support/file-server.ts'
import { quiet } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

interface Report {
  readonly ok: boolean
  readonly problems: number
  readonly risks: number
  readonly running: boolean
  readonly findings: readonly Finding[]
}

/** Runs `ipid doctor --json` on a folder that does not exist, and free ports. */
async function doctor(t: TestContext, env: Record<string, string> = {}, ...args: string[]) {
  const base = mkdtempSync(join(tmpdir(), 'ipid-doctor-'))
  t.after(() => rmSync(base, { recursive: true }))
  const ports = { PORT: String(takePort()), CLICKHOUSE_PORT: '0', DASHBOARD_PORT: '0', ADMIN_PORT: '0' }
  const all = { PATH: process.env.PATH!, DATA_DIR: join(base, 'data'), ...ports, ...env }
  return reportOf(await runCommand(['doctor', '--json', ...args], { env: all }))
}

function reportOf({ code, stdout, stderr }: { code: number; stdout: string; stderr: string }) {
  assert.equal(stderr, '')
  const report = JSON.parse(stdout) as Report
  assert.equal(code, report.problems > 0 ? 1 : 0)
  assert.equal(report.ok, code === 0)
  return report
}

function problemsOf({ findings }: Report): string[] {
  return textsOf(findings, 'problem')
}

function textsOf(findings: readonly Finding[], level: Finding['level']): string[] {
  return findings.flatMap((finding) => (finding.level === level ? [`${finding.check}: ${finding.seen}`] : []))
}

/** A server that takes connections and never answers. */
async function silentServer(t: TestContext): Promise<number> {
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

test('before the first start a healthy machine has no problem, and nothing is made', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'ipid-doctor-'))
  t.after(() => rmSync(base, { recursive: true }))
  const report = await doctor(t, { DATA_DIR: join(base, 'data') })
  assert.deepEqual(problemsOf(report), [])
  assert.equal(report.running, false)
  const fine = report.findings.flatMap(({ check, level }) => (level === 'fine' ? [check] : []))
  for (const check of ['settings', 'data-dir', 'ports', 'redis-server', 'embedded-clickhouse']) {
    assert.ok(fine.includes(check), check)
  }
  assert.deepEqual(readdirSync(base), [])
})

test('every finding that is not fine says why it matters and what mends it', async (t) => {
  const { findings } = await doctor(t, {
    ...{ PORT: 'x', DATA_DRI: '/tmp', HOST: '0.0.0.0', REDIS_URL: 'redis://127.0.0.1:1', ADMIN_HOST: '0.0.0.0' },
    ...{ CLICKHOUSE_URL: 'http://127.0.0.1:1', DASHBOARD_HOST: '0.0.0.0', SMTP_URL: 'smtp://h', WEBHOOK_PRIVATE: 'on' },
  })
  const bad = findings.filter(({ level }) => level !== 'fine')
  assert.ok(bad.length > 8)
  for (const { seen, why, remedy } of bad) {
    assert.match(why ?? '', /^[A-Za-z].*\.$/, seen)
    assert.ok(remedy, seen)
  }
})

test('a wrong value and a misspelt name of settings are problems, and the rest is judged', async (t) => {
  const report = await doctor(t, { SINK_SHARES: 'many', RETENTON_DAYS: '30' })
  assert.deepEqual(problemsOf(report), [
    'settings: SINK_SHARES "many": must be a whole number from 1 to 64',
    'setting-names: RETENTON_DAYS is set, which is no setting; RETENTION_DAYS is one',
  ])
})

test('a taken port is a problem that names the program', async (t) => {
  const port = await silentServer(t)
  const [problem, ...rest] = problemsOf(await doctor(t, { PORT: String(port) }))
  assert.match(problem!, new RegExp(`^ports: PORT ${port}: .*process ${process.pid}\\) listens there`))
  assert.deepEqual(rest, [])
  assert.deepEqual(problemsOf(await doctor(t, { PORT: String(port) }, '--roles', 'sink')), [])
})

test('two doors on one port are a problem', async (t) => {
  const port = String(takePort())
  const report = await doctor(t, { PORT: port, DASHBOARD_PORT: port })
  assert.deepEqual(problemsOf(report), [`ports: PORT and DASHBOARD_PORT are both ${port}`])
})

test('a DATA_DIR that others can write is a problem, and so is an open key', async (t) => {
  const base = mkdtempSync(join(tmpdir(), 'ipid-doctor-'))
  t.after(() => rmSync(base, { recursive: true }))
  const dir = join(base, 'data')
  mkdirSync(dir)
  chmodSync(dir, 0o777)
  const open = (await doctor(t, { DATA_DIR: dir })).findings.find(({ level }) => level === 'problem')!
  assert.equal(open.seen, `every user can write to ${dir}`)
  assert.equal(open.remedy, 'chmod 700 it, or choose another DATA_DIR')
  chmodSync(dir, 0o700)
  writeFileSync(join(dir, 'secrets.key'), `${'0'.repeat(64)}\n`, { mode: 0o644 })
  chmodSync(join(dir, 'secrets.key'), 0o644)
  const problems = problemsOf(await doctor(t, { DATA_DIR: dir }))
  assert.deepEqual(problems, [`secrets-key: every user can read ${join(dir, 'secrets.key')}`])
})

test('a broken file of enrichment data is a problem', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-doctor-'))
  t.after(() => rmSync(dir, { recursive: true }))
  writeFileSync(join(dir, 'mine.mmdb'), 'no database')
  const [problem] = problemsOf(await doctor(t, { ENRICH_DIR: dir }))
  assert.match(problem!, /^enrichment-data: .*mine\.mmdb cannot be read: /)
})

test('settings of Redis that lose events are problems, with the commands that mend them', async (t) => {
  const bad = ['--appendonly', 'no', '--maxmemory', '64mb', '--maxmemory-policy', 'allkeys-lru']
  const slow = ['--hash-max-listpack-entries', '16', '--appendfsync', 'everysec', '--no-appendfsync-on-rewrite', 'yes']
  const redis = await startTestRedis(t, [...bad, ...slow])
  const report = await doctor(t, { REDIS_URL: redis.url })
  assert.deepEqual(problemsOf(report), [
    'redis-disk: Redis has no append-only file',
    'redis-memory: Redis evicts keys when it is full',
  ])
  const risks = textsOf(report.findings, 'risk')
  for (const seen of [
    'appendfsync is everysec',
    'no-appendfsync-on-rewrite is yes',
    'hash-max-listpack-entries is 16',
  ]) {
    assert.ok(
      risks.some((risk) => risk.includes(seen)),
      seen,
    )
  }
  // The remedies work.
  const client = quiet(connectRedis(redis.url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  for (const { remedy = '' } of report.findings) {
    const [, name, value] = /^redis-cli CONFIG SET (\S+) (\S+)/.exec(remedy) ?? []
    if (name !== undefined) await client.call('CONFIG', 'SET', name, value!)
  }
  await until(async () => /aof_rewrite_in_progress:0/.test((await client.call('INFO', 'persistence')) as string))
  const mended = (await doctor(t, { REDIS_URL: redis.url })).findings
  assert.deepEqual(
    mended.filter(({ check, level }) => check.startsWith('redis') && level !== 'fine'),
    [],
  )
})

test('a wrong setting is one problem: its default gets no finding', async (t) => {
  const { findings } = await doctor(t, { BACKUP_URL: 'bucket/prefix' })
  const about = findings.filter(({ seen, remedy = '' }) => `${seen} ${remedy}`.includes('BACKUP_URL'))
  assert.deepEqual(
    about.map(({ check }) => check),
    ['settings'],
  )
})

test('too few replicas for waitReplicas are a problem, and a status still answers', async (t) => {
  const port = String(takePort())
  await startTestRedis(t, ['--port', port, '--appendonly', 'yes'])
  const REDIS_URL = `redis://127.0.0.1:${port}?waitReplicas=1`
  const seen = 'Redis has 0 of the 1 replica that a write needs'
  assert.deepEqual(problemsOf(await doctor(t, { REDIS_URL })), [`redis-replicas: ${seen}`])
  const { code, stdout, stderr } = await runCommand(['status'], { env: { REDIS_URL } })
  assert.deepEqual([code, stderr], [2, ''])
  assert.match(stdout, /^stalled: Redis refuses writes: it has 0 of the 1 replica that a write needs; /)
  for (const [args, error] of [
    [['pipeline'], ''],
    [['usage', 'demo'], 'ipid: unknown tenant "demo"\n'],
    [['rules', 'list', 'demo'], 'ipid: unknown tenant "demo"\n'],
  ] as const) {
    assert.equal((await runCommand(args, { env: { REDIS_URL } })).stderr, error)
  }
})

test('a Redis Cluster that is not one, or does not answer, is reported', async (t) => {
  const port = String(takePort())
  await startTestRedis(t, ['--port', port])
  for (const [REDIS_URL, reason] of [
    [`redis-cluster://127.0.0.1:${port}`, /no node answers as one of a cluster: ERR .*cluster support disabled$/],
    ['redis-cluster://127.0.0.1:1', /no node answers as one of a cluster: connect ECONNREFUSED 127.0.0.1:1$/],
  ] as const) {
    const [problem, ...rest] = problemsOf(await doctor(t, { REDIS_URL }))
    assert.match(problem!, reason)
    assert.deepEqual(rest, [])
  }
})

test('a Redis that others reach without a password is a risk', async (t) => {
  const port = String(takePort())
  await startTestRedis(t, ['--port', port, '--bind', '0.0.0.0', '--protected-mode', 'no'])
  const url = `redis://127.0.0.1:${port}`
  const risks = async () => textsOf((await doctor(t, { REDIS_URL: url })).findings, 'risk')
  const open = 'redis-door: no password, protected mode is off, and other machines reach it'
  assert.ok((await risks()).includes(open))
  const client = quiet(connectRedis(url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  await client.call('CONFIG', 'SET', 'protected-mode', 'yes')
  assert.ok(!(await risks()).includes(open))
})

test('a table without tokens and a missing view are problems', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const of = async () => problemsOf(await doctor(t, { CLICKHOUSE_URL: clickhouse.url }))
  assert.deepEqual(await of(), [])
  await clickhouse.client.command({
    query: 'ALTER TABLE events MODIFY SETTING non_replicated_deduplication_window = 0',
  })
  await clickhouse.client.command({ query: 'DROP VIEW accounts' })
  assert.deepEqual(await of(), [
    'clickhouse-schema: it lacks accounts',
    'exactly-once: the table events remembers no tokens of inserts (non_replicated_deduplication_window is 0)',
  ])
})

test('a folder of backups that does not exist is a problem', async (t) => {
  const folder = join(tmpdir(), 'ipid-doctor-no-backups')
  assert.deepEqual(problemsOf(await doctor(t, { BACKUP_URL: `file://${folder}` })), [`backups: ${folder} is no folder`])
})

/** A ClickHouse that answers queries as `answerOf` says: a text, or the exception of a real server. */
async function startRefusing(t: TestContext, answerOf: (query: string, params: URLSearchParams) => string) {
  const server = createHttpServer(async (request, response) => {
    const { searchParams } = new URL(request.url!, 'http://x')
    const answer = answerOf(searchParams.get('query') ?? (await textOf(request)), searchParams)
    const code = /^Code: (\d+)\./.exec(answer)?.[1]
    response.writeHead(
      code === undefined ? 200 : 500,
      code === undefined ? {} : { 'x-clickhouse-exception-code': code },
    )
    response.end(answer)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => void server.close().closeAllConnections())
  return `http://ipid-app:hush@127.0.0.1:${(server.address() as AddressInfo).port}`
}

const IN_24_8 = '(version 24.8.4.13 (official build))'
const denied = (grant: string) =>
  `Code: 497. DB::Exception: ipid-app: Not enough privileges. To execute this query, it's necessary to have the grant ${grant}. (ACCESS_DENIED) ${IN_24_8}\n`
const WRONG_PASSWORD = `Code: 516. DB::Exception: ipid-app: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED) ${IN_24_8}\n`
const READ_ONLY = `Code: 164. DB::Exception: Cannot modify 'async_insert' setting in readonly mode. (READONLY) ${IN_24_8}\n`
const NO_DATABASE = `Code: 81. DB::Exception: Database ipid does not exist. (UNKNOWN_DATABASE) ${IN_24_8}\n`

/** Answers of a server in order, to the queries that the doctor asks first. */
function inOrder(query: string, params: URLSearchParams): string {
  if (params.get('database') === 'ipid') return NO_DATABASE
  if (query.startsWith('CHECK GRANT')) return '1\n'
  if (query.includes('toUnixTimestamp64Milli')) return `[${Date.now()}]\n`
  if (query.includes('version() AS version')) return '{"version":"24.8.4.13","memory_bytes":1,"memory_max_bytes":2}\n'
  return query.startsWith('SELECT 1') ? '1\n' : ''
}

test('a ClickHouse that refuses the user is reported, with a statement that fixes it', async (t) => {
  const of = async (answerOf: typeof inOrder) => {
    const { findings } = await doctor(t, { CLICKHOUSE_URL: await startRefusing(t, answerOf) })
    const bad = findings.filter(
      ({ check, level }) => level === 'problem' && /^(?:clickhouse|exactly|clocks)/.test(check),
    )
    return bad.map(({ check, seen, remedy }) => [check, seen, remedy])
  }
  assert.deepEqual(await of(() => WRONG_PASSWORD), [
    [
      'clickhouse',
      'ClickHouse refuses the password of the user ipid-app, or has no such user',
      "correct user and password in CLICKHOUSE_URL, or change the password: ALTER USER `ipid-app` IDENTIFIED BY 'PASSWORD'",
    ],
  ])
  assert.deepEqual(await of(() => READ_ONLY), [
    [
      'clickhouse',
      'the user ipid-app may only read, with the settings of its profile (readonly = 1)',
      "give the user a profile with readonly = 0: ALTER USER `ipid-app` SETTINGS PROFILE 'default'",
    ],
  ])
  assert.deepEqual(await of(inOrder), [], 'a database that the first start makes is no problem')
  const without = (refused: RegExp, answer: string) => (query: string, params: URLSearchParams) =>
    refused.test(query) ? answer : inOrder(query, params)
  assert.deepEqual(await of(without(/system\.metrics/, denied('SELECT(metric, value) ON system.metrics'))), [
    [
      'clickhouse',
      'the user ipid-app lacks SELECT(metric, value) ON system.metrics',
      'GRANT SELECT ON system.* TO `ipid-app`',
    ],
  ])
  assert.deepEqual(await of(without(/FROM migrations/, denied('SELECT(name) ON ipid.migrations'))), [
    [
      'clickhouse',
      'the user ipid-app lacks SELECT(name) ON ipid.migrations',
      'GRANT SELECT(name) ON ipid.migrations TO `ipid-app`',
    ],
  ])
  assert.deepEqual(await of(without(/^CHECK GRANT (?:CREATE|DROP)/, '0\n')), [
    [
      'clickhouse-rights',
      'the user ipid-app lacks CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP TABLE, DROP VIEW on ipid',
      'GRANT CREATE DATABASE, CREATE TABLE, CREATE VIEW, DROP TABLE, DROP VIEW ON ipid.* TO `ipid-app`',
    ],
  ])
})

test('servers that are dead or silent are problems, and do not hold the command', async (t) => {
  const [dead, silent] = [1, await silentServer(t)]
  for (const port of [dead, silent]) {
    const report = await doctor(t, {
      REDIS_URL: `redis://127.0.0.1:${port}`,
      CLICKHOUSE_URL: `http://127.0.0.1:${port}`,
      ARCHIVE_URL: `s3://bucket/a?endpoint=http://127.0.0.1:${port}`,
      BACKUP_URL: `s3://bucket/b?endpoint=http://127.0.0.1:${port}`,
      ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' },
    })
    const checks = report.findings.flatMap(({ check, level }) => (level === 'problem' ? [check] : []))
    assert.deepEqual(checks.sort(), ['archive', 'backups', 'clickhouse', 'redis'])
  }
})

test('no secret is printed', async () => {
  const secrets = ['hunter-redis', 'hunter-house', 'hunter-mail', 'hunter-aws', 'hunter-key', 'hunter/slash']
  const env = {
    PATH: process.env.PATH!,
    DATA_DIR: join(tmpdir(), 'ipid-doctor-none'),
    REDIS_URL: 'redis://:hunter-redis@127.0.0.1:1',
    CLICKHOUSE_URL: 'http://ipid:hunter-house@127.0.0.1:1',
    SMTP_URL: 'smtp//me:hunter-mail@host',
    SECRETS_KEY: 'hunter-key',
    REDIS_PASSWORD: 'hunter-redis',
    DASHBOARD_URL: 'x://u:hunter/slash@host',
    ARCHIVE_URL: 's3://bucket?endpoint=http://127.0.0.1:1',
    ...{ AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'hunter-aws' },
  }
  for (const args of [['doctor'], ['doctor', '--json']]) {
    const { code, stdout, stderr } = await runCommand(args, { env })
    assert.equal(code, 1)
    assert.match(stdout, /cannot reach Redis/)
    for (const secret of secrets) assert.ok(!`${stdout}${stderr}`.includes(secret), secret)
  }
})

test('settings from files are known, their secrets are not printed, and files that everybody reads are a risk', async (t) => {
  // The TMPDIR of a test is closed to other users, and what lies in it is no risk.
  const dir = mkdtempSync('/tmp/ipid-doctor-files-')
  t.after(() => rmSync(dir, { recursive: true }))
  const file = (name: string, content: string, mode = 0o600) => {
    const path = join(dir, name)
    writeFileSync(path, content, { mode })
    chmodSync(path, mode)
    return path
  }
  chmodSync(dir, 0o755)
  const files = {
    REDIS_URL_FILE: file('redis', 'redis://:hunter-redis@127.0.0.1:1\n', 0o644),
    CLICKHOUSE_URL_FILE: file('house', 'x://ipid:hunter/house@127.0.0.1:1'),
    SMTP_URL_FILE: join(dir, 'missing'),
    SECRETS_KEY_FILE: file('key', 'hunter-key'),
  }
  const report = await doctor(t, files)
  const risks = textsOf(report.findings, 'risk')
  assert.deepEqual(
    risks.filter((text) => text.startsWith('secret')),
    [`secret-files: every user can read ${files.REDIS_URL_FILE}, the file of REDIS_URL`],
  )
  assert.doesNotMatch(JSON.stringify(report), /is no setting/)
  assert.match(JSON.stringify(report), /SMTP_URL_FILE .*cannot be read: ENOENT/)
  assert.match(JSON.stringify(report), /cannot reach Redis/)
  chmodSync(dir, 0o700)
  assert.doesNotMatch(JSON.stringify(await doctor(t, files)), /every user can read/)
  for (const secret of ['hunter-redis', 'hunter/house', 'hunter-key'])
    assert.ok(!JSON.stringify(report).includes(secret), secret)
})

test('wrong roles are wrong usage', async () => {
  const { code, stdout, stderr } = await runCommand(['doctor', '--roles', 'web'])
  assert.deepEqual([code, stdout], [2, ''])
  assert.match(stderr, /^ipid: --roles "web": must be one or more of /)
})

test('a running instance has no problem, is judged by its own settings, and is not changed', async (t) => {
  const site = new TestSite(t, { ADMIN_HOST: '0.0.0.0', REDIS_FSYNC: 'everysec' })
  const ready = await site.start().ready()
  for (const name of ['ADMIN_HOST', 'REDIS_FSYNC', 'PORT', 'CLICKHOUSE_PORT']) delete site.env[name]
  const client = quiet(connectRedis(ready.redis_url, { name: 'test', kind: 'loop' }))
  t.after(() => client.disconnect())
  const files = () => readdirSync(site.dir).sort()
  const before = files()
  const report = reportOf(await site.ipid('doctor', '--json'))
  assert.deepEqual(problemsOf(report), [])
  assert.equal(report.running, true)
  const risks = textsOf(report.findings, 'risk').filter((text) => !/^(?:disk|http-engine|node):/.test(text))
  assert.deepEqual(risks, [
    'doors: ADMIN_HOST is 0.0.0.0: other machines reach GET /metrics',
    'backups: BACKUP_URL is not set: no backups by schedule',
    'redis-disk: REDIS_FSYNC is everysec',
  ])
  const fine = report.findings.flatMap(({ check, level }) => (level === 'fine' ? [check] : []))
  for (const check of ['redis', 'redis-data', 'redis-door', 'clickhouse', 'clickhouse-schema', 'exactly-once']) {
    assert.ok(fine.includes(check), check)
  }
  assert.equal(fine.filter((check) => check === 'clocks').length, 2)
  assert.deepEqual(files(), before)
  const page = await site.ipid('doctor')
  assert.match(page.stdout, /^0 problems, \d risks: the ipid that runs on /)

  site.env.PORT = '1234'
  const other = textsOf(reportOf(await site.ipid('doctor', '--json')).findings, 'risk')
  assert.ok(other.includes('settings: the running ipid was started with another PORT'))

  await client.call('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
  assert.deepEqual(problemsOf(reportOf(await site.ipid('doctor', '--json'))), [
    'redis-memory: Redis evicts keys when it is full',
  ])
})

test('the provider that signs people in is asked, and the doctor says what it must know', async (t) => {
  const provider = await FileServer.start(t)
  const metadata = {
    issuer: provider.url,
    authorization_endpoint: `${provider.url}/auth`,
    token_endpoint: provider.url,
  }
  const path = '/.well-known/openid-configuration'
  provider.handle(path, (_, response) =>
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(metadata)),
  )
  const settings = { OIDC_ISSUER: provider.url, OIDC_CLIENT_ID: 'ipid', OIDC_CLIENT_SECRET: 'hushhush' }
  const url = { DASHBOARD_URL: 'https://ipid.example' }
  const ofSignIn = async (env: Record<string, string>) =>
    (await doctor(t, { ...settings, ...env })).findings.filter(({ check }) => check === 'sign-in')
  assert.deepEqual(textsOf(await ofSignIn(url), 'fine'), [
    `sign-in: ${provider.url} answers; it must know the redirect URI https://ipid.example/sign-in/oidc`,
  ])
  const risks = textsOf(await ofSignIn({ OIDC_TRUST_EMAIL: 'on' }), 'risk')
  assert.deepEqual(risks, ['sign-in: OIDC_ISSUER is set, and DASHBOARD_URL is not', 'sign-in: OIDC_TRUST_EMAIL is on'])
  provider.handle(path, (_, response) => response.writeHead(404).end('hushhush'))
  const [refused] = await ofSignIn(url)
  assert.deepEqual([refused!.level, refused!.remedy?.includes(`${provider.url}${path}`)], ['problem', true])
  const down = await ofSignIn({ ...url, OIDC_ISSUER: `http://127.0.0.1:${takePort()}` })
  assert.match(down[0]!.seen, /^OIDC_ISSUER does not answer: http:\/\/127\.0\.0\.1:\d+: connect ECONNREFUSED/)
  assert.ok(!JSON.stringify([refused, down]).includes('hushhush'))
})
