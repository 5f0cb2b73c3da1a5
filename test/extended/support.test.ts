import assert from 'node:assert/strict'
import { statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { filesOfArchive } from '../support/archive-files.ts'
import { makeFolder } from '../support/backup.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { startInstance } from '../support/instance.ts'
import { envelope } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { startTestRedis } from '../support/redis.ts'
import { bury } from '../support/running.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/* `ipid support` of a real instance, in every state: what the archive has, and that nothing private is in it. */

const PASSWORD = 'Sword-Fish_77'
const ADDRESSES = ['17.45.67.89', '2001:db8:7:7::99', '203.0.113.77']
const EMAIL = 'ada.lovelace@globex.example'
const TENANT = 'globex-industries'
/** The organisations of test data, and what a tenant wrote. */
const NAMES = ['Example Fruit', 'fruit.example', 'Weekly for Wile', 'Hush Segment', 'Coyote GmbH']
/** The embedded ClickHouse keeps no log of statements; others do. */
const QUERY_LOG = `<clickhouse><query_log><database>system</database><table>query_log</table>
<flush_interval_milliseconds>200</flush_interval_milliseconds></query_log></clickhouse>`
const PARTS = ['status.json', 'doctor.json', 'redis.json', 'tables.json', 'statements.json', 'metrics.txt', 'log.txt']

interface Printed {
  readonly file: string
  readonly parts: string[]
  readonly missing: { readonly part: string; readonly reason: string }[]
}

test('an archive has all parts, and neither secrets nor addresses nor names', async (t) => {
  const step = stepsOf(t)
  const dir = makeFolder(t)
  const [redisServer, clickhouse] = await Promise.all([
    startTestRedis(t),
    startTestClickHouse(t, { configXml: QUERY_LOG }),
  ])
  const redis = connectRedis(redisServer.url, { name: 'test', kind: 'request' })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const secrets = {
    SECRETS_KEY: '00112233445566778899aabbccddeeff'.repeat(2),
    SMTP_URL: `smtp://ada:${PASSWORD}@127.0.0.1:1`,
    SMTP_FROM: `Globex <${EMAIL}>`,
  }
  const stores = { REDIS_URL: redisServer.url, CLICKHOUSE_URL: clickhouse.url }
  const instance = await startInstance(t, { ...stores, ...secrets, ADMIN_PORT: String(takePort()) })
  const env = { DATA_DIR: instance.dataDir, PATH: process.env.PATH! }
  const ipid = (...args: string[]) => runCommand(args, { env: { ...env, ...stores } })
  const succeeds = async (...args: string[]) => {
    const { code, stdout, stderr } = await ipid(...args)
    assert.equal(code, 0, stderr)
    return stdout
  }
  const log = join(dir, 'ipid.log')
  let apiKey = ''
  let asked = 0
  const support = async (extra: Record<string, string> = {}) => {
    const file = join(dir, `support-${asked++}.tar.gz`)
    const { code, stdout, stderr } = await runCommand(['support', file, '--json', '--log', log], {
      env: { ...env, ...extra },
    })
    assert.equal(code, 0, stderr)
    const printed = JSON.parse(stdout) as Printed
    assert.equal(printed.file, file)
    assert.equal(statSync(file).mode & 0o777, 0o600)
    return { printed, files: await filesOfArchive(file) }
  }
  const assertClean = (files: ReadonlyMap<string, string>) => {
    const hidden = [
      PASSWORD,
      new URL(clickhouse.url).password,
      ...ADDRESSES,
      EMAIL,
      TENANT,
      ...NAMES,
      secrets.SECRETS_KEY,
      apiKey,
      instance.apiKey,
    ]
    for (const [name, text] of files) {
      for (const one of hidden) {
        const at = text.toLowerCase().indexOf(one.toLowerCase())
        assert.equal(at, -1, `${name} has ${one}: …${text.slice(Math.max(0, at - 80), at + 80)}…`)
      }
    }
  }

  await step('a tenant with visitors, a segment, a dead letter and a log', async () => {
    await succeeds('tenant', 'create', TENANT)
    apiKey = /ipid_[0-9a-f]{64}/.exec(await succeeds('key', 'create', TENANT))![0]
    const events = ADDRESSES.map((ip) => ({ ip, properties: { email: EMAIL, company: 'Coyote GmbH' } }))
    const answer = await instance.post('/v1/ingest', { events }, { 'x-api-key': apiKey })
    assert.equal(answer.status, 200, await answer.text())
    await until(async () => (await instance.query('SELECT count() FROM ipid.events')) !== '0')
    await succeeds('segment', 'create', TENANT, 'Hush Segment', '--where', 'search=Coyote GmbH')
    await succeeds('sql', `SELECT 1 AS "Coyote GmbH", '${EMAIL}' /* ${TENANT} */`)
    await bury(redis, envelope(TENANT, EMAIL))
    writeFileSync(
      log,
      [
        instance.stderr(),
        JSON.stringify({ level: 40, tenant_id: TENANT, ip: ADDRESSES[0], msg: `no "Coyote GmbH" of ${ADDRESSES[1]}` }),
        JSON.stringify({
          level: 50,
          business: 'Coyote GmbH',
          err: { message: `mail to ${EMAIL}: 'Coyote GmbH'` },
          msg: 'x',
        }),
        `WARN: ${TENANT} at ${ADDRESSES[2]} with ${apiKey}`,
      ].join('\n'),
    )
  })

  await step('of an instance that runs', async () => {
    const { printed, files } = await until(support, ({ files }) =>
      /INSERT INTO/.test(files.get('statements.json') ?? ''),
    )
    assert.deepEqual(printed.missing, [])
    assert.deepEqual(printed.parts, ['versions.json', 'settings.json', ...PARTS])
    assert.deepEqual([...files.keys()], ['about.txt', ...printed.parts])
    assertClean(files)
    const read = (name: string) => JSON.parse(files.get(name)!)
    assert.match(read('versions.json').ipid, /^\d+\.\d+\.\d+$/)
    assert.equal(read('status.json').dead_letters, 1)
    assert.match(files.get('metrics.txt')!, /^ipid_dead_letters\b.* 1$/m)
    assert.ok(
      read('tables.json').tables.some(
        ({ table, rows }: { table: string; rows: number }) => table === 'events' && rows > 0,
      ),
    )
    assert.ok(read('redis.json').streams.length > 0)
    const { running, slowest } = read('statements.json')
    assert.ok(Array.isArray(running) && slowest.length > 0, files.get('statements.json'))
    assert.match(files.get('statements.json')!, /a statement of another client: Select/)
    assert.match(files.get('log.txt')!, /"msg":"no <quoted> of <address>"/)
    assert.match(files.get('log.txt')!, /^WARN: tenant-\d+ at <address> with <key>$/m)
    const settings = read('settings.json') as { setting: string; given: boolean; value?: unknown }[]
    const found = settings.filter(({ setting }) => setting === 'REDIS_URL' || setting === 'SMTP_FROM')
    assert.deepEqual(
      found.map(({ given, value }) => [given, value]),
      [
        [true, undefined],
        [true, undefined],
      ],
    )
  })

  await step('a file that exists is not replaced', async () => {
    const { code, stderr } = await runCommand(['support', join(dir, 'support-0.tar.gz')], { env })
    assert.equal(code, 2)
    assert.match(stderr, /support-0\.tar\.gz: the file exists/)
  })

  await step('while ClickHouse does not answer', async () => {
    await clickhouse.kill()
    const { printed, files } = await support()
    assert.deepEqual(printed.missing.map(({ part }) => part).sort(), ['statements.json', 'tables.json'])
    assert.match(files.get('about.txt')!, /^tables\.json: missing: connect ECONNREFUSED/m)
    assert.match(JSON.parse(files.get('status.json')!).verdict.text, /ClickHouse does not answer/)
    assertClean(files)
  })

  await step('while Redis does not answer either', async () => {
    await redisServer.kill()
    const { printed, files } = await support()
    assert.ok(printed.missing.some(({ part }) => part === 'redis.json'))
    assert.match(JSON.parse(files.get('status.json')!).verdict.text, /^stalled: .*Redis does not answer/)
    assertClean(new Map([...files].filter(([name]) => name !== 'log.txt')))
    for (const hidden of [PASSWORD, ...ADDRESSES, EMAIL, 'Coyote']) assert.ok(!files.get('log.txt')!.includes(hidden))
  })

  await step('after the instance was stopped', async () => {
    instance.child.kill('SIGKILL')
    await until(() => instance.child.signalCode !== null)
    const { printed, files } = await support({ ...secrets })
    assert.deepEqual(
      printed.missing.map(({ part }) => part).sort(),
      PARTS.filter((part) => part !== 'doctor.json' && part !== 'log.txt').sort(),
    )
    assert.match(files.get('about.txt')!, /^metrics\.txt: missing: no ipid is running/m)
    for (const hidden of [PASSWORD, ...ADDRESSES, EMAIL, 'Coyote', secrets.SECRETS_KEY]) {
      assert.ok(![...files.values()].join('').includes(hidden), hidden)
    }
  })
})
