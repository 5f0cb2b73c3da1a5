import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectStatus, NO_JOBS, type StatusSources } from '../../../src/operations/status/collect.ts'
import { printStatus } from '../../../src/operations/status/commands/status.ts'
import { MinuteSums, RecentWork } from '../../../src/operations/status/recent.ts'
import type { ReadReport } from '../../../src/operations/status/redis/reports.ts'
import type { RedisStatus } from '../../../src/operations/status/system-status.ts'
import { RecentProblems } from '../../../src/telemetry/problems.ts'
import { printed } from '../../support/printed.ts'

const NOW = Date.parse('2026-11-22T08:00:00.000Z')
const LIMITS = { stallMs: 300_000, slackMs: {} }
const REDIS: RedisStatus = {
  ...{ version: '7', used_bytes: 1, max_bytes: 100, used_share: 0.01, evicts: false, append_only: true },
  ...{ refuses_writes: null, clock_ahead_ms: 0 },
}

function report(over: Partial<ReadReport> = {}): ReadReport {
  const at = new Date(NOW).toISOString()
  const process = {
    roles: ['ingress', 'process', 'sink', 'batch'],
    host: 'h',
    pid: 1,
    version: '1',
    started_at: at,
    told_at: at,
  }
  return { id: 'a', process, last_minute: {}, inserts: [], errors: [], skew_ms: 0, age_ms: 0, ...over }
}

function sources(over: Partial<StatusSources> = {}): StatusSources {
  return {
    pipeline: async () => ({ streams: [], dead_letters: 0 }),
    batchJobs: async () => NO_JOBS,
    bulkJobs: async () => NO_JOBS,
    redis: async () => REDIS,
    dedup: async () => ({ entries: 0, bytes: 0 }),
    reports: async () => [report()],
    retention: async () => [],
    damage: async () => ({ parts: [], archived_tenants: [] }),
    reader: { host: 'h', disk: undefined },
    ...over,
  }
}

test('reports of processes are merged: sums, the worst state of a data set, newest errors first', async () => {
  const set = { name: 'a', reason: null, records: 1, built_at: null, age_days: null, too_old: false }
  const insert = { group: 'clickhouse', inserts: 1, rows: 10, failures: 0, avg_ms: 100, max_ms: 100 }
  const error = { level: 'error', process: 'x', message: 'm', times: 1 } as const
  const status = await collectStatus(
    sources({
      reports: async () => [
        report({
          ...{ last_minute: { stored: 2, requests: 1 }, inserts: [insert], data: [{ ...set, state: 'ok' }] },
          errors: [{ ...error, at: '2026-11-21T07:00:00.000Z' }],
        }),
        report({
          ...{ last_minute: { stored: 3 }, data: [{ ...set, state: 'stale' }] },
          inserts: [{ ...insert, inserts: 3, avg_ms: 20, max_ms: 300, failures: 2 }],
          errors: [{ ...error, at: '2026-11-22T07:00:00.000Z' }],
        }),
      ],
    }),
    LIMITS,
    NOW,
  )
  assert.deepEqual([status.last_minute.stored, status.last_minute.requests, status.last_minute.dead], [5, 1, 0])
  const together = { inserts: 4, rows: 20, failures: 2, avg_ms: 40, max_ms: 300, refused: 0, refusal: null }
  assert.deepEqual(status.inserts, [{ ...insert, ...together }])
  assert.deepEqual(status.data, [{ ...set, state: 'stale' }])
  assert.deepEqual(
    status.errors.map(({ at }) => at.slice(8, 10)),
    ['22', '21'],
  )
  assert.equal(status.verdict.text, 'warning: 2 inserts of clickhouse failed; data set a is stale')
})

