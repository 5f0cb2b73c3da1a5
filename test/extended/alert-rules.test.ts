import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { connectRedis } from '../../src/stores/redis/connect.ts'
import { keys } from '../../src/stores/redis/keys.ts'
import { SmallDisk } from '../chaos/run/small-disk.ts'
import { makeFolder } from '../support/backup.ts'
import { runCommand } from '../support/command.ts'
import { mmdb } from '../support/enrichment-data.ts'
import { startInstance } from '../support/instance.ts'
import { envelope } from '../support/pipeline.ts'
import { takePort } from '../support/ports.ts'
import { findPrometheus, startPrometheus } from '../support/prometheus.ts'
import { linesWith, promisesOf, runbookSections } from '../support/runbook.ts'
import { bury, queryTables } from '../support/running.ts'
import { stepsOf } from '../support/steps.ts'
import { until } from '../support/until.ts'

/*
 * Every alert rule, in a real Prometheus that asks a running instance: it fires when its fault is made, and clears after. While it fires, the
 * first command of its section in the runbook prints what the section says, and did not print it before.
 */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))

const RULES = readFileSync(new URL('../../src/telemetry/monitoring/alerts.yml', import.meta.url), 'utf8')
/** Waits of minutes and hours as seconds. */
const SHORTER: readonly (readonly [RegExp, string])[] = [
  [/for: \d+[ms]/g, 'for: 1s'],
  // Three ends and starts of a process take longer than 20 s on a slow machine.
  [/\[15m\]/g, '[1m]'],
  [/\[\d+m\]/g, '[20s]'],
  [/> (?:120|7200|14400)$/gm, '> 2'],
]
const NAMES = (parse(RULES) as { groups: { rules: { alert: string }[] }[] }).groups
  .flatMap(({ rules }) => rules)
  .map(({ alert }) => alert)
const PROMISES = new Map(runbookSections().map((section) => [section.alert, promisesOf(section)]))
/** Its command shows that the stores and the processes are well. */
const ONLY_MAIN_HANGS = 'IpidDown'
/** After failures the builder of days looks again within five minutes, and on a slow machine it looks less often. */
const FIRES_WITHIN_MS = 420_000
const DAY_S = 86_400
const DISK_ALERTS = ['IpidDiskFull', 'IpidDiskLow']

const prometheus = await findPrometheus()

