import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { after, test } from 'node:test'
import { DEFAULT_PLANS } from '../../../schemas/plans.ts'
import {
  configOfRoles,
  environmentOfRoles,
  type Flags,
  type Role,
  readConfig,
  readRoles,
} from '../../../src/config/config.ts'
import { optional, secret } from '../../../src/config/setting.ts'
import { SETTINGS } from '../../../src/config/settings.ts'

const dir = mkdtempSync(join(tmpdir(), 'ipid-config-'))
after(() => rmSync(dir, { recursive: true, force: true }))

function plansFile(content: unknown): string {
  const path = join(dir, 'plans.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

test('the defaults are those in the README', () => {
  const config = readConfig({})
  assert.equal(config.port, 8080)
  assert.equal(config.host, '127.0.0.1')
  assert.equal(config.dataDir, resolve('./data'))
  assert.equal(config.redisUrl, undefined)
  assert.equal(config.clickhouseUrl, undefined)
  assert.equal(config.clickhousePort, 8123)
  assert.equal(config.enrichDir, undefined)
  assert.equal(config.logLevel, 'info')
  assert.equal(config.rdns, 'off')
  assert.equal(config.batchQueueLimit, 10)
  assert.deepEqual(Object.fromEntries(config.plans), DEFAULT_PLANS)
  assert.ok(Object.isFrozen(config))
})

test('a flag wins over its variable, and an empty variable counts as unset', () => {
  assert.equal(readConfig({ PORT: '1' }).port, 1)
  assert.equal(readConfig({ PORT: '1' }, { port: '2' }).port, 2)
  assert.equal(readConfig({ PORT: '', REDIS_URL: '' }).port, 8080)
})

test('a secret comes from the file that NAME_FILE names, without its last line break', () => {
  const of = (name: string, content: string) => {
    const path = join(dir, name)
    writeFileSync(path, content)
    return path
  }
  const key = 'ab'.repeat(32)
  const files = { SECRETS_KEY_FILE: of('key', `${key}\n`), REDIS_URL_FILE: of('redis', 'redis://:pass%20@r:6379') }
  const config = readConfig(files)
  assert.deepEqual([config.secretsKey, config.redisUrl], [key, 'redis://:pass%20@r:6379'])
  assert.deepEqual([...config.given].sort(), ['redisUrl', 'secretsKey'])
  const flag = { redisUrl: 'redis://other:1' }
  assert.equal(readConfig({ REDIS_URL_FILE: join(dir, 'missing') }, flag).redisUrl, 'redis://other:1', 'a flag wins')
  assert.equal(readConfig({ SECRETS_KEY: '', SECRETS_KEY_FILE: '' }).secretsKey, undefined)
  assert.equal(readConfig({ PORT_FILE: of('port', '1') }).port, 8080, 'only what holds secrets is read from files')

  const refusal = (env: Record<string, string>) => {
    try {
      readConfig(env)
    } catch (error) {
      return (error as Error).message.replaceAll(dir, '')
    }
    return ''
  }
  assert.equal(
    refusal({ ...files, SECRETS_KEY: key }),
    'SECRETS_KEY and SECRETS_KEY_FILE are both set: give one of them',
  )
  assert.equal(refusal({ SMTP_URL_FILE: join(dir, 'missing') }), 'SMTP_URL_FILE "/missing": cannot be read: ENOENT')
  assert.equal(refusal({ SMTP_URL_FILE: dir }), 'SMTP_URL_FILE "": must be a file')
  assert.equal(refusal({ SMTP_URL_FILE: of('empty', '\n') }), 'SMTP_URL_FILE "/empty": the file is empty')
  assert.match(
    refusal({ SMTP_URL_FILE: of('long', 'x'.repeat(70_000)) }),
    /has 70000 bytes, and a secret at most 65536$/,
  )
  const wrong = refusal({ SECRETS_KEY_FILE: of('wrong', 'hush') })
  assert.equal(wrong, 'SECRETS_KEY: must be 64 hexadecimal characters, as "openssl rand -hex 32" prints them')
})

test('a process is given the secrets that its roles use, and no variable that holds one', () => {
  const key = 'ab'.repeat(32)
  const [smtp, oidc] = ['smtp://u:p@h:25', { OIDC_ISSUER: 'https://i', OIDC_CLIENT_ID: 'c', OIDC_CLIENT_SECRET: 's' }]
  const config = readConfig({ SECRETS_KEY: key, SMTP_URL: smtp, ...oidc })
  const given = (...roles: Role[]) => {
    const { secretsKey, smtpUrl, oidcClientSecret } = configOfRoles(config, roles)
    return [secretsKey === key, smtpUrl === smtp, oidcClientSecret === 's']
  }
  assert.deepEqual(given('process', 'archive'), [false, false, false])
  assert.deepEqual(given('ingress'), [true, false, false])
  assert.deepEqual(given('process', 'sink', 'batch', 'archive'), [true, true, false])
  assert.deepEqual(given('dashboard'), [true, true, true])
  const aws = { AWS_SECRET_ACCESS_KEY: 'a', AWS_REGION: 'b' }
  const secrets = { REDIS_URL: 'redis://:p@h', SECRETS_KEY: key, SMTP_URL: smtp, OWN_TOKEN: 'x' }
  const own = [secret(optional('OWN_TOKEN', 'x', 'own', String)), optional('OWN_PLACE', 'x', 'own', String)]
  const env = { PATH: '/bin', PORT: '1', OWN_PLACE: 'y', ...aws, ...secrets }
  const rest = { PATH: '/bin', PORT: '1', OWN_PLACE: 'y' }
  assert.deepEqual(environmentOfRoles(env, ['process'], own), rest)
  for (const role of ['ingress', 'sink', 'batch', 'archive', 'dashboard'])
    assert.deepEqual(environmentOfRoles(env, ['process', role], own), { ...rest, ...aws }, role)
})

test('a file of a secret that a command does not take does not stop it', () => {
  const env = { SMTP_URL_FILE: join(dir, 'missing'), REDIS_URL: 'redis://r:1' }
  const config = readConfig(env, {}, ['dataDir', 'redisUrl'])
  assert.deepEqual([config.smtpUrl, config.redisUrl, config.given], [undefined, 'redis://r:1', ['redisUrl']])
  assert.throws(() => readConfig(env, {}, ['smtpUrl']), { message: /^SMTP_URL_FILE .*cannot be read: ENOENT$/ })
  assert.throws(() => readConfig(env), { message: /^SMTP_URL_FILE / })
})

const REFUSED: [flags: Flags, message: RegExp][] = [
  [{ secretsKey: 'hush' }, /^--secrets-key: must be 64 hexadecimal characters, as "openssl rand -hex 32" prints them$/],
  [{ port: '70000' }, /^--port "70000": must be a whole number from 0 to 65535$/],
  [{ port: '' }, /^--port "": must be/],
  [{ port: '-1' }, /^--port "-1": must be/],
  [{ port: '80.5' }, /^--port "80.5": must be/],
  [{ port: '0x50' }, /^--port "0x50": must be/],
  [{ host: 'a b' }, /^--host "a b": must be an address$/],
  [{ redisUrl: 'http://x' }, /^--redis-url "http:\/\/x": must be redis:\/\//],
  [{ redisUrl: 'unix://path' }, /^--redis-url/],
  [{ redisUrl: 'redis-cluster://a' }, /^--redis-url/],
  [{ clickhouseUrl: 'localhost:8123' }, /^--clickhouse-url "localhost:8123": must be http:\/\/host:port or https/],
  [
    { clickhouseUrl: 'http://u:100%@h:8123' },
    /^--clickhouse-url .*: user and password must be percent-encoded: % is %25$/,
  ],
  [
    { backupUrl: 's3://bucket', archiveUrl: 's3://bucket/archive' },
    /^BACKUP_URL lies around ARCHIVE_URL: .*another bucket or prefix$/,
  ],
  [{ backupUrl: 's3://bucket/x/y', archiveUrl: 's3://bucket/x' }, /^BACKUP_URL lies in ARCHIVE_URL: /],
  [{ backupUrl: 'file:///a/b', archiveUrl: 'file:///a/b' }, /^BACKUP_URL lies in ARCHIVE_URL: .*another folder$/],
  [{ backupUrl: 'file:///a/b/archive/c', dataDir: '/a/b' }, /^BACKUP_URL lies in the archive under DATA_DIR: /],
  ...[
    'http://id.example',
    'https://u:p@id.example',
    'https://id.example/?a=1',
    'https://id.example#',
    'id.example',
  ].map((oidcIssuer): [Flags, RegExp] => [
    { oidcIssuer, oidcClientId: 'a', oidcClientSecret: 'b' },
    /^--oidc-issuer ".*": must be https:\/\/host or https:\/\/host\/path; http only with localhost, 127.0.0.1 or \[::1\]$/,
  ]),
  [
    { oidcIssuer: 'https://id.example' },
    /^OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET go together: set all three/,
  ],
  [{ oidcClientId: 'a', oidcClientSecret: 'b' }, /^OIDC_ISSUER, OIDC_CLIENT_ID and OIDC_CLIENT_SECRET go together/],
  [{ oidcClientSecret: 'hüsh' }, /^--oidc-client-secret: must be up to 2048 characters of ASCII; OIDC_ISSUER, /],
  [{ clickhouseCluster: 'c1' }, /^CLICKHOUSE_CLUSTER needs CLICKHOUSE_URL: the embedded engine is not a cluster$/],
  [
    { clickhouseUrl: 'http://h:8123', clickhouseHosts: 'http://h:8123' },
    /^CLICKHOUSE_HOSTS needs CLICKHOUSE_CLUSTER: the hosts are those of a cluster$/,
  ],
  [
    { clickhouseHosts: 'http://ipid:hush@h1:8123,h2:8123', clickhouseUrl: 'http://h:8123', clickhouseCluster: 'c1' },
    /^--clickhouse-hosts "http:\/\/ipid:\*\*\*@h1:8123,h2:8123": must be http:\/\/host:port or https:/,
  ],
  ...["c1'", '1c', 'a.b', 'a-b', '{cluster}', 'a b', 'x'.repeat(65)].map((clickhouseCluster): [Flags, RegExp] => [
    { clickhouseCluster, clickhouseUrl: 'http://h:8123' },
    /^--clickhouse-cluster ".*": must be the name of a cluster: up to 64 letters, digits and _, no digit first$/,
  ]),
  [{ enrichDir: '/no/such/folder' }, /^--enrich-dir "\/no\/such\/folder": must be a folder that exists$/],
  [{ plansFile: '/no/such/file' }, /^--plans-file "\/no\/such\/file": must be a file that can be read \(ENOENT\)$/],
  [{ logLevel: 'loud' }, /^--log-level "loud": must be one of trace, debug/],
  [{ rdns: 'yes' }, /^--rdns "yes": must be one of on, off$/],
  [{ partitions: '0' }, /^--partitions "0": must be a whole number from 1/],
  [{ sinkShares: '5' }, /^--sink-shares "5": must be at most PARTITIONS, which is 4$/],
  [
    { hubspotUrl: 'http://api.hubapi.com' },
    /^HUBSPOT_URL must be https, because it gets tokens; http needs WEBHOOK_PRIVATE=on$/,
  ],
  [{ redisMaxMemoryBytes: '1mb' }, /^--redis-max-memory "1mb": must be bytes, or a size/],
  [{ redisFsync: 'sometimes' }, /^--redis-fsync/],
]

for (const [flags, message] of REFUSED) {
  test(`refuses ${JSON.stringify(flags)}`, () => {
    assert.throws(() => readConfig({}, flags), { name: 'InputError', message })
  })
}

test('HUBSPOT_URL may be a proxy over http in a private network', () => {
  const hubspotUrl = 'http://proxy:8080'
  assert.equal(readConfig({}, { hubspotUrl, webhookPrivate: 'on' }).hubspotUrl, hubspotUrl)
  assert.equal(readConfig({ HUBSPOT_URL: hubspotUrl }, {}, ['dataDir']).hubspotUrl, hubspotUrl)
})

test('all wrong settings are listed at once', () => {
  const env = { PORT: '99999', LOG_LEVEL: 'loud', CLICKHOUSE_CLUSTER: 'c1', PLANS_FILE: '/no/such/file' }
  assert.throws(() => readConfig(env, { retentionDays: 'x' }), {
    name: 'InputError',
    message:
      /^PORT "99999": must be .*; --retention-days "x": must be .*; LOG_LEVEL "loud": must be .*; CLICKHOUSE_CLUSTER needs .*; PLANS_FILE "\/no\/such\/file": must be [^;]*$/,
  })
})

test('a command unrelated to shares of a sink does not require PARTITIONS with them', () => {
  const env = { SINK_SHARES: '8' }
  assert.equal(readConfig(env, {}, ['dataDir']).sinkShares, 8)
  assert.throws(() => readConfig(env), { message: /^SINK_SHARES "8": must be at most PARTITIONS, which is 4$/ })
})

test('a command that writes to no cluster does not require CLICKHOUSE_URL with one', () => {
  assert.equal(readConfig({ CLICKHOUSE_CLUSTER: 'c1' }, {}, ['enrichDir', 'dataDir']).clickhouseCluster, 'c1')
})

test('a bad variable is named as a variable, without the password in it', () => {
  assert.throws(() => readConfig({ REDIS_URL: 'radis://user:secret@host' }), {
    message: /^REDIS_URL "radis:\/\/user:\*\*\*@host": must be/,
  })
})

test('understands sizes and the forms of a Redis address', () => {
  const size = (text: string) => readConfig({ REDIS_MAX_MEMORY: text }).redisMaxMemoryBytes
  assert.equal(size('512mb'), 512 * 2 ** 20)
  assert.equal(size('4GB'), 4 * 2 ** 30)
  assert.equal(size('33554432'), 33_554_432)
  assert.ok(size('half') > 0)
  for (const url of [
    'redis://h:1',
    'rediss://u:p@h',
    'unix:///run/x.sock',
    'redis-cluster://a:1,b:2',
    'redis-sentinel://a,b/m',
  ]) {
    assert.equal(readConfig({ REDIS_URL: url }).redisUrl, url)
  }
})

test('PLANS_FILE adds plans, and overrides the named values of existing ones', () => {
  const big = { rate: 1_000, burst: 2_000, daily_lookups: 5, monthly_accounts: 6 }
  const { plans } = readConfig({ PLANS_FILE: plansFile({ big, starter: { rate: 7 } }) })
  assert.deepEqual(plans.get('big'), big)
  assert.deepEqual(plans.get('starter'), { ...DEFAULT_PLANS.starter, rate: 7 })
  assert.deepEqual(plans.get('growth'), DEFAULT_PLANS.growth)
})

const BAD_PLANS: [content: unknown, message: RegExp][] = [
  ['{', /must be JSON/],
  [[], /must be an object of plans/],
  [{ 'Big Plan': {} }, /plan "Big Plan": the name must/],
  [{ big: { rate: 1, burst: 1, daily_lookups: 1 } }, /plan big: monthly_accounts must be a whole number, at least 0/],
  [{ starter: { rate: '5' } }, /plan starter: rate must be a number/],
  [{ starter: { brust: 5 } }, /plan starter has the unknown field "brust"/],
]

for (const [content, message] of BAD_PLANS) {
  test(`refuses the plans ${JSON.stringify(content)}`, () => {
    assert.throws(() => readConfig({ PLANS_FILE: plansFile(content) }), { name: 'InputError', message })
  })
}

test('roles are read in a fixed order, and unknown ones refused', () => {
  assert.deepEqual(readRoles('sink,ingress,sink'), ['ingress', 'sink'])
  for (const bad of ['', 'ingress,', 'Sink', 'web']) {
    assert.throws(() => readRoles(bad), {
      name: 'InputError',
      message: /^--roles ".*": must be one or more of ingress, /,
    })
  }
})

test('every setting has its own variable', () => {
  const names = Object.values(SETTINGS).map(({ env }) => env)
  assert.equal(new Set(names).size, names.length)
})
