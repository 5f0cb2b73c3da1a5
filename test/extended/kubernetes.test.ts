import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parseEnv, promisify } from 'node:util'
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts'
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.d.ts'
import type { ConfigMap, Container, PodSpec, Service } from 'kubernetes-types/core/v1.d.ts'
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.d.ts'
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts'
import { Registry } from 'prom-client'
import { parse, parseAllDocuments } from 'yaml'
import { ingest } from '../../pipelines/ingest.ts'
import { ROLES, type Role, readConfig, usesBuckets, usesSecret } from '../../src/config/config.ts'
import type { Setting } from '../../src/config/setting.ts'
import { SETTINGS, type SettingName } from '../../src/config/settings.ts'
import { createStoreMetrics } from '../../src/operations/status/metrics.ts'
import { settingsOf } from '../../src/pipeline/declaration/pipeline.ts'
import { startTestClickHouse } from '../support/clickhouse.ts'
import { temporaryFolder } from '../support/enrichment-data.ts'
import { onPath } from '../support/programs.ts'
import { startTestRedis } from '../support/redis.ts'
import { TestSite } from '../support/site.ts'

/* Checks src/process/kubernetes without a cluster. */

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const FOLDER = join(ROOT, 'src/process/kubernetes')
const read = (path: string) => readFileSync(join(FOLDER, path), 'utf8')

type Resource =
  | (Deployment & { kind: 'Deployment' })
  | (HorizontalPodAutoscaler & { kind: 'HorizontalPodAutoscaler' })
  | (PodDisruptionBudget & { kind: 'PodDisruptionBudget' })
  | (Service & { kind: 'Service' })
  | (NetworkPolicy & { kind: 'NetworkPolicy' })
  | (Ingress & { kind: 'Ingress' })
  | (ConfigMap & { kind: 'ConfigMap' })

function resourcesOf(text: string): Resource[] {
  return parseAllDocuments(text).map((document) => {
    assert.deepEqual(document.errors, [])
    return document.toJS() as Resource
  })
}

const { resources: FILES } = parse(read('base/kustomization.yaml')) as { resources: string[] }
const base = FILES.flatMap((file) => resourcesOf(read(`base/${file}`)))
const others = ['lag/autoscaler.yaml', 'example/namespace.yaml', 'example/web.yaml'].flatMap((file) =>
  resourcesOf(read(file)),
)

function ofKind<K extends Resource['kind']>(kind: K, among = base) {
  return among.filter((resource): resource is Extract<Resource, { kind: K }> => resource.kind === kind)
}

const deployments = ofKind('Deployment')
const roleOf = ({ metadata }: Deployment) => metadata!.labels!['app.kubernetes.io/component'] as Role
const podOf = ({ spec }: Deployment): PodSpec => spec!.template.spec!
const containerOf = (deployment: Deployment): Container => podOf(deployment).containers[0]!
const settings = parseEnv(read('base/settings.env')) as Record<string, string>
const exampleSettings = parseEnv(read('example/settings.env')) as Record<string, string>

/** Names of the secrets that a role is given, and whether it starts without them. */
function secretsOf(deployment: Deployment): Map<string, boolean> {
  const refs = (containerOf(deployment).env ?? []).flatMap(({ name, valueFrom }) =>
    valueFrom?.secretKeyRef === undefined ? [] : [{ variable: name, ...valueFrom.secretKeyRef }],
  )
  for (const { variable, name, key } of refs) assert.deepEqual([name, key], ['ipid', variable])
  return new Map(refs.map(({ variable, optional = false }) => [variable, optional]))
}

const MODULES: Readonly<Record<string, string>> = {
  v1: 'core/v1',
  'apps/v1': 'apps/v1',
  'autoscaling/v2': 'autoscaling/v2',
  'networking.k8s.io/v1': 'networking/v1',
  'policy/v1': 'policy/v1',
}

/** What the compiler says to these resources as values of the types of Kubernetes, where a field that does not exist is an error too. */
async function compile(t: TestContext, resources: readonly Resource[]): Promise<string> {
  const folder = await temporaryFolder(t)
  const lines = resources.map((resource, i) => {
    const from = join(ROOT, 'node_modules/kubernetes-types', `${MODULES[resource.apiVersion!]}.d.ts`)
    return `export const r${i}: import(${JSON.stringify(from)}).${resource.kind} = ${JSON.stringify(resource)}`
  })
  const file = join(folder, 'resources.ts')
  writeFileSync(file, lines.join('\n'))
  const flags = ['--ignoreConfig', '--noEmit', '--strict', '--skipLibCheck', '--types', '']
  return await promisify(execFile)(join(ROOT, 'node_modules/.bin/tsc'), [...flags, file]).then(
    () => '',
    (error: { stdout: string; stderr: string }) => error.stdout + error.stderr,
  )
}