test('each alert fires when its fault is made, and clears after', {
  skip: typeof prometheus === 'string' && prometheus,
}, async (t) => {
  const { binary } = prometheus as { binary: string }
  const step = stepsOf(t)
  const seen = new Set<string>()
  const backups = join(makeFolder(t), 'backups')
  await mkdir(backups)
  const disk = await SmallDisk.mount(t)
  const env = {
    ADMIN_PORT: String(takePort()),
    INTAKE_HIGH_WATER_EVENTS: '1000',
    STALL_MS: '2000',
    REDIS_MAX_MEMORY: '64mb',
    ARCHIVE_URL: '',
    BACKUP_URL: `file://${backups}`,
  }
  const instance = await startInstance(t, env, disk?.path)
  const { ready } = instance
  const ipid = (...args: string[]) => runCommand(args, { env: { DATA_DIR: instance.dataDir } })
  /** Output of a command of the runbook, typed as it is written there. */
  const type = (command: string) =>
    new Promise<string>((resolve) => {
      const env = { PATH: process.env.PATH, HOME: instance.dir, DATA_DIR: instance.dataDir }
      execFile('sh', ['-c', command], { cwd: ROOT, env }, (_, stdout, stderr) => resolve(`${stdout}${stderr}`))
    })
  /** Lines that the commands print before a fault. */
  const before = new Map<string, ReadonlySet<string>>()
  const shown = new Set<string>()
  /** Waits until the first command of each of these alerts has printed what its section promises. */
  const explains = async (alerts: readonly string[]) => {
    const missing = new Map(alerts.map((alert) => [alert, new Set(PROMISES.get(alert)!.phrases)]))
    await until(
      async () => {
        const printed = new Map<string, string>()
        for (const [alert, phrases] of missing) {
          const { command } = PROMISES.get(alert)!
          const output = printed.get(command) ?? (await type(command))
          printed.set(command, output)
          for (const alternatives of phrases) {
            const found = alternatives.filter((phrase) => {
              const lines = linesWith(phrase, output)
              return alert === ONLY_MAIN_HANGS
                ? lines.length > 0
                : lines.some((line) => !before.get(command)!.has(line))
            })
            if (found.length > 0) phrases.delete(alternatives)
            for (const phrase of found) shown.add(`${alert}: ${phrase}`)
          }
          if (phrases.size === 0) missing.delete(alert)
        }
        return { missing, printed }
      },
      () => missing.size === 0,
    )
  }
  const redis = connectRedis(ready.redis_url, { name: 'test', kind: 'request' })
  redis.on('error', () => {})
  t.after(() => redis.disconnect())
  const watch = await startPrometheus(t, {
    binary,
    target: new URL(ready.metrics_url).host,
    rules: SHORTER.reduce((text, [long, short]) => text.replace(long, short), RULES),
  })
  const quiet = (withinMs?: number) =>
    until(
      () => watch.firing(),
      (names) => names.length === 0,
      withinMs,
    )
  const fires = async (...expected: readonly string[]) => {
    for (const name of expected) seen.add(name)
    const missing = new Set(expected)
    await until(
      async () => {
        for (const name of await watch.firing()) missing.delete(name)
        return [...missing]
      },
      (left) => left.length === 0,
      FIRES_WITHIN_MS,
    )
    await explains(expected)
  }
  await quiet()
  for (const command of new Set([...PROMISES.values()].map(({ command }) => command)))
    before.set(command, new Set((await type(command)).split('\n')))

  await step('a role process that hangs', async () => {
    instance.kill('ipid process,sink', 'SIGSTOP')
    await fires('IpidRoleGone')
    instance.kill('ipid process,sink', 'SIGCONT')
    await quiet()
  })

  await step('a service that does not answer', async () => {
    process.kill(ready.pid, 'SIGSTOP')
    await fires('IpidDown')
    process.kill(ready.pid, 'SIGCONT')
    await quiet()
  })

  await step('a process that keeps ending', async () => {
    for (let times = 0; times < 3; times++) {
      const ended = instance.kill('ipid dashboard' as 'ipid ingress')
      await until(() => instance.pids().others.every((pid) => pid !== ended))
      await until(
        () => fetch(new URL('/readyz', ready.metrics_url), { headers: { connection: 'close' } }),
        ({ ok }) => ok,
      )
    }
    await fires('IpidRestarts', 'IpidProcessEnded')
    await quiet(180_000)
  })

  await step('a ClickHouse that hangs', async () => {
    const pid = instance.kill('embedded/clickhouse', 'SIGSTOP')
    await fires('IpidStoreDown')
    process.kill(pid, 'SIGCONT')
    await quiet()
  })

  await step('a Redis that hangs', async () => {
    const pid = instance.kill('redis-server', 'SIGSTOP')
    // A scrape answers after the second that Redis has, which is too late for this Prometheus. That of an operator waits for ten.
    await explains(['IpidStoreDown'])
    process.kill(pid, 'SIGCONT')
    await quiet()
  })

  await step('a disk that is full', async () => {
    for (const name of DISK_ALERTS) seen.add(name)
    if (disk === undefined) return
    await disk.fill(20)
    await fires(...DISK_ALERTS)
    await disk.empty()
    await quiet()
  })

  await step('a table that takes no rows', async () => {
    const events = (from: number, count: number) => ({
      events: Array.from({ length: count }, (_, i) => ({ ip: '17.1.2.3', event_id: `e${from + i}` })),
    })
    const limit = (parts: number) =>
      queryTables(ready, `ALTER TABLE ipid.events MODIFY SETTING parts_to_throw_insert = ${parts}`)
    const post = async (path: string, body: unknown) => {
      const answer = await instance.post(path, body)
      await answer.arrayBuffer()
      return answer.status
    }
    assert.equal(await post('/v1/ingest', events(0, 1)), 200)
    await until(async () => (await instance.query('SELECT count() FROM ipid.events')) === '1')
    await limit(1)
    const lines = Array.from({ length: 50 }, (_, i) => JSON.stringify({ ip: '17.1.2.4', event_id: `b${i}` }))
    assert.equal(await post('/v1/ingest/batch', lines.join('\n')), 202)
    let answered = 1 + lines.length
    // On a slow machine the intake closes before the last of them.
    for (let i = 1; i < 12; i++) {
      const status = await post('/v1/ingest', events(i * 100, 100))
      assert.ok(status === 200 || status === 429, String(status))
      if (status === 200) answered += 100
    }
    let asking = true
    const asked = (async () => {
      while (asking) {
        await post('/v1/ingest', events(10_000, 1))
        await sleep(50)
      }
    })()
    const names = [
      'IpidInsertsFail',
      'IpidEventsWait',
      'IpidStalled',
      'IpidVerdict',
      'IpidIntakeClosed',
      'IpidRefusesLoad',
    ]
    try {
      await fires(...names, 'IpidJobsWait')
    } finally {
      asking = false
      await asked
    }
    await limit(3_000)
    await quiet()
    assert.equal(
      await instance.query("SELECT uniqExact(event_id) FROM ipid.events WHERE event_id != 'e10000'"),
      String(answered),
    )
  })

  await step('a Redis that is nearly full', async () => {
    const junk = Array.from({ length: 47 }, (_, i) => `junk:${i}`)
    for (const key of junk) await redis.set(key, Buffer.alloc(2 ** 20))
    await fires('IpidRedisMemory')
    await redis.del(...junk)
    await quiet()
  })

  await step('a Redis that takes no writes', async () => {
    await redis.config('SET', 'min-replicas-to-write', '1')
    let asking = true
    const asked = (async () => {
      while (asking) {
        const answer = await instance.post('/v1/ingest', { events: [{ ip: '17.1.2.3' }] })
        await answer.arrayBuffer()
        await sleep(50)
      }
    })()
    try {
      await fires('IpidRedisRefusesWrites', 'IpidServerErrors')
    } finally {
      asking = false
      await asked
    }
    await redis.config('SET', 'min-replicas-to-write', '0')
    await quiet()
  })

  const file = (name: string) => join(instance.dir, 'enrich', name)
  const asn = (builtS: number) =>
    mmdb('GeoLite2-ASN', { '17.0.0.0/8': { autonomous_system_number: 714 } }, { buildEpoch: builtS })
  const nowS = Math.floor(Date.now() / 1_000)
  const exportsFolder = join(instance.dataDir, 'archive', 'exports')
  const succeeds = async (...args: string[]) => {
    const { code, stderr } = await ipid(...args)
    assert.equal(code, 0, stderr)
  }
  let reporting: NodeJS.Timeout | undefined
  t.after(() => clearInterval(reporting))
  /** They begin and end together, because most of this test is waiting. */
  const faults: readonly { alert: string; begins(): Promise<unknown>; ends(): Promise<unknown> }[] = [
    {
      // A machine with a wrong clock, which reports like all others.
      alert: 'IpidClockSkew',
      async begins() {
        const report = async () => {
          const told_at = new Date(Date.now() + 7_200_000).toISOString()
          const parts = {
            process: { roles: [], host: 'other', told_at },
            id: 'other',
            last_minute: {},
            inserts: [],
            errors: [],
          }
          await redis.hset(keys.reports(), 'other', `${Date.now()} ${JSON.stringify(parts)}`)
        }
        await report()
        reporting = setInterval(() => void report().catch(() => {}), 2_000)
      },
      async ends() {
        clearInterval(reporting)
        await redis.hdel(keys.reports(), 'other')
      },
    },
    {
      // An event that cannot be processed.
      alert: 'IpidDeadLetters',
      begins: () => bury(redis, envelope('demo', 'dead')),
      ends: () => succeeds('dead-letter', 'discard', '--all'),
    },
    {
      // A file of enrichment data that is broken.
      alert: 'IpidEnrichmentFile',
      begins: () => writeFile(file('cloud-cut.txt'), 'not a network\n'),
      ends: () => writeFile(file('cloud-cut.txt'), '3.0.0.0/9\n'),
    },
    {
      // A file of enrichment data that is old.
      alert: 'IpidEnrichmentOld',
      async begins() {
        await writeFile(file('sources.json'), '[{"url": "http://127.0.0.1:1/asn.mmdb"}]')
        await writeFile(file('asn.mmdb'), asn(nowS - 100 * DAY_S))
      },
      ends: () => writeFile(file('asn.mmdb'), asn(nowS)),
    },
    {
      // An export that fails: a file is in place of its folder.
      alert: 'IpidExports',
      async begins() {
        await rm(exportsFolder, { recursive: true, force: true })
        await mkdir(dirname(exportsFolder), { recursive: true })
        await writeFile(exportsFolder, '')
        await succeeds('segment', 'create', 'demo', 'All', '--where', 'days=30')
        await succeeds('export', 'create', 'demo', 'weekly', '--segment', 'All', '--every', 'week')
        await ipid('export', 'run', 'demo', 'weekly')
      },
      async ends() {
        await rm(exportsFolder)
        await succeeds('export', 'run', 'demo', 'weekly')
      },
    },
    {
      // A place of backups that takes none.
      alert: 'IpidBackupOld',
      async begins() {
        await rm(backups, { recursive: true, force: true })
        await writeFile(backups, '')
        // As a new place: the backup is due at once.
        await redis.del(keys.backupSchedule())
      },
      async ends() {
        await rm(backups)
        await mkdir(backups)
        await redis.del(keys.backupSchedule())
      },
    },
    {
      // A closed day that is not summed up: the builder waits for a minute without further events.
      alert: 'IpidDaysStale',
      begins: () =>
        succeeds(
          ...['sql', '--write'],
          `INSERT INTO events (ip, tenant_id, event_id, received_at, timestamp, account_id, company_id)
            SELECT '192.0.2.1', 'demo', 'late', now64(3), now64(3) - INTERVAL 2 DAY, 'a', 'c'`,
        ),
      ends: async () => {},
    },
  ]
  await step('faults that do not hinder each other', async () => {
    for (const fault of faults) await fault.begins()
    await fires(...faults.map(({ alert }) => alert))
    for (const fault of faults) await fault.ends()
    await quiet(180_000)
  })

  await step('a service that has ended', async () => {
    const { child } = instance
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    await fires('IpidDown')
  })

  await step('a service that is started again', async () => {
    await instance.restart()
    await fires('IpidRestarted')
    await quiet()
  })

  await step('no rule and no phrase of the runbook is left out', () => {
    assert.deepEqual([...seen].sort(), NAMES.sort())
    const ofDisk = (text: string) => disk === undefined && DISK_ALERTS.some((alert) => text.startsWith(`${alert}: `))
    const promised = [...PROMISES].flatMap(([alert, { phrases }]) =>
      phrases.flat().map((phrase) => `${alert}: ${phrase}`),
    )
    assert.deepEqual(
      promised.filter((text) => !shown.has(text) && !ofDisk(text)),
      [],
    )
  })
})
