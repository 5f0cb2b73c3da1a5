import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DAYS_OF_MONTH, DEFAULTS } from '../../../src/operations/sizing/defaults.ts'
import { limitsOfProduct } from '../../../src/operations/sizing/limits.ts'
import { planFor, type Traffic } from '../../../src/operations/sizing/plan.ts'
import { countText, settingsOf, sizeText, timeText } from '../../../src/operations/sizing/print-plan.ts'
import { COMPACT_MAX } from '../../../src/operations/status/redis/dedup.ts'
import { BUCKETS } from '../../../src/pipeline/streams/seen-store.ts'
import { runCommand } from '../../support/command.ts'

const read = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const TRAFFIC = { noise: 0.3, eventsPerRequest: 1, retentionDays: 365, outageHours: 4, isArchived: false }
const plan = (change: Partial<Traffic> & Pick<Traffic, 'eventsPerDay'>) =>
  planFor({ ...TRAFFIC, ...change }, limitsOfProduct())

const MILLIONS = [1, 10, 100]

/** The table of README.md: a row for 1, 10 and 100 million events a month and a day, in Markdown. */
function sizingTable(): string[] {
  const limits = limitsOfProduct()
  const rows = [DAYS_OF_MONTH, 1].flatMap((days) =>
    MILLIONS.map((millions) => {
      const traffic: Traffic = {
        ...DEFAULTS,
        noise: DEFAULTS.noise / 100,
        eventsPerDay: (millions * 1e6) / days,
        isArchived: false,
      }
      const { machine, redis, clickhouse, buffer, settings, tooMuch } = planFor(traffic, limits)
      return [
        `${countText(millions * 1e6)} a ${days === 1 ? 'day' : 'month'}`,
        `${machine.cores}${tooMuch.length > 0 ? ', several machines' : ''}`,
        sizeText(machine.memoryBytes),
        sizeText(settings.redisMaxMemoryBytes),
        sizeText(redis.diskBytes),
        sizeText(clickhouse.diskBytes),
        String(settings.partitions),
        buffer.byDefault.meanSeconds > 0 ? timeText(buffer.byDefault.meanSeconds) : 'too small',
      ]
    }),
  )
  const head = [
    'events',
    'cores',
    'memory',
    '`REDIS_MAX_MEMORY`',
    'disk of Redis',
    'disk of ClickHouse, a year',
    '`PARTITIONS`',
    'outage, defaults of Compose',
  ]
  return [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`)
}

test('the table of the page is that of the command', () => {
  const rows = sizingTable()
  assert.ok(read('src/operations/sizing/README.md').includes(rows.join('\n')), `\n${rows.join('\n')}\n`)
})

test('no plan has less memory than Compose', () => {
  const compose = read('docker-compose.yml')
  const shipped = (name: string) =>
    new Map([...compose.matchAll(/\$\{([A-Z_]+):-(\w+)\}/g)].map(([, of, value]) => [of, value])).get(name)
  assert.equal(shipped('REDIS_MAX_MEMORY'), '1gb')
  const planned = new Map(settingsOf(plan({ eventsPerDay: 1_000 })).map(({ name, value }) => [name, value]))
  assert.equal(planned.get('REDIS_MAX_MEMORY'), '1024mb')
  assert.equal(planned.get('REDIS_MEMORY'), shipped('REDIS_MEMORY'))
  assert.equal(shipped('CLICKHOUSE_MEMORY'), '4g')
  assert.equal(planned.get('CLICKHOUSE_MEMORY'), '4096m')
})

test('more events never need less', () => {
  const plans = [1e4, 1e6, 1e7, 1e8, 1e9, 1e10].map((eventsPerDay) => plan({ eventsPerDay }))
  for (const [i, next] of plans.entries()) {
    const before = plans[i - 1]
    if (before === undefined) continue
    assert.ok(next.machine.cores >= before.machine.cores)
    assert.ok(next.machine.memoryBytes >= before.machine.memoryBytes)
    assert.ok(next.machine.diskBytes > before.machine.diskBytes)
    assert.ok(next.settings.partitions >= before.settings.partitions)
  }
})

test('partitions keep each hash of claims compact, and Redis holds them and an outage below its limit', () => {
  for (const eventsPerDay of [1e6, 1e7, 1e8, 1e9]) {
    const { settings, redis, buffer } = plan({ eventsPerDay })
    assert.ok((eventsPerDay * 0.7 * 3.5) / (settings.partitions * BUCKETS) < COMPACT_MAX)
    const bytes = redis.claimBytes / redis.claims
    assert.ok(bytes > 30 && bytes < 60, `${bytes} B a claim`)
    assert.ok(redis.claimBytes + redis.waitingBytes < settings.redisMaxMemoryBytes * 0.85)
    assert.ok(buffer.planned.meanSeconds >= 4 * 3_600, `${eventsPerDay}: ${buffer.planned.meanSeconds} s`)
  }
})

test('noise takes no disk and no ids, and an archive does', () => {
  const [quiet, noisy] = [plan({ eventsPerDay: 1e7, noise: 0 }), plan({ eventsPerDay: 1e7, noise: 0.9 })]
  assert.ok(noisy.clickhouse.diskBytes < quiet.clickhouse.diskBytes / 9)
  assert.ok(noisy.redis.claimBytes < quiet.redis.claimBytes / 5)
  const archived = plan({ eventsPerDay: 1e7, isArchived: true })
  assert.ok(archived.machine.diskBytes > plan({ eventsPerDay: 1e7 }).machine.diskBytes)
})

test('requests of many events take less CPU, as measured', () => {
  const [one, hundred] = [1, 100].map((eventsPerRequest) => plan({ eventsPerDay: 86_400e6 / 4, eventsPerRequest }).cpu)
  // 1,000,000 events a second at the peak.
  assert.deepEqual([one!.ingress, hundred!.ingress].map(Math.round), [24, 4])
  assert.deepEqual([one!.redis, hundred!.redis].map(Math.round), [8, 5])
})

test('the plan says what was not measured, and when one machine is not enough', () => {
  assert.deepEqual(plan({ eventsPerDay: 1e4 }).beyond, [])
  assert.deepEqual(plan({ eventsPerDay: 1e4 }).tooMuch, [])
  const large = plan({ eventsPerDay: 1e10 })
  assert.equal(large.beyond.length, 2)
  assert.match(large.tooMuch.join(), /Redis Cluster.*ClickHouse cluster/)
})

test('a Redis Cluster is advised by the CPU of Redis', () => {
  const cluster = (eventsPerRequest: number) =>
    plan({ eventsPerDay: 2e9, eventsPerRequest }).tooMuch.some((reason) => reason.startsWith('Redis uses one core'))
  // 0.74 and 0.46 of a core at the peak.
  assert.deepEqual([cluster(1), cluster(100)], [true, false])
})

test('the settings are read as they are printed', async () => {
  const { SETTINGS } = await import('../../../src/config/settings.ts')
  const known = new Map(Object.values(SETTINGS).map((setting) => [setting.env as string, setting]))
  const compose = read('docker-compose.yml')
  for (const change of [{ eventsPerDay: 1e8 }, { eventsPerDay: 1e10, outageHours: 720 }, { eventsPerDay: 1e12 }])
    for (const { name, value, counts } of settingsOf(plan(change))) {
      const setting = known.get(name)
      if (setting !== undefined) setting.read(value)
      if (name !== 'PARTITIONS') assert.equal(counts.includes(' .env'), compose.includes(`\${${name}:-`), name)
      assert.equal(counts.startsWith('Compose only'), setting === undefined, name)
    }
})

test('an outage that is too long for INTAKE_HIGH_WATER_EVENTS is named', async () => {
  const { settings, buffer, redis } = plan({ eventsPerDay: 1e10, outageHours: 720 })
  assert.equal(settings.highWaterEvents, 1e9)
  assert.equal(redis.waitingBytes, 600e9)
  // 1e9 events at 7e9 stored a day.
  assert.equal(Math.round(buffer.planned.meanSeconds), Math.round(86_400 / 7))
  const { stdout } = await runCommand(['plan', '--events-per-day', '10B', '--outage-hours', '720'])
  assert.match(
    stdout,
    /Redis takes events for 3\.4 h at the mean rate, .* \(you asked for 720 h\)\. Then requests get 429, and senders must repeat\.\n/,
  )
  assert.match(stdout, /\nINTAKE_HIGH_WATER_EVENTS may be 1 billion at most, so more hours do not fit\.\n/)
  assert.equal(plan({ eventsPerDay: 1e8 }).buffer.isCapped, false)
})

test('the command prints a plan, as JSON too', async () => {
  const printed = await runCommand(['plan', '--events-per-day', '10M'])
  assert.equal(printed.code, 0, printed.stderr)
  assert.match(printed.stdout, /^10 million events a day: 116 a second, 463 at the peak, kept 365 days\n/)
  for (const part of [
    'ingress',
    'Redis',
    'ClickHouse',
    'PARTITIONS=8 ',
    'only before the first start; later by backup and restore',
    'One machine is enough',
    'Assumed:',
  ])
    assert.ok(printed.stdout.includes(part), part)
  const [day, month] = await Promise.all(
    [
      ['--events-per-day', '1M'],
      ['--events-per-month', '30M'],
    ].map(async (flags) => JSON.parse((await runCommand(['plan', ...flags, '--json'])).stdout)),
  )
  assert.deepEqual(day, month)
  assert.equal(day.traffic.eventsPerDay, 1_000_000)
})

const WRONG: readonly (readonly [flags: string[], error: RegExp])[] = [
  [[], /^ipid: give --events-per-day or --events-per-month, for example 10M\n$/],
  [['--events-per-day', 'many'], /'many' is invalid\. It must be a number of events from 1 to 1000B/],
  [['--events-per-day', '100.000'], /must be a number of events/],
  [['--events-per-day', '1,000'], /must be a number of events/],
  [['--events-per-day', '0'], /must be a number of events/],
  [['--events-per-day', '-5'], /must be a number of events/],
  [['--events-per-day', '1M', '--events-per-month', '2M'], /cannot be used with/],
  [['--events-per-day', '1M', '--noise', '100'], /^ipid: --noise "100": must be a whole number from 0 to 99\n$/],
  [['--events-per-day', '1M', '--retention-days', '0'], /--retention-days "0": must be a whole number from 1/],
]
for (const [flags, error] of WRONG)
  test(`ipid plan ${flags.join(' ')}: exit code 2`, async () => {
    const { code, stdout, stderr } = await runCommand(['plan', ...flags])
    assert.equal(code, 2)
    assert.equal(stdout, '')
    assert.match(stderr, error)
  })
