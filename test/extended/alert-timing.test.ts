import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { parse, stringify } from 'yaml'
import { makeFolder } from '../support/backup.ts'
import { installDebian, onPath } from '../support/programs.ts'

/* The rules as they are shipped, with the intervals that are shipped: promtool computes when each one fires and clears. */

const monitoring = new URL('../../src/telemetry/monitoring/', import.meta.url)
const RULES = readFileSync(new URL('alerts.yml', monitoring), 'utf8')
const { global } = parse(readFileSync(new URL('prometheus.yml', monitoring), 'utf8')) as {
  global: { scrape_interval: string; evaluation_interval: string }
}
/** Samples every 15 s: well for 2 min, then the fault for as long as the series says, then well for the rest of 10 min. */
const BEFORE = 8
const during = (samples: number, well: number, bad: number) => `${well}x${BEFORE - 1} ${bad}x${samples - 1} ${well}x40`

interface Series {
  readonly series: string
  readonly values: string
}

/** For each alert on which events depend: the series of a fault of five minutes, or of a moment. */
const FAULTS: Readonly<Record<string, { readonly samples: number; readonly input: readonly Series[] }>> = {
  IpidDown: { samples: 20, input: [{ series: 'up{job="ipid"}', values: during(20, 1, 0) }] },
  IpidStoreDown: { samples: 20, input: [{ series: 'ipid_store_up{store="clickhouse"}', values: during(20, 1, 0) }] },
  IpidRedisRefusesWrites: { samples: 20, input: [{ series: 'ipid_redis_writable', values: during(20, 1, 0) }] },
  IpidDiskFull: { samples: 20, input: [{ series: 'ipid_disk_full', values: during(20, 0, 1) }] },
  IpidClockSkew: { samples: 20, input: [{ series: 'ipid_clock_skew_seconds', values: during(20, 0, 7_200) }] },
  IpidVerdict: { samples: 20, input: [{ series: 'ipid_verdict', values: during(20, 0, 2) }] },
  IpidStalled: { samples: 20, input: [{ series: 'ipid_stalled', values: during(20, 0, 1) }] },
  IpidIntakeClosed: { samples: 20, input: [{ series: 'ipid_intake_closed', values: during(20, 0, 1) }] },
  IpidRoleGone: {
    samples: 20,
    input: ['ingress', 'process', 'sink', 'batch', 'archive', 'dashboard'].map((role) => ({
      series: `ipid_role{role="${role}"}`,
      values: role === 'sink' ? '1x7 stale _x18 1x40' : '1x60',
    })),
  },
  IpidServerErrors: {
    samples: 7,
    input: [
      { series: 'ipid_http_requests_total{status="200"}', values: '0+150x7 1050x6 1050+150x40' },
      { series: 'ipid_http_requests_total{status="500"}', values: '0x7 150+150x6 1050x41' },
    ],
  },
  IpidProcessEnded: {
    samples: 1,
    input: [{ series: 'ipid_process_restarts_total{process="redis"}', values: '0x7 1x60' }],
  },
  IpidRestarted: { samples: 1, input: [{ series: 'ipid_started_timestamp_seconds', values: '100x7 500x60' }] },
}
const STEP_S = 15

async function findPromtool(): Promise<string | undefined> {
  if (onPath(['promtool']) === undefined) await installDebian('prometheus').catch(() => {})
  return onPath(['promtool'])
}

/** Fails with what promtool says when one of its tests fails. */
async function passes(promtool: string, file: string, tests: readonly object[]): Promise<void> {
  writeFileSync(file, stringify({ rule_files: ['alerts.yml'], evaluation_interval: '15s', tests }))
  const ended = await promisify(execFile)(promtool, ['test', 'rules', file]).catch((error) => error)
  const { stdout, stderr } = ended as { stdout?: string; stderr?: string }
  assert.ok(!(ended instanceof Error), `${file}: ${stderr}${stdout}`)
}

test('an alert fires within a minute of its fault, and clears within two of its end', async (t) => {
  const promtool = await findPromtool()
  if (promtool === undefined) return t.skip('no promtool is on PATH')
  assert.deepEqual(global, { scrape_interval: '15s', evaluation_interval: '15s' })
  const dir = makeFolder(t)
  writeFileSync(join(dir, 'alerts.yml'), RULES)
  for (const [name, { samples, input }] of Object.entries(FAULTS)) {
    const faultS = BEFORE * STEP_S
    const endS = (BEFORE + samples) * STEP_S
    const at = (second: number, count: number) => ({
      expr: `count(ALERTS{alertname="${name}",alertstate="firing"}) or vector(0)`,
      eval_time: `${second}s`,
      exp_samples: [{ labels: '{}', value: count }],
    })
    const tests = [
      {
        interval: '15s',
        input_series: input,
        promql_expr_test: [
          at(faultS - STEP_S, 0),
          // The longest time between a fault and its scrape is a step.
          at(faultS + 60 - STEP_S, 1),
          at(endS + 120 - STEP_S, 0),
        ],
      },
    ]
    await passes(promtool, join(dir, `${name}.yml`), tests)
  }
})

const ROLE_NAMES = ['ingress', 'process', 'sink', 'batch', 'archive', 'dashboard']
const roles = (values: string) =>
  ROLE_NAMES.map((role) => ({ series: `ipid_role{instance="a",role="${role}"}`, values }))
const GONE_ROLES = '1x7 stale _x52'

