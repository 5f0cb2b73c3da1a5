import assert from 'node:assert/strict'
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { ROLES, readConfig, readRoles, usesBuckets, usesSecret } from '../../src/config/config.ts'
import { SETTINGS } from '../../src/config/settings.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { startTestRedis } from '../support/redis.ts'
import { TestSite } from '../support/site.ts'
import { until } from '../support/until.ts'

interface Service {
  readonly image: string
  readonly command?: readonly string[]
  readonly profiles?: readonly string[]
  readonly user?: string
  readonly read_only?: boolean
  readonly tmpfs?: readonly string[]
  readonly cap_drop?: readonly string[]
  readonly security_opt?: readonly string[]
  readonly mem_limit?: string
  readonly logging?: { readonly options?: Readonly<Record<string, string>> }
  readonly environment?: Readonly<Record<string, string>>
  readonly env_file?: readonly { readonly path: string; readonly required: boolean }[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
  readonly healthcheck?: { readonly test?: readonly string[]; readonly start_interval?: string }
  readonly depends_on?: Readonly<Record<string, { readonly condition: string }>>
}

const read = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const text = read('docker-compose.yml')
const file = parse(text, { merge: true }) as {
  services: Record<string, Service>
  volumes: Record<string, null>
}
const services = Object.values(file.services)
const ours = services.filter(({ image }) => image === 'ipid')

const SECRET = '0123456789abcdef'.repeat(4)

/** `${NAME:-default}` and `${NAME:?reason}`, as Compose expands them. */
function interpolate(value: string): string {
  return value.replace(/\$\{(\w+):([-?])([^}]*)\}/g, (_, _name, kind, rest) => (kind === '-' ? rest : SECRET))
}

function rolesOf({ command = [] }: Service): string {
  assert.deepEqual(command.slice(0, 2), ['start', '--roles'])
  assert.equal(command.length, 3)
  return command[2]!
}

test('the services together have every role once, and their variables are accepted', () => {
  assert.deepEqual(ours.flatMap((service) => readRoles(rolesOf(service))).sort(), [...ROLES].sort())
  for (const service of ours) {
    const { environment = {} } = service
    const env = Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, interpolate(value)]))
    const { redisUrl, clickhouseUrl, secretsKey } = readConfig(env)
    assert.equal(
      secretsKey,
      usesSecret(readRoles(rolesOf(service)), 'secretsKey') ? SECRET : undefined,
      rolesOf(service),
    )
    assert.equal(redisUrl, `redis://:${SECRET}@redis:6379`)
    assert.equal(clickhouseUrl, `http://ipid:${SECRET}@clickhouse:8123`)
  }
})

test('the services that use the archive have its place, and those that use a bucket its credentials', () => {
  const having = (name: string) => ours.filter(({ environment = {} }) => name in environment).map(rolesOf)
  assert.deepEqual(having('ARCHIVE_URL').sort(), ['archive', 'dashboard', 'ingress', 'sink'])
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
    assert.deepEqual(having(name).sort(), ROLES.filter((role) => usesBuckets([role])).sort(), name)
  // Without a bucket, files survive a new container, and the service that answers about events only reads them.
  for (const service of ours) {
    const mounted = service.volumes!.find((volume) => volume.startsWith('archive:'))
    const role = rolesOf(service)
    const expected = role === 'ingress' ? 'archive:/data/archive:ro' : 'archive:/data/archive'
    assert.equal(mounted, having('ARCHIVE_URL').includes(role) ? expected : undefined, role)
  }
})

test('the service that writes scheduled backups is given their settings, and keeps those of a folder', () => {
  const { archive } = file.services
  const settings = Object.values(SETTINGS).filter(({ env }) => env.startsWith('BACKUP_'))
  assert.ok(settings.length >= 4)
  const env = Object.fromEntries(settings.map(({ env: name }) => [name, archive!.environment?.[name] ?? 'missing']))
  for (const { env: name, default: fallback = '' } of settings) assert.equal(interpolate(env[name]!), fallback, name)
  const place = 'file:///data/backups'
  assert.deepEqual(readConfig({ BACKUP_URL: place }).backupUrl, { folder: '/data/backups' })
  assert.ok(archive!.volumes!.map(interpolate).includes('backups:/data/backups') && 'backups' in file.volumes)
  assert.match(read('Dockerfile'), /mkdir -p .*\/data\/backups/)
})