test('the worst state of a data set is reported, and a waiting set is no fault', async () => {
  const set = { reason: null, records: 1, built_at: null, age_days: null, too_old: false } as const
  const data = [
    [{ ...set, name: 'a', state: 'waiting', reason: 'it is being compiled' }] as const,
    [
      { ...set, name: 'a', state: 'ok' },
      { ...set, name: 'b', state: 'waiting' },
    ] as const,
    [{ ...set, name: 'b', state: 'failed', reason: 'it is too large' }] as const,
    [{ ...set, name: 'b', state: 'waiting' }] as const,
  ]
  const status = await collectStatus(
    sources({ reports: async () => data.map((sets) => report({ data: sets })) }),
    LIMITS,
    NOW,
  )
  assert.deepEqual(
    status.data.map(({ name, state }) => [name, state]),
    [
      ['a', 'waiting'],
      ['b', 'failed'],
    ],
  )
  assert.equal(status.verdict.text, 'warning: data set b is failed')
  assert.match(
    printed((out) => printStatus(out, status)),
    /^a +waiting .*\nb +failed .*\n {2}a: it is being compiled\n {2}b: it is too large\n/m,
  )
})

test('an unreadable part is named, and the rest is shown', async () => {
  const status = await collectStatus(
    sources({
      redis: () => Promise.reject(new Error('no answer')),
      pipeline: async () => ({ streams: [], dead_letters: 1_234 }),
    }),
    LIMITS,
    NOW,
  )
  assert.deepEqual([status.redis, status.unknown], [null, ['Redis: no answer']])
  assert.equal(status.verdict.text, 'stalled: Redis does not answer (no answer): requests are answered 500')
  const others = await collectStatus(
    sources({
      dedup: () => Promise.reject(new Error('no answer')),
      pipeline: async () => ({ streams: [], dead_letters: 1_234 }),
    }),
    LIMITS,
    NOW,
  )
  assert.equal(
    others.verdict.text,
    'warning: cannot be read: dedup window: no answer; 1,234 dead letters wait for retry or discard',
  )
})

test('each problem that needs an operator has a verdict', async () => {
  const verdict = async (over: Partial<StatusSources>) => {
    const { level, text } = (await collectStatus(sources(over), LIMITS, NOW)).verdict
    return { level, text }
  }
  assert.deepEqual(await verdict({}), { level: 'ok', text: 'ok: 0 events stored in the last minute; nothing waits' })
  const jobs = { ...NO_JOBS, queued: 1, lines_waiting: 600_000, oldest_ms: 60_000 }
  assert.deepEqual(await verdict({ batchJobs: async () => jobs }), {
    level: 'ok',
    text: 'ok: 0 events stored in the last minute; 1 batch job with 600,000 lines to feed; the oldest waits 1 min (batch job)',
  })
  const failing = { open_since: null, failures: 2, error: 's3://lists: AccessDenied' }
  const exports = {
    ...{ count: 5, failed: 1, late: 1 },
    worst: [
      { tenant_id: 'acme', name: 'Weekly', ...failing },
      { tenant_id: 'other', name: 'Daily', ...failing, error: null },
    ],
  }
  assert.deepEqual(await verdict({ exports: async () => exports }), {
    level: 'warning',
    text: 'warning: exports: 1 failed, 1 late: Weekly of acme, Daily of other',
  })
  const withExports = await collectStatus(sources({ exports: async () => exports }), LIMITS, NOW)
  assert.match(
    printed((out) => printStatus(out, withExports)),
    /^exports +5, 1 failed, 1 late: Weekly of acme, Daily of other; s3:\/\/lists: AccessDenied$/m,
  )
  const filling = { ...REDIS, used_bytes: 71, used_share: 0.71 }
  assert.equal(
    (await verdict({ redis: async () => filling })).text,
    'warning: Redis uses 71 B of 100 B, and intake closes at 85 %',
  )
  const full = { ...REDIS, used_bytes: 90, used_share: 0.9, append_only: false, evicts: true }
  assert.match(
    (await verdict({ redis: async () => full })).text,
    /^warning: Redis uses 90 B of 100 B, so intake is closed; Redis has no append-only file: .*; Redis evicts keys /,
  )
  const clickhouse = async () => ({
    version: '26',
    memory_bytes: 1,
    memory_max_bytes: 2,
    clock_ahead_ms: 0,
    missing_tables: ['events'],
  })
  assert.deepEqual(await verdict({ clickhouse }), {
    level: 'warning',
    text: 'warning: ClickHouse lacks the table events: restart ipid to create missing tables again; ./ipid replay restores their rows from the archive',
  })
  const { process } = report()
  const lone = async () => [report({ process: { ...process, roles: ['ingress', 'sink'] } })]
  assert.equal((await verdict({ reports: lone })).text, 'warning: no process has the role process')
  const deaf = async () => [report({ process: { ...process, roles: ['process', 'sink'] } })]
  assert.equal((await verdict({ reports: deaf })).text, 'stalled: no process has the role ingress: events are refused')
})

