import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { pino } from 'pino'
import { ENVELOPE_FORM, REDIS_FORM } from '../../schemas/forms.ts'
import { version } from '../../src/config/version.ts'
import { encodeBlock, packBlock } from '../../src/pipeline/event/block.ts'
import { SinkWorker } from '../../src/pipeline/runner/sink-worker.ts'
import { TableInserter } from '../../src/pipeline/sinks/clickhouse/inserter.ts'
import { migrate } from '../../src/stores/clickhouse/migrate.ts'
import { readMigrations } from '../../src/stores/clickhouse/schema.ts'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { agreeOnForm, storedForm } from '../../src/stores/redis/data-form.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { runCommand } from '../support/command.ts'
import { startInstance } from '../support/instance.ts'
import { envelope } from '../support/pipeline.ts'
import { startTestRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const log = pino({ level: 'silent' })
const LATER = { form: String(REDIS_FORM + 1), version: '9.0.0' }

function connect(t: TestContext, url: string) {
  const client = connectRedis(url, { name: 'test', kind: 'loop' })
  // The stores may end before it.
  client.on('error', () => {})
  t.after(() => client.disconnect())
  return client
}

async function startRedis(t: TestContext) {
  const { url } = await startTestRedis(t)
  return { url, client: connect(t, url) }
}

test('a start stores the form of the data once, with the version that raised it', async (t) => {
  const { client } = await startRedis(t)
  assert.equal(await storedForm(client), undefined)
  await client.set(keys.partitions(), 4)
  assert.deepEqual(await storedForm(client), { form: 1, version: '' })
  await agreeOnForm(client, '0.2.0')
  await agreeOnForm(client, '0.2.1')
  assert.deepEqual(await storedForm(client), { form: REDIS_FORM, version: '0.2.0' })
})

test('data of a later version in Redis is refused and not changed, by starts and by commands', async (t) => {
  const { url, client } = await startRedis(t)
  await client.hset(keys.form(), LATER)
  await assert.rejects(agreeOnForm(client, '0.2.0'), {
    name: 'NewerDataError',
    message: new RegExp(
      `^this Redis holds data of ipid 9\\.0\\.0 \\(form ${LATER.form}\\), and ipid 0\\.2\\.0 reads up to`,
    ),
  })
  const { code, stderr } = await runCommand(['tenant', 'create', 'acme'], { env: { REDIS_URL: url } })
  assert.equal(code, 1)
  assert.match(stderr, /^ipid: this Redis holds data of ipid 9\.0\.0 .*: use ipid 9\.0\.0 or later\. To go back .*\n$/)
  assert.deepEqual(await client.hgetall(keys.form()), LATER)
  assert.deepEqual(await client.keys('*'), [keys.form()])
})

test('a migration of a later version is refused, with the version that applied it, before anything changes', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const insert = "INSERT INTO migrations (name, ipid_version) VALUES ('0001_events', ''), ('9999_later', '9.0.0')"
  await clickhouse.client.command({ query: insert })
  await clickhouse.client.command({ query: 'DROP VIEW accounts' })
  const refusal = {
    name: 'NewerDataError',
    message:
      /^ClickHouse has the migration 9999_later of ipid 9\.0\.0, which ipid .* does not know: use ipid 9\.0\.0 or later/,
  }
  await assert.rejects(migrate(clickhouse.url, log), refusal)
  const views = await clickhouse.rows("SELECT 1 FROM system.tables WHERE database = 'ipid' AND name = 'accounts'")
  assert.deepEqual(views, [])

  const inserter = new TableInserter(
    { name: 'events' } as never,
    clickhouse.client,
    () => migrate(clickhouse.url, log),
    undefined,
  )
  const source = { isShared: true, release: async () => {}, close: async () => {} }
  const options = { group: 'g', startsReady: true, rowsMax: 1, lingerMs: 1, log }
  const worker = new SinkWorker({ ...options, source: source as never, inserter })
  await assert.rejects(worker.start(), refusal)
  await worker.stop()
})

