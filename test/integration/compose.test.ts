import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parse } from 'yaml'
import { ROLES, readConfig, readRoles } from '../../src/config/config.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { startTestRedis } from '../support/redis.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly healthcheck?: object
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
}

const text = readFileSync(new URL('../../docker-compose.yml', import.meta.url), 'utf8')
const file = parse(text, { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, null>
}
const services = Object.values(file.services)
const ours = services.filter(({ image }) => image === 'ipid')

/** `${NAME:-default}` and `${NAME:?reason}`, as Compose expands them. */
function interpolate(value: string): string {
  return value.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, _name, kind, rest) => (kind === '-' ? rest : '0123abcd'))
}

function rolesOf({ command = [] }: Service): string {
  assert.deepEqual(command.slice(0, 2), ['start', '--roles'])
  assert.equal(command.length, 3)
  return command[2]!
}

test('the services together have every role once, and their variables are accepted', () => {
  assert.deepEqual(ours.flatMap((service) => readRoles(rolesOf(service))).sort(), [...ROLES].sort())
  for (const { environment = {} } of ours) {
    const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolate(value)]))
    const { redisUrl, clickhouseUrl } = readConfig(env)
    assert.equal(redisUrl, 'redis://redis:6379')
    assert.equal(clickhouseUrl, 'http://ipid:0123abcd@clickhouse:8123')
  }
})

test('the services that archive, write exports and show their place have the bucket of ARCHIVE_URL', () => {
  const names = ['ARCHIVE_URL', 'AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']
  const having = ours.filter(({ environment = {} }) => names.every((name) => name in environment))
  assert.deepEqual(having.map(rolesOf).sort(), ['archive', 'dashboard', 'sink'])
  // Without a bucket, files must survive a new container.
  for (const name of ['archive', 'sink'])
    assert.deepEqual(file.services[name]!.volumes, ['archive:/data/archive'], name)
})

test('only this machine can reach published ports, and every service has a health check', () => {
  for (const port of services.flatMap(({ ports = [] }) => ports)) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/)
  for (const [name, { healthcheck }] of Object.entries(file.services)) assert.ok(healthcheck, name)
  for (const { depends_on: dependsOn = {} } of ours) {
    assert.deepEqual(dependsOn, {
      redis: { condition: 'service_healthy' },
      clickhouse: { condition: 'service_healthy' },
    })
  }
  for (const name of ['redis', 'clickhouse']) {
    assert.match(file.services[name]!.volumes![0]!, new RegExp(`^${name}:/`))
    assert.ok(name in file.volumes)
  }
})

test('the file holds no password', () => {
  for (const [, value] of text.matchAll(/PASSWORD: (.*)$/gm)) assert.match(value!, /^\$\{CLICKHOUSE_PASSWORD:\?/)
})

test('the services as separate processes take an event from the API to the accounts', async (t) => {
  const command = file.services.redis!.command!.slice(1).map(interpolate)
  const [redis, clickhouse] = await Promise.all([startTestRedis(t, command), startTestClickHouse(t)])
  const env = { REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url }
  const started = ours.map((service) => {
    const site = new TestSite(t, env)
    return { roles: rolesOf(service), site, run: site.start(['--roles', rolesOf(service)]) }
  })
  const ready = await Promise.all(started.map(({ run }) => run.ready()))
  const url = ready.find((file) => file.url !== undefined)!.url
  assert.ok(ready.every((file) => file.api_key === undefined))

  const [{ site }] = started as [(typeof started)[0]]
  assert.equal((await site.ipid('tenant', 'create', 'acme', '--plan', 'growth')).code, 0)
  const { key } = JSON.parse((await site.ipid('key', 'create', 'acme', '--json')).stdout)
  const answer = await fetch(`${url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json', connection: 'close' },
    body: '{"events":[{"ip":"81.2.69.142"}]}',
  })
  assert.equal(answer.status, 200)
  await until(async () => {
    const { stdout } = await site.ipid('sql', 'SELECT count() AS events FROM events', '--json')
    return (JSON.parse(stdout).data[0] as { events: number }).events === 1
  })
  for (const { run } of started) run.child.kill('SIGTERM')
  for (const { run } of started) assert.equal((await run.ended).code, 0)
})