test('a role of the pipeline that no process has is a warning during a restart, and stalled once events wait or its process hangs', async () => {
  const { process } = report()
  const others = report({ process: { ...process, roles: ['ingress', 'batch'] } })
  const roles = ['process', 'sink', 'archive']
  const hangs = (age_ms: number, pid = 4148) => report({ process: { ...process, pid, roles }, age_ms })
  const verdict = async (reports: ReadReport[], waits: Readonly<Record<string, number>> = {}) => {
    const entries = { stream: 'intake', partition: 0, lag_entries: 1, pending_entries: 0, waiting_events: 1 }
    const streams = Object.entries(waits).map(([group, oldest_ms]) => {
      return { ...entries, lane: 'live' as const, group, oldest_ms }
    })
    const pipeline = async () => ({ streams, dead_letters: 0 })
    return (await collectStatus(sources({ pipeline, reports: async () => reports }), LIMITS, NOW)).verdict
  }
  const missing = 'no process has the role'
  assert.equal((await verdict([others])).text, `warning: ${missing} process; ${missing} sink`)
  assert.equal((await verdict([others], { process: 19_000 })).level, 'warning')
  assert.equal(
    (await verdict([others], { process: 21_000 })).text,
    `stalled: ${missing} process: accepted events wait; ${missing} sink`,
  )
  assert.equal(
    (await verdict([others], { clickhouse: 21_000 })).text,
    `stalled: ${missing} sink: accepted events wait; ${missing} process`,
  )
  // The newest of several reports is that of the last process.
  assert.equal(
    (await verdict([hangs(400_000, 17), others, hangs(25_000)])).text,
    `stalled: ${missing} process: accepted events wait; process 4148 on h (process, sink, archive) has not reported for 25.0 s; ${missing} sink: accepted events wait`,
  )
  assert.equal((await verdict([report(), hangs(25_000)])).level, 'ok')
  assert.match((await verdict([hangs(25_000)])).text, /^stalled: no process of ipid has reported/)
})

test('a process that does not report any more counts in nothing else', async () => {
  const { process } = report()
  const silent = report({
    ...{ process: { ...process, pid: 2 }, age_ms: 21_000, skew_ms: 7_200_000, last_minute: { stored: 5 } },
    errors: [{ level: 'error', process: 'sink', message: 'm', times: 1, at: new Date(NOW).toISOString() }],
  })
  const status = await collectStatus(sources({ reports: async () => [report(), silent] }), LIMITS, NOW)
  assert.equal(status.verdict.level, 'ok')
  assert.deepEqual([status.last_minute.stored, status.processes.map(({ pid }) => pid)], [0, [1]])
})

test('a system that takes no events, or finishes none, is stalled and never ok', async () => {
  const found = async (over: Partial<StatusSources>) => {
    const { level, facts, text } = (await collectStatus(sources(over), LIMITS, NOW)).verdict
    assert.deepEqual([text.split(':')[0], facts[0]?.level ?? 'ok'], [level, level])
    return [level, ...facts.map(({ name }) => name)]
  }
  const { process } = report()
  const disk = { path: '/data', free_bytes: 0, total_bytes: 2 ** 31 }
  const refuses = async () => ({ ...REDIS, refuses_writes: 'the disk is full' })
  const silent = () => Promise.reject(new Error('connect ECONNREFUSED 127.0.0.1:8123'))
  assert.deepEqual(await found({ reports: async () => [] }), ['stalled', 'no-process'])
  // Processes cannot report either.
  assert.deepEqual(await found({ redis: refuses, reports: async () => [] }), ['stalled', 'redis-refuses-writes'])
  assert.deepEqual(await found({ redis: refuses, reports: async () => [], reader: { host: 'h', disk } }), [
    ...['stalled', 'redis-refuses-writes', 'disk-full'],
  ])
  assert.deepEqual(await found({ redis: silent, reports: silent }), ['stalled', 'redis-down'])
  assert.deepEqual(await found({ redis: silent, reports: silent, clickhouse: silent, reader: { host: 'h', disk } }), [
    'stalled',
    'redis-down',
    'disk-full',
    'clickhouse-down',
  ])
  assert.deepEqual(await found({ clickhouse: silent, quotas: silent }), ['warning', 'clickhouse-down'])
  const failing = async () => [report({ last_minute: { requests: 100, failed: 100 } })]
  assert.deepEqual(await found({ reports: failing }), ['warning', 'requests-fail'])
  const apart = async () => [
    report({ process: { ...process, host: 'b' }, skew_ms: 7_200_000 }),
    report({ skew_ms: 900 }),
  ]
  assert.deepEqual(await found({ reports: apart }), ['warning', 'clock'])
  assert.deepEqual(await found({ redis: async () => ({ ...REDIS, clock_ahead_ms: -7_200_000 }) }), ['warning', 'clock'])
  const old = { ...NO_JOBS, queued: 1, lines_waiting: 5, oldest_ms: 400_000 }
  const fed = async () => [report({ last_minute: { batch_lines: 1 } })]
  assert.deepEqual(await found({ batchJobs: async () => old }), ['stalled', 'lines-stalled'])
  assert.deepEqual(await found({ batchJobs: async () => old, reports: fed }), ['ok'])
})