test('every setting can be changed: in .env, or in files of settings that may be missing', () => {
  const all = [...new Set(ours.flatMap(({ env_file: files = [] }) => files.map(({ path }) => path)))]
  assert.deepEqual(all.sort(), ['dashboard.env', 'ipid.env', 'mail.env'])
  for (const { env_file: files = [] } of ours) {
    assert.deepEqual(files[0], { path: 'ipid.env', required: false })
    assert.ok(files.every(({ required }) => !required))
  }
  for (const path of all) {
    assert.ok(read('src/process/README.md').includes(`\`${path}\``), path)
    // It may hold passwords.
    assert.ok(read('.gitignore').split('\n').includes(path), path)
  }
})

test('the files with secrets reach the services that use them, and no other', () => {
  for (const [path, name] of [
    ['mail.env', 'smtpUrl'],
    ['dashboard.env', 'oidcClientSecret'],
  ] as const) {
    const having = ours.filter(({ env_file: files = [] }) => files.some((file) => file.path === path)).map(rolesOf)
    assert.deepEqual(having.sort(), ROLES.filter((role) => usesSecret([role], name)).sort(), path)
  }
})

test('only this machine can reach published ports, and every service has a health check', () => {
  for (const port of services.flatMap(({ ports = [] }) => ports)) assert.match(port, /^127\.0\.0\.1:\d+:\d+$/)
  assert.match(
    read('Dockerfile'),
    /^HEALTHCHECK .* CMD node src\/process\/image\/health\.mjs "\$\{ADMIN_PORT:-9090\}"$/m,
  )
  for (const [name, { image, healthcheck }] of Object.entries(file.services))
    assert.ok(healthcheck?.test ?? image === 'ipid', name)
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

test('the file holds no secret, and does without one nowhere', () => {
  const values = [...text.matchAll(/^ *(?:\w*PASSWORD|SECRETS_KEY|REDISCLI_AUTH): (.*)$/gm)].map(([, value]) => value!)
  assert.ok(values.length >= 3)
  for (const value of values) assert.match(value, /^\$\{(?:CLICKHOUSE_PASSWORD|REDIS_PASSWORD|SECRETS_KEY):\?/)
  for (const [name, { command = [] }] of Object.entries(file.services))
    assert.doesNotMatch(command.join(' '), /\$\{\w*(?:PASSWORD|SECRET|KEY)/, `${name} is shown by ps`)
})

test('no service has more rights, memory or log than it needs', () => {
  for (const [name, service] of Object.entries(file.services)) {
    assert.deepEqual(service.cap_drop, ['ALL'], name)
    assert.deepEqual(service.security_opt, ['no-new-privileges:true'], name)
    assert.ok(service.mem_limit, name)
    assert.ok(service.logging?.options?.['max-size'], name)
    // The image of ClickHouse writes its user into /etc.
    assert.equal(service.read_only ?? false, name !== 'clickhouse', name)
    assert.match(service.image, /^ipid$|:v?\d+\.\d+/, `${name} says its version`)
  }
  for (const name of ['redis', 'clickhouse']) assert.equal(file.services[name]!.user, name)
})

test('mounted files exist, and the monitoring reads the files of the services', () => {
  const mounted = services.flatMap(({ volumes = [] }) => volumes).filter((volume) => volume.startsWith('./'))
  assert.ok(mounted.length >= 3)
  for (const volume of mounted) assert.ok(existsSync(new URL(`../../${volume.split(':')[0]}`, import.meta.url)), volume)
  const sources = parse(read('src/telemetry/monitoring/grafana/datasources/prometheus.yml'))
  assert.equal(sources.datasources[0].url, 'http://prometheus:9090')
  const { providers } = parse(read('src/telemetry/monitoring/grafana/dashboards/ipid.yml'))
  const { grafana, prometheus } = file.services
  assert.ok(
    grafana!.volumes!.some((volume) => volume.split(':')[1] === `${providers[0].options.path}/grafana-dashboard.json`),
  )
  assert.ok(prometheus!.command!.includes('--config.file=/etc/prometheus/prometheus.yml'))
  for (const service of [grafana, prometheus]) assert.deepEqual(service!.profiles, ['monitoring'])
})

test('Redis gets its password by standard input, and no command line has it', async (t) => {
  const [sh, ...args] = file.services.redis!.command!.map((text) => interpolate(text).replaceAll('$$', '$'))
  const folder = await temporaryFolder(t)
  const socket = join(folder, 'redis.sock')
  const env = { PATH: process.env.PATH, REDISCLI_AUTH: SECRET }
  const child = spawn(sh!, [...args, '--port', '0', '--unixsocket', socket, '--dir', folder], { env, stdio: 'ignore' })
  t.after(async () => {
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  const cli = (password: string) =>
    spawnSync('redis-cli', ['-s', socket, 'ping'], { env: { ...env, REDISCLI_AUTH: password }, encoding: 'utf8' })
      .stdout
  await until(() => cli(SECRET) === 'PONG\n')
  assert.match(cli('wrong'), /NOAUTH|WRONGPASS/)
  const commandLine = readFileSync(`/proc/${child.pid}/cmdline`, 'utf8')
  assert.match(commandLine, /^redis-server /, 'the process that is stopped is Redis')
  assert.ok(!commandLine.includes(SECRET))
})

/**
 * The limits of a process in a container of `hardened`: everything but its own folder is read-only, and there is no capability to gain.
 * Undefined where this test may not make it.
 */
function confinement(site: TestSite): readonly string[] | undefined {
  try {
    execFileSync('unshare', ['--mount', 'setpriv', '--bounding-set=-all', 'true'], { stdio: 'ignore' })
  } catch {
    return undefined
  }
  const own = dirname(site.dir)
  mkdirSync(join(own, 'tmp'))
  site.env.TMPDIR = join(own, 'tmp')
  const script = `
    mount --bind "$1" "$1"
    mount -t tmpfs tmpfs "$1/tmp"
    for place in / "$(findmnt -n -o TARGET -T .)" "$(findmnt -n -o TARGET -T "$(dirname "$1")")"; do
      mount -o remount,bind,ro "$place"
    done
    if touch "$PWD/written" 2>/dev/null; then exit 1; fi
    shift
    exec setpriv --no-new-privs --inh-caps=-all --bounding-set=-all "$@"`
  return ['unshare', '--mount', 'bash', '-euc', script, 'bash', own]
}

test('the services as separate processes take an event from the API to the accounts', async (t) => {
  const [shell, option, , name, ...command] = file.services.redis!.command!.map(interpolate)
  assert.deepEqual([shell, option, name], ['sh', '-c', 'redis-server'])
  const [redis, clickhouse] = await Promise.all([startTestRedis(t, command), startTestClickHouse(t)])
  const started = ours.map((service) => {
    const env = Object.entries(service.environment!).map(([name, value]) => [name, interpolate(value)])
    const own = { REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url, ADMIN_HOST: '127.0.0.1' }
    const site = new TestSite(t, { ...Object.fromEntries(env), ...own })
    const through = confinement(site)
    if (through === undefined) t.diagnostic('not confined: this test may not make mounts')
    const check = service.healthcheck!.test ?? ['CMD', 'node', 'src/process/image/health.mjs', '9090']
    const run = site.start(['--roles', rolesOf(service)], { through: through ?? [] })
    return { roles: rolesOf(service), site, run, check }
  })
  const ready = await Promise.all(started.map(({ run }) => run.ready()))
  for (const [i, { check, roles }] of started.entries()) {
    assert.deepEqual(check.slice(0, 3), ['CMD', 'node', 'src/process/image/health.mjs'])
    assert.deepEqual(check.slice(3), [roles === 'ingress' ? '8080' : '9090'])
    const url = roles === 'ingress' ? ready[i]!.url : ready[i]!.metrics_url
    execFileSync(process.execPath, [check[2]!, new URL(url!).port])
  }
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