test('every resource fits the types of Kubernetes, which know each field', async (t) => {
  assert.equal(await compile(t, [...base, ...others]), '')
  const wrong = structuredClone(deployments[0]!)
  Object.assign(podOf(wrong), { terminationGracePeriod: 20 })
  assert.match(await compile(t, [wrong]), /terminationGracePeriod/, 'the check finds a misspelled field')
})

test('each role is one Deployment, and its settings are accepted', () => {
  assert.deepEqual(deployments.map(roleOf).sort(), [...ROLES].sort())
  const known = new Set([...Object.values(SETTINGS), ...settingsOf(ingest)].map(({ env }) => env))
  const all = { ...settings, ...exampleSettings }
  for (const name of Object.keys(all)) assert.ok(known.has(name), name)
  const values: Record<string, string> = {
    ...all,
    REDIS_URL: 'rediss://:secret@redis.example.com:6380',
    CLICKHOUSE_URL: 'https://ipid:secret@clickhouse.example.com:8443',
    SECRETS_KEY: '0123456789abcdef'.repeat(4),
    SMTP_URL: 'smtps://mail.example.com',
  }
  for (const deployment of deployments) {
    const role = roleOf(deployment)
    const { args, env = [], envFrom } = containerOf(deployment)
    assert.deepEqual(args, ['start', '--roles', role])
    assert.deepEqual(envFrom, [{ configMapRef: { name: 'ipid' } }])
    for (const { name, value, valueFrom } of env) {
      assert.ok(known.has(name) || name.startsWith('AWS_'), name)
      assert.equal(value, undefined, `${role} takes ${name} from settings.env or a Secret`)
      const { configMapKeyRef } = valueFrom!
      if (configMapKeyRef) assert.deepEqual(configMapKeyRef, { name: 'ipid', key: name })
    }
    const given = Object.fromEntries(env.flatMap(({ name }) => (name in values ? [[name, values[name]!]] : [])))
    const config = readConfig({ ...all, ...given }, {}, undefined, { settings: settingsOf(ingest) })
    assert.deepEqual([config.partitions, config.sinkShares, config.feederShares], [4, 2, 4])
  }
})

test('a role gets the secrets that it uses, and files hold none', () => {
  const byName = Object.entries(SETTINGS as Readonly<Record<SettingName, Setting<unknown>>>)
  const secrets = byName.filter(([, { holdsSecret }]) => holdsSecret) as [SettingName, Setting<unknown>][]
  for (const { env } of secrets.map(([, setting]) => setting)) {
    assert.ok(!(env in settings) && !(env in exampleSettings), env)
  }
  for (const deployment of deployments) {
    const role = roleOf(deployment)
    const given = secretsOf(deployment)
    for (const [name, { env }] of secrets) assert.equal(given.has(env), usesSecret([role], name), `${role}: ${env}`)
    const required = [...given].filter(([, optional]) => !optional).map(([name]) => name)
    const expected = ['REDIS_URL', 'CLICKHOUSE_URL', ...(usesSecret([role], 'secretsKey') ? ['SECRETS_KEY'] : [])]
    assert.deepEqual(required.sort(), expected.sort(), role)
  }
  assert.ok(![...base, ...others].some(({ kind }) => (kind as string) === 'Secret'))
})

test('the roles that use the archive do not start without a bucket, and those that use any have its account', () => {
  const has = (deployment: Deployment, name: string) => containerOf(deployment).env!.find((one) => one.name === name)
  const having = (name: string) =>
    deployments
      .filter((one) => has(one, name) !== undefined)
      .map(roleOf)
      .sort()
  assert.deepEqual(having('ARCHIVE_URL'), ['archive', 'dashboard', 'ingress', 'sink'])
  for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY'])
    assert.deepEqual(having(name), ROLES.filter((role) => usesBuckets([role])).sort(), name)
  for (const deployment of deployments) {
    assert.ok(!has(deployment, 'ARCHIVE_URL')?.valueFrom?.configMapKeyRef?.optional)
    const account = usesBuckets([roleOf(deployment)]) ? 'ipid-bucket' : 'ipid'
    assert.equal(podOf(deployment).serviceAccountName, account)
  }
})