test('facts say when and where', async () => {
  const text = async (over: Partial<StatusSources>) => (await collectStatus(sources(over), LIMITS, NOW)).verdict.text
  const { process } = report()
  const ahead = async () => [report({ process: { ...process, host: 'b' }, skew_ms: 7_200_000 })]
  assert.equal(await text({ reports: ahead }), 'warning: the clock of b is 2.0 h ahead of that of Redis')
  const error = { level: 'error', process: 'sink', message: 'm', times: 1 } as const
  const at = (ms: number) => async () => [report({ errors: [{ ...error, at: new Date(NOW - ms).toISOString() }] })]
  assert.equal(await text({ reports: at(30_000) }), 'warning: last error, at 07:59:30 UTC: sink: m')
  assert.match(await text({ reports: at(61_000) }), /^ok: /)
  const disk = { path: '/data', free_bytes: 2 ** 20, total_bytes: 2 ** 31 }
  assert.equal(
    await text({ reader: { host: 'h', disk } }),
    'warning: the disk is full: 1.0 MiB of 2.0 GiB are free for /data on h',
  )
})

test('rows that a destination refuses are reported, with the reason, as long as it lasts', async () => {
  let nowMs = NOW
  const recent = new RecentWork({ now: () => nowMs })
  const headline = async () => {
    const status = await collectStatus(
      sources({ reports: async () => [report({ inserts: recent.inserts() })] }),
      LIMITS,
      nowMs,
    )
    return status.verdict.text
  }
  recent.refused('clickhouse', 0, 'VIOLATED_CONSTRAINT (469)')
  assert.equal(await headline(), 'warning: clickhouse refuses rows: VIOLATED_CONSTRAINT (469); ipid tries again')
  recent.refused('clickhouse', 2, 'VIOLATED_CONSTRAINT (469)')
  const given = 'warning: clickhouse refuses rows: VIOLATED_CONSTRAINT (469), 2 rows became dead letters'
  assert.equal(await headline(), given)
  nowMs += 61_000
  assert.equal(await headline(), 'ok: 0 events stored in the last minute; nothing waits')
})

