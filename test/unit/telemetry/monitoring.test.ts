import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { parse } from 'yaml'
import { ingest } from '../../../pipelines/ingest.ts'
import { createRoles } from '../../../src/app.ts'
import { ROLES, readConfig } from '../../../src/config/config.ts'
import { createHealthMetrics } from '../../../src/operations/status/metrics.ts'
import { groupsOf, settingsOf } from '../../../src/pipeline/declaration/pipeline.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { createSupervisorMetrics } from '../../../src/telemetry/process-metrics.ts'
import { silent } from '../../support/pipeline.ts'

/* Checks the dashboard and the alert rules against the metrics of the processes. */

const read = (name: string) =>
  readFileSync(new URL(`../../../src/telemetry/monitoring/${name}`, import.meta.url), 'utf8')

interface Target {
  readonly expr: string
  readonly legendFormat?: string
}

const dashboard = JSON.parse(read('grafana-dashboard.json')) as {
  panels: { id: number; title: string; targets?: Target[] }[]
}
const { groups } = parse(read('alerts.yml')) as {
  groups: { rules: { alert: string; expr: string; annotations: { summary: string } }[] }[]
}
const rules = groups.flatMap(({ rules }) => rules)

/** Labels of each metric, as a scrape shows them. */
async function metricsOf(t: TestContext): Promise<Map<string, ReadonlySet<string>>> {
  const metrics = new Registry()
  collectDefaultMetrics({ register: metrics })
  createSupervisorMetrics(metrics)
  const unread = () => Promise.reject(new Error('not asked'))
  createHealthMetrics(metrics, { status: unread, disk: unread })
  const config = {
    ...readConfig({}, {}, undefined, { settings: settingsOf(ingest), flags: {} }),
    redisUrl: 'unix:///nowhere',
    clickhouseUrl: 'http://127.0.0.1:1',
  }
  const app = await createRoles(config, ROLES, { log: silent, metrics, clock: systemClock })
  t.after(() => app.stop())
  const found = new Map<string, ReadonlySet<string>>()
  for (const metric of metrics.getMetricsAsArray()) {
    // `process` is a label of all metrics of a process; `instance` and `job` come from Prometheus.
    const labels = [...((metric as { labelNames?: readonly string[] }).labelNames ?? []), 'process', 'instance', 'job']
    const names = metric.type.toString() === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    for (const suffix of names) found.set(`${metric.name}${suffix}`, new Set([...labels, 'le']))
  }
  found.set('up', new Set(['instance', 'job']))
  return found
}

const FUNCTIONS = new Set([
  'max',
  'min',
  'sum',
  'count',
  'rate',
  'increase',
  'changes',
  'time',
  'histogram_quantile',
  'by',
  'absent',
  'or',
])

/** The parts of an expression: metrics, and labels with the requested values. */
function namesIn(expr: string) {
  const selectors = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => [
    ...list!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g),
  ])
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/))
  const bare = expr
    .replace(/\{[^}]*\}|\[[^\]]*\]|\bby \([^)]*\)|"[^"]*"/g, ' ')
    .match(/[a-z_][a-z0-9_]*/gi)!
    .filter((word) => !FUNCTIONS.has(word))
  return {
    metrics: [...new Set(bare)],
    labels: [...grouped, ...selectors.map(([, label]) => label!)],
    groups: selectors.filter(([, label]) => label === 'group').map(([, , value]) => value!),
    grouped,
  }
}

test('every metric and label of the dashboard and the alert rules exists', async (t) => {
  const existing = await metricsOf(t)
  const queries = [
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr, legendFormat = '' }) => ({ where: `panel ${title}`, expr, text: legendFormat })),
    ),
    ...rules.map(({ alert, expr, annotations }) => ({ where: alert, expr, text: annotations.summary })),
  ]
  assert.ok(queries.length > 40)
  for (const { where, expr, text } of queries) {
    assert.equal(expr.split('(').length, expr.split(')').length, `${where}: ${expr}`)
    const { metrics, labels, groups: asked, grouped } = namesIn(expr)
    assert.ok(metrics.length > 0, where)
    for (const metric of metrics) {
      const its = existing.get(metric)
      assert.ok(its, `${where}: there is no metric ${metric}`)
      for (const label of labels) assert.ok(its.has(label), `${where}: ${metric} has no label ${label}`)
    }
    for (const group of asked)
      assert.ok(
        groupsOf(ingest).some((one) => one.group === group),
        `${where}: ${group}`,
      )
    // Texts may name labels that the expression keeps.
    const named = [...text.matchAll(/\{\{\s*(?:\$labels\.)?(\w+)\s*\}\}/g)].map(([, label]) => label!)
    const left =
      grouped.length > 0 || /\b(?:max|min|sum|count|absent)\(/.test(expr) ? [...grouped] : ['instance', 'job']
    if (/\babsent\(/.test(expr)) left.push(...labels)
    for (const label of named) assert.ok(left.includes(label), `${where}: ${label} is not left`)
  }
})

test('a rule watches every role', () => {
  const { expr } = rules.find(({ alert }) => alert === 'IpidRoleGone')!
  const watched = [...expr.matchAll(/absent\(ipid_role\{role="(\w+)"\}\)/g)].map(([, role]) => role)
  assert.deepEqual(watched.sort(), [...ROLES].sort())
})

test('panels have distinct ids, rules distinct names', () => {
  const ids = dashboard.panels.map(({ id }) => id)
  assert.equal(new Set(ids).size, ids.length)
  const names = rules.map(({ alert }) => alert)
  assert.equal(new Set(names).size, names.length)
})

test('Prometheus asks every service of Compose', () => {
  const compose = readFileSync(new URL('../../../docker-compose.yml', import.meta.url), 'utf8')
  const { services } = parse(compose, { merge: true }) as {
    services: Record<string, { image: string; environment: Record<string, string> }>
  }
  const ours = Object.entries(services).filter(([, { image }]) => image === 'ipid')
  const config = parse(read('prometheus.yml')) as {
    rule_files: string[]
    scrape_configs: { job_name: string; dns_sd_configs: { names: string[]; port: number }[] }[]
  }
  const [scrape] = config.scrape_configs
  assert.equal(scrape!.job_name, 'ipid')
  assert.deepEqual(scrape!.dns_sd_configs[0]!.names.sort(), ours.map(([name]) => name).sort())
  assert.equal(scrape!.dns_sd_configs[0]!.port, readConfig({}).adminPort)
  assert.deepEqual(config.rule_files, ['alerts.yml'])
  for (const [name, { environment }] of ours) assert.equal(environment.ADMIN_HOST, '0.0.0.0', name)
})