test('the probes are those that the page about operations names', () => {
  const page = readFileSync(join(ROOT, 'src/operations/README.md'), 'utf8')
  const [, block] = /```yaml\n(# Kubernetes[\s\S]*?)```/.exec(page)!
  const expected = parse(block!) as Pick<Container, 'livenessProbe' | 'readinessProbe' | 'startupProbe'>
  for (const deployment of deployments) {
    const { livenessProbe, readinessProbe, startupProbe } = containerOf(deployment)
    if (roleOf(deployment) === 'ingress') {
      assert.deepEqual({ livenessProbe, readinessProbe, startupProbe }, expected)
    } else {
      assert.equal(livenessProbe, undefined)
      assert.deepEqual(readinessProbe, { ...expected.readinessProbe, httpGet: { path: '/readyz', port: 9_090 } })
      assert.deepEqual(startupProbe, expected.startupProbe)
    }
  }
})

test('pods have no right that they do not need, and are the same except for their role', () => {
  const kept = deployments.map((deployment) => {
    const pod = structuredClone(podOf(deployment))
    const { securityContext, resources } = pod.containers[0]!
    assert.deepEqual(securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.ok(resources!.requests!.cpu && resources!.requests!.memory && resources!.limits!.memory)
    assert.deepEqual(deployment.spec!.selector.matchLabels, deployment.spec!.template.metadata!.labels)
    assert.deepEqual(pod.topologySpreadConstraints![0]!.labelSelector, deployment.spec!.selector)
    const { securityContext: ofPod, automountServiceAccountToken, volumes } = pod
    const { image, volumeMounts } = pod.containers[0]!
    const { strategy } = deployment.spec!
    return { ofPod, automountServiceAccountToken, volumes, image, volumeMounts, securityContext, strategy }
  })
  for (const one of kept) assert.deepEqual(one, kept[0])
  const { ofPod, automountServiceAccountToken } = kept[0]!
  assert.deepEqual(ofPod, {
    ...{ runAsNonRoot: true, runAsUser: 1_000, runAsGroup: 1_000, fsGroup: 1_000 },
    seccompProfile: { type: 'RuntimeDefault' },
  })
  assert.equal(automountServiceAccountToken, false)
})

test('a pod that ends has time for its load balancer and for what is in flight', () => {
  /** The supervisor kills what has not ended by then, seconds. */
  const stopSeconds = 10
  for (const deployment of deployments) {
    const { terminationGracePeriodSeconds = 0 } = podOf(deployment)
    const isServed = ['ingress', 'dashboard'].includes(roleOf(deployment))
    const waits = containerOf(deployment).lifecycle?.preStop?.sleep?.seconds ?? 0
    assert.equal(waits, isServed ? 10 : 0)
    assert.ok(terminationGracePeriodSeconds >= waits + stopSeconds + 5, roleOf(deployment))
  }
})

test('services, budgets and autoscalers lead to a role, and numbers to what works at once', () => {
  const labels = (role: string) => ({ 'app.kubernetes.io/name': 'ipid', 'app.kubernetes.io/component': role })
  assert.deepEqual(
    ofKind('Service')
      .map(({ metadata }) => metadata!.name)
      .sort(),
    ['ipid-dashboard', 'ipid-ingress'],
  )
  for (const { metadata, spec } of ofKind('Service')) {
    const role = metadata!.name!.replace('ipid-', '')
    assert.deepEqual(spec!.selector, labels(role))
    const { ports } = containerOf(deployments.find((one) => roleOf(one) === role)!)
    const { containerPort } = ports!.find(({ name }) => name === spec!.ports![0]!.targetPort)!
    assert.equal(String(containerPort), role === 'ingress' ? SETTINGS.port.default : SETTINGS.dashboardPort.default)
  }
  const budgets = ofKind('PodDisruptionBudget')
  assert.deepEqual(
    budgets.map(({ spec }) => spec!.selector!.matchLabels),
    deployments.map((one) => labels(roleOf(one))),
  )
  // A budget of a single pod that must stay would keep its machine for ever.
  for (const { spec } of budgets) assert.equal(spec!.maxUnavailable, 1)
  const replicas = Object.fromEntries(deployments.map((one) => [roleOf(one), one.spec!.replicas]))
  assert.ok(replicas.sink! <= Number(settings.SINK_SHARES))
  assert.ok(replicas.batch! <= Number(settings.FEEDER_SHARES))
  assert.ok(replicas.process! <= Number(settings.PARTITIONS))
  const [onCpu] = ofKind('HorizontalPodAutoscaler')
  assert.equal(onCpu!.spec!.scaleTargetRef.name, 'ipid-ingress')
  assert.equal(replicas.ingress, undefined, 'the autoscaler alone sets the number')
  const [onLag] = ofKind('HorizontalPodAutoscaler', others)
  assert.equal(onLag!.spec!.maxReplicas, Number(settings.PARTITIONS))
  const registry = new Registry()
  const unread = () => Promise.reject(new Error('not asked'))
  const reads = { waiting: unread, batchJobs: unread, bulkJobs: unread, redis: unread, dedup: unread }
  createStoreMetrics(registry, { pipeline: ingest, ...reads })
  const { metric } = onLag!.spec!.metrics![0]!.external!
  const shown = registry.getSingleMetric(metric.name) as unknown as { labelNames: string[] }
  for (const label of Object.keys(metric.selector!.matchLabels!)) assert.ok(shown.labelNames.includes(label), label)
})

test('policies open the ports of pods, and the way out to public addresses for some roles', () => {
  const policies = new Map(ofKind('NetworkPolicy').map((policy) => [policy.metadata!.name!, policy.spec!]))
  assert.deepEqual([...policies.keys()], ['ipid', 'ipid-gateway', 'ipid-outside'])
  assert.deepEqual(policies.get('ipid')!.policyTypes, ['Ingress', 'Egress'])
  const { matchExpressions } = policies.get('ipid-outside')!.podSelector!
  assert.deepEqual(matchExpressions![0]!.values, ['ingress', 'sink', 'batch', 'archive', 'dashboard'])
  const [ipv4, ipv6] = policies.get('ipid-outside')!.egress![0]!.to!.map(({ ipBlock }) => ipBlock!)
  assert.ok(ipv4!.except!.includes('169.254.0.0/16') && ipv6!.except!.includes('fe80::/10'))
  for (const name of ['ipid', 'ipid-gateway'])
    for (const { from, ports } of policies.get(name)!.ingress!) {
      assert.ok(from!.every(({ namespaceSelector }) => Object.keys(namespaceSelector!.matchLabels!).length === 1))
      assert.ok(['http', 'metrics'].includes(ports![0]!.port as string))
    }
})

const noKubectl = onPath(['kubectl']) === undefined && 'kubectl is not installed'

test('kubectl makes the example, with one ConfigMap that every role reads', { skip: noKubectl }, async (t) => {
  const folder = await temporaryFolder(t)
  await cp(FOLDER, folder, { recursive: true })
  const made = () => resourcesOf(execFileSync('kubectl', ['kustomize', join(folder, 'example')], { encoding: 'utf8' }))
  const plain = made()
  assert.equal(await compile(t, plain), '')
  assert.equal(plain.length, base.length + 3, 'namespace, ConfigMap and Ingress')
  const [map] = ofKind('ConfigMap', plain)
  assert.deepEqual(map!.data, { ...settings, ...exampleSettings })
  for (const resource of plain)
    if ((resource.kind as string) !== 'Namespace') assert.equal(resource.metadata!.namespace, 'ipid')
  for (const deployment of ofKind('Deployment', plain)) {
    const { env = [], envFrom, image } = containerOf(deployment)
    assert.match(image!, /^registry\.example\.com\/ipid:\d+\.\d+\.\d+$/)
    assert.match(map!.metadata!.name!, /^ipid-\w+$/)
    assert.equal(envFrom![0]!.configMapRef!.name, map!.metadata!.name)
    const refs = env.flatMap(({ valueFrom }) => valueFrom!.configMapKeyRef ?? [])
    assert.ok(refs.every(({ name }) => name === map!.metadata!.name))
    assert.deepEqual(deployment.spec!.selector.matchLabels, deployment.spec!.template.metadata!.labels)
  }
  const file = join(folder, 'example/kustomization.yaml')
  writeFileSync(file, readFileSync(file, 'utf8').replace('# components:', 'components:'))
  const scaled = made()
  const names = ofKind('HorizontalPodAutoscaler', scaled).map(({ metadata }) => metadata!.name)
  assert.deepEqual(names.sort(), ['ipid-ingress', 'ipid-process'])
  const process = ofKind('Deployment', scaled).find((one) => roleOf(one) === 'process')!
  assert.equal(process.spec!.replicas, undefined)
})

test('a process with another number of shares is ready beside old ones: a rolling update ends', async (t) => {
  const [redis, clickhouse] = await Promise.all([startTestRedis(t), startTestClickHouse(t)])
  const stores = { REDIS_URL: redis.url, CLICKHOUSE_URL: clickhouse.url }
  const started = []
  for (const shares of ['1', '2']) {
    const site = new TestSite(t, { ...stores, SINK_SHARES: shares, FEEDER_SHARES: shares })
    const run = site.start(['--roles', 'sink,batch'])
    started.push(run)
    const { metrics_url } = await run.ready()
    assert.equal((await fetch(new URL('/readyz', metrics_url))).status, 200)
  }
  for (const { child } of started) child.kill('SIGTERM')
  for (const { ended } of started) assert.equal((await ended).code, 0)
})