test('rows that ClickHouse lost are reported, with the way to restore them', async () => {
  const found = { found_at: '2026-11-22T07:00:00.000Z', missing: true }
  const parts = [
    {
      table: 'events',
      name: 'broken-on-start_202610_1_1_0',
      rows: 1_200,
      from: '2026-10-03',
      to: '2026-10-04',
      ...found,
    },
    { table: 'events', name: 'broken-on-start_202611_7_9_1', rows: 3, from: '2026-11-01', to: '2026-11-01', ...found },
    { table: 'migrations', name: 'broken-on-start_all_1_1_0', rows: null, from: null, to: null, ...found },
  ]
  const status = async (archived_tenants: string[]) =>
    collectStatus(sources({ damage: async () => ({ parts, archived_tenants }) }), LIMITS, NOW)
  const withoutArchive = await status([])
  assert.deepEqual(withoutArchive.verdict, {
    level: 'warning',
    facts: withoutArchive.verdict.facts,
    text:
      'warning: ClickHouse lost 1,203 rows of 2026-10-03 to 2026-11-01: it set aside 2 damaged parts of events; ' +
      'ClickHouse lost rows: it set aside 1 damaged part of migrations',
  })
  assert.match(
    printed((out) => printStatus(out, withoutArchive)),
    /^ {2}no tenant has an archive/m,
  )
  const withArchives = await status(['acme', 'other'])
  const text = printed((out) => printStatus(out, withArchives))
  for (const line of [
    'damaged part of events: 1,200 rows, received 2026-10-03 to 2026-10-04, in broken-on-start_202610_1_1_0',
    '  to restore rows from the archive: ./ipid replay --tenant acme --from 2026-10-03 --to 2026-11-01',
    '  to restore rows from the archive: ./ipid replay --tenant other --from 2026-10-03 --to 2026-11-01',
  ]) {
    assert.ok(text.includes(`${line}\n`), `${line}\n${text}`)
  }
})

test('one uses the singular', async () => {
  const jobs = { ...NO_JOBS, queued: 1, lines_waiting: 1, oldest_ms: 60_000 }
  const set = {
    name: 'a',
    reason: null,
    recognised_as: 'ranges of AS numbers',
    records: 1,
    built_at: null,
    age_days: 1,
  }
  const found = sources({
    pipeline: async () => ({ streams: [], dead_letters: 1 }),
    ...{ batchJobs: async () => jobs, bulkJobs: async () => jobs },
    reports: async () => [
      report({
        last_minute: { live_events: 1, batch_lines: 1, requests: 1, stored: 1 },
        inserts: [{ group: 'clickhouse', inserts: 1, rows: 1, failures: 1, avg_ms: 100, max_ms: 100 }],
        data: [{ ...set, state: 'ok', too_old: true }],
      }),
    ],
    retention: async () => [
      { store: 'archive', at: '2026-11-22T07:00:00.000Z', removed: 1 },
      { store: 'clickhouse', at: '2026-11-22T07:00:00.000Z', removed: 1 },
    ],
  })
  const status = await collectStatus(found, LIMITS, NOW)
  const text = printed((out) => printStatus(out, status))
  for (const said of [
    ...['1 live event, 1 line;', '1 request,', '1 insert of clickhouse failed', '1 dead letter waits', 'of 1 row;'],
    ...['1 line to go', '1 address to go', 'a data set is old: a', '1 old object of the archive', '1 old row removed'],
  ]) {
    assert.ok(text.includes(said), `${said}\n${text}`)
  }
  assert.match(text, /^a +ok +1 +1 d +ranges of AS numbers$/m)
})

test('sums are those of the last minute', () => {
  let nowMs = 1_000_000
  const sums = new MinuteSums({ now: () => nowMs })
  sums.add('a', 1)
  nowMs += 30_000
  sums.add('a', 2)
  sums.top('b', 5)
  sums.top('b', 3)
  assert.deepEqual([sums.sum('a'), sums.max('b'), sums.sum('c')], [3, 5, 0])
  nowMs += 31_000
  assert.deepEqual([sums.sum('a'), sums.max('b')], [2, 5])
  nowMs += 60_000
  assert.deepEqual([sums.sum('a'), sums.max('b')], [0, 0])
})

test('a repeated complaint is one, and none a day later', () => {
  const problems = new RecentProblems()
  const letters = [...'abcdefghijklmnopqrst']
  for (const [i, letter] of letters.entries()) problems.note('warn', letter, i)
  for (let i = 0; i < 5; i++) problems.note('error', 'again', 100 + i)
  const [newest, ...others] = problems.list(200)
  assert.deepEqual(newest, { level: 'error', message: 'again', atMs: 104, times: 5 })
  assert.deepEqual([others.length, others[0]!.message], [9, 't'])
  assert.deepEqual(problems.list(86_400_000 + 104), [])
  problems.ended('error', 'again')
  assert.equal(problems.list(200)[0]!.message, 't')
  for (const free of [31, 5]) problems.note('warn', `only ${free} bytes are free`, 150)
  const [full, next] = problems.list(200)
  assert.deepEqual([full!.message, full!.times, next!.message], ['only 5 bytes are free', 2, 't'])
})