/** For each cause: the series of a service that is well for 2 min, and all alerts of these that fire after it. */
const CAUSES: readonly {
  readonly cause: string
  readonly input: readonly Series[]
  readonly fire: readonly string[]
}[] = [
  {
    // The roles are gone a scrape before their machine says why.
    cause: 'a stopped Redis',
    input: [
      ...roles(GONE_ROLES),
      { series: 'up{job="ipid",instance="a"}', values: '1x60' },
      { series: 'ipid_store_up{instance="a",store="redis"}', values: '1x8 0x51' },
      { series: 'ipid_redis_writable{instance="a"}', values: '1x8 0x51' },
    ],
    fire: ['IpidStoreDown'],
  },
  {
    cause: 'a Redis that answers and takes no writes',
    input: [
      ...roles('1x60'),
      { series: 'up{job="ipid",instance="a"}', values: '1x60' },
      { series: 'ipid_store_up{instance="a",store="redis"}', values: '1x60' },
      { series: 'ipid_redis_writable{instance="a"}', values: '1x7 0x52' },
    ],
    fire: ['IpidRedisRefusesWrites'],
  },
  {
    cause: 'a stopped main process',
    input: [
      ...roles(GONE_ROLES),
      { series: 'up{job="ipid",instance="a"}', values: '1x7 0x52' },
      { series: 'ipid_store_up{instance="a",store="redis"}', values: GONE_ROLES },
      { series: 'ipid_redis_writable{instance="a"}', values: GONE_ROLES },
    ],
    fire: ['IpidDown'],
  },
  {
    cause: 'targets that Prometheus does not find',
    input: [
      ...roles(GONE_ROLES),
      ...['up{job="ipid",instance="a"}', 'ipid_store_up{instance="a",store="redis"}'].map((series) => {
        return { series, values: GONE_ROLES }
      }),
    ],
    fire: ['IpidRoleGone'],
  },
  {
    cause: 'a process that hangs',
    input: [
      ...roles('1x60').filter(({ series }) => !series.includes('sink')),
      { series: 'up{job="ipid",instance="a"}', values: '1x60' },
      { series: 'ipid_store_up{instance="a",store="redis"}', values: '1x60' },
      { series: 'ipid_redis_writable{instance="a"}', values: '1x60' },
    ],
    fire: ['IpidRoleGone'],
  },
]

test('a cause fires the alert with its remedy, and no other', async (t) => {
  const promtool = await findPromtool()
  if (promtool === undefined) return t.skip('no promtool is on PATH')
  const dir = makeFolder(t)
  writeFileSync(join(dir, 'alerts.yml'), RULES)
  for (const { cause, input, fire } of CAUSES) {
    // Also while it begins.
    const counts = Array.from({ length: 16 }, (_, i) => BEFORE + i).map((step) => ({
      expr: `count(count by (alertname) (ALERTS{alertstate="firing",alertname!~"${fire.join('|')}"})) or vector(0)`,
      eval_time: `${step * STEP_S}s`,
      exp_samples: [{ labels: '{}', value: 0 }],
    }))
    const fires = {
      expr: `count by (alertname) (count by (alertname) (ALERTS{alertstate="firing"}))`,
      eval_time: `${BEFORE * STEP_S + 60}s`,
      exp_samples: fire.map((name) => ({ labels: `{alertname="${name}"}`, value: 1 })),
    }
    const tests = [{ name: cause, interval: '15s', input_series: input, promql_expr_test: [...counts, fires] }]
    await passes(promtool, join(dir, `${cause.replaceAll(' ', '-')}.yml`), tests)
  }
})

test('a process that ended twice in 15 minutes does not keep ending, and one that ended three times does', async (t) => {
  const promtool = await findPromtool()
  if (promtool === undefined) return t.skip('no promtool is on PATH')
  const dir = makeFolder(t)
  writeFileSync(join(dir, 'alerts.yml'), RULES)
  const ends = [
    { values: '0x70 1x2 2x100', fires: false },
    { values: '0x70 1x2 2x2 3x100', fires: true },
    // A service that has just started.
    { values: '0 2x100', fires: false },
    { values: '0 1 2x100', fires: false },
    { values: '0 1 2 3x100', fires: true },
  ]
  for (const [i, { values, fires }] of ends.entries()) {
    const expr = 'max_over_time((count(ALERTS{alertname="IpidRestarts",alertstate="firing"}) or vector(0))[30m:15s])'
    const tests = [
      {
        interval: '15s',
        input_series: [{ series: 'ipid_process_restarts_total{instance="a",process="sink"}', values }],
        promql_expr_test: [{ expr, eval_time: '30m', exp_samples: [{ labels: '{}', value: fires ? 1 : 0 }] }],
      },
    ]
    await passes(promtool, join(dir, `ends-${i}.yml`), tests)
  }
})

test('an alert links to its section of the runbook where the repository has an address', async (t) => {
  const promtool = await findPromtool()
  if (promtool === undefined) return t.skip('no promtool is on PATH')
  const dir = makeFolder(t)
  writeFileSync(join(dir, 'alerts.yml'), RULES)
  const section = 'src/telemetry/monitoring/README.md#ipiddiskfull'
  const repository = 'https://git.example.com/ipid/blob/main/'
  const tests = [
    { labels: {}, url: section },
    { labels: { ipid_repository: repository }, url: `${repository}${section}` },
  ].map(({ labels, url }) => ({
    interval: '15s',
    external_labels: labels,
    input_series: [{ series: 'ipid_disk_full{instance="a"}', values: '1x20' }],
    alert_rule_test: [
      {
        eval_time: '1m',
        alertname: 'IpidDiskFull',
        exp_alerts: [
          {
            exp_labels: { severity: 'critical', instance: 'a' },
            exp_annotations: {
              summary: 'The disk of a is full: ClickHouse takes no inserts, and Redis soon refuses events',
              runbook_url: url,
            },
          },
        ],
      },
    ],
  }))
  await passes(promtool, join(dir, 'links.yml'), tests)
})