test('every applied migration names the version that applied it', async (t) => {
  const clickhouse = await startTestClickHouse(t)
  const rows = await clickhouse.rows('SELECT DISTINCT name, ipid_version FROM migrations ORDER BY name')
  const names = (await readMigrations()).map(({ name }) => name)
  assert.deepEqual(
    rows,
    names.map((name) => ({ name, ipid_version: version() })),
  )
})

test('a backup of a later format is refused, with the version that made it', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'ipid-newer-'))
  t.after(() => rmSync(dir, { recursive: true, force: true }))
  mkdirSync(join(dir, 'backup'))
  writeFileSync(join(dir, 'backup', 'manifest.json'), JSON.stringify({ format: 2, ipid_version: '9.0.0' }))
  const { code, stderr } = await runCommand(['restore', join(dir, 'backup')], { env: { DATA_DIR: join(dir, 'data') } })
  assert.equal(code, 1)
  assert.match(
    stderr,
    /ipid 9\.0\.0 wrote the backup in format 2, but this ipid reads format 1: restore it with ipid 9\.0\.0/,
  )
})

test('events of a later version end the worker, and stay for that version', async (t) => {
  const instance = await startInstance(t, { DEFAULT_DATA: 'off', PARTITIONS: '1' })
  const client = connect(t, instance.ready.redis_url)
  // A later version starts beside this one, and sends.
  await client.hset(keys.form(), LATER)
  const stream = keys.stream(0, 'intake', 'live')
  const fields = encodeBlock(packBlock([envelope('t', 'later')]))
  fields[fields.indexOf('v') + 1] = String(ENVELOPE_FORM + 1)
  const id = await client.xadd(stream, '*', ...fields)
  const refusal = (text: string) => text.includes('process process+sink+batch+archive cannot start')
  await until(() => instance.stderr(), refusal)
  const forms = `events in Redis have form ${ENVELOPE_FORM + 1}, but this ipid reads up to form ${ENVELOPE_FORM}`
  assert.ok(instance.stderr().includes(forms))
  assert.match(instance.stderr(), /this Redis holds data of ipid 9\.0\.0/)
  const [pending] = (await client.xpending(stream, 'process', '-', '+', 10)) as [string, string, number, number][]
  assert.equal(pending![0], id)
  assert.equal(pending![3], 1)
  assert.equal(await client.xlen(keys.dead(0)), 0)
  // The ingress continues: its events wait.
  const answer = await instance.post('/v1/ingest', { events: [{ ip: '17.0.0.1', event_id: 'waits' }] })
  assert.equal(answer.status, 200)
})

test('ipid version shows the stored forms, of a later version too', async (t) => {
  const { url, client } = await startRedis(t)
  const clickhouse = await startTestClickHouse(t)
  const env = { REDIS_URL: url, CLICKHOUSE_URL: clickhouse.url }
  await client.hset(keys.form(), LATER)
  const { code, stdout, stderr } = await runCommand(['version', '--json'], { env })
  assert.deepEqual([code, stderr], [0, ''])
  const printed = JSON.parse(stdout)
  assert.equal(printed.ipid, version())
  assert.equal(printed.node, process.versions.node)
  assert.ok(['uWebSockets.js', 'node:http'].includes(printed.http_engine.name))
  const schema = Number((await readMigrations()).at(-1)!.name.slice(0, 4))
  assert.deepEqual(printed.forms.redis, {
    reads: [1, REDIS_FORM],
    writes: REDIS_FORM,
    stored: { form: REDIS_FORM + 1, by: '9.0.0' },
  })
  assert.deepEqual(printed.forms.clickhouse, {
    reads: [1, schema],
    writes: schema,
    stored: { form: schema, by: version() },
  })
  const text = await runCommand(['version'], { env })
  assert.match(
    text.stdout,
    /^ipid +\d+\.\d+\.\d+\nNode\.js +.*\nHTTP engine +.*\n\nFORM OF +READS +WRITES +STORED +BY\nclickhouse /,
  )
  const without = await runCommand(['version'], { env: { DATA_DIR: '/nonexistent' } })
  assert.equal(without.code, 0)
  assert.match(without.stderr, /^ipid: .*\n$/)
})
