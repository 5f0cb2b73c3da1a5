import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import type { Command } from 'commander'
import { collectDefaultMetrics, Registry } from 'prom-client'
import { parse } from 'yaml'
import { ingest } from '../../../pipelines/ingest.ts'
import { createRoles } from '../../../src/app.ts'
import { COMMANDS } from '../../../src/cli/program.ts'
import { ROLES, readConfig } from '../../../src/config/config.ts'
import { createHealthMetrics } from '../../../src/operations/status/metrics.ts'
import { groupsOf, settingsOf } from '../../../src/pipeline/declaration/pipeline.ts'
import { systemClock } from '../../../src/run/clock.ts'
import { createSupervisorMetrics } from '../../../src/telemetry/process-metrics.ts'
import type { CliContext } from '../../../src/terminal/context.ts'
import { readDocument } from '../../support/documents.ts'
import { silent } from '../../support/pipeline.ts'
import { ipidCommandsIn, linesWith, PARTS, promisesOf, RUNBOOK, runbookSections } from '../../support/runbook.ts'

/* Checks the dashboard, the alert rules and the runbook against the metrics of the processes and the command line. */

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
  groups: {
    rules: {
      alert: string
      expr: string
      labels: { severity: string }
      annotations: { summary: string; runbook_url: string }
    }[]
  }[]
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
  'unless',
  'on',
])

/** The parts of an expression: metrics, and labels of each with the requested values. */
function namesIn(expr: string) {
  const selectors = [...expr.matchAll(/(\w+)\{([^}]*)\}/g)].flatMap(([, metric, list]) =>
    [...list!.matchAll(/(\w+)\s*(?:=~|!~|!=|=)\s*"([^"]*)"/g)].map(([, label, value]) => ({
      metric: metric!,
      label: label!,
      value: value!,
    })),
  )
  const grouped = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/))
  const bare = expr
    .replace(/\{[^}]*\}|\[[^\]]*\]|\b(?:by|on) \([^)]*\)|"[^"]*"/g, ' ')
    .match(/[a-z_][a-z0-9_]*/gi)!
    .filter((word) => !FUNCTIONS.has(word))
  return {
    metrics: [...new Set(bare)],
    selectors,
    groups: selectors.filter(({ label }) => label === 'group').map(({ value }) => value),
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
    const { metrics, selectors, groups: asked, grouped } = namesIn(expr)
    assert.ok(metrics.length > 0, where)
    for (const metric of metrics) {
      const its = existing.get(metric)
      assert.ok(its, `${where}: there is no metric ${metric}`)
      const labels = [...grouped, ...selectors.filter((one) => one.metric === metric).map(({ label }) => label)]
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
    if (/\babsent\(/.test(expr)) left.push(...selectors.map(({ label }) => label))
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

test('the runbook has a section of five parts for each rule, in their order, and no other', () => {
  const sections = runbookSections()
  assert.deepEqual(
    sections.map(({ alert, severity }) => [alert, severity]),
    rules.map(({ alert, labels }) => [alert, labels.severity]),
  )
  for (const { alert, parts } of sections) {
    assert.deepEqual(
      parts.map(([name]) => name),
      PARTS,
      alert,
    )
  }
})

test('the link of a rule is the path of its section, after the address of the repository', () => {
  for (const { alert, annotations } of rules) {
    assert.equal(
      annotations.runbook_url,
      `{{ $externalLabels.ipid_repository }}${RUNBOOK}#${alert.toLowerCase()}`,
      alert,
    )
  }
})

/** The first word of a command that the command line does not know; undefined: it knows all. */
async function unknownWordOf([name = '', ...words]: readonly string[]): Promise<string | undefined> {
  const load = COMMANDS.find(([term]) => term.split(' ', 1)[0] === name)?.[2]
  if (load === undefined) return name
  let command: Command = await (await load())({} as CliContext, () => {})
  for (const word of words) {
    const below = command.commands.find((one) => one.name() === word)
    if (below !== undefined) command = below
    else if (word.startsWith('-') && !command.options.some(({ long }) => long === word)) return word
    else if (/^[a-z]/.test(word) && command.commands.length > 0) return word
  }
  return undefined
}

test('every command and metric that the runbook names exists', async (t) => {
  const text = readDocument(RUNBOOK)
  const commands = ipidCommandsIn(text)
  assert.ok(commands.length > rules.length)
  for (const words of commands) assert.equal(await unknownWordOf(words), undefined, words.join(' '))
  assert.equal(await unknownWordOf(['db', 'chek']), 'chek', 'the test finds what is missing')
  assert.equal(await unknownWordOf(['status', '--jsn']), '--jsn', 'the test finds what is missing')
  const existing = await metricsOf(t)
  const metrics = [...text.matchAll(/`(ipid_\w+)`/g)].map(([, name]) => name!)
  assert.deepEqual(
    metrics.filter((name) => !existing.has(name)),
    [],
  )
})

test('the first step of a section is a command of ipid, and says what it prints', () => {
  for (const section of runbookSections()) assert.doesNotThrow(() => promisesOf(section), section.alert)
  const said = (text: string) => promisesOf({ alert: 'A', severity: 'info', parts: [['First', text]] })
  const phrases = [['down', 'full'], ['N errors']]
  assert.deepEqual(said('`./ipid status`. It has *down* or *full*, and *N errors*.'), {
    command: './ipid status',
    phrases,
  })
  assert.throws(() => said('`./ipid status`. It has `down`.'), /^Error: A: no command, or nothing that it prints$/)
})

test('a phrase of the runbook is found in the lines that have it', () => {
  const output =
    'ok: nothing waits\nenriched  live  clickhouse  0  12  1,100  3.2 s\nlast minute  7 requests, 0 of them 429\n'
  const [, queue, minute] = output.split('\n')
  assert.deepEqual(linesWith('enriched live clickhouse … N', output), [queue])
  assert.deepEqual(linesWith('N requests, …', output), [minute])
  assert.deepEqual(linesWith('… N of them 429', output), [], '0 is no N')
  assert.deepEqual(linesWith('N of … live', output), [], 'in their order')
})
