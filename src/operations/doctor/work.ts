import { ingest } from '../../../pipelines/ingest.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { keys } from '../../stores/redis/keys.ts'
import { collectStatus } from '../status/collect.ts'
import { stallLimits, statusSources } from '../status/role/sources.ts'
import type { Fact, FactName } from '../status/system-status.ts'
import { type Finding, findingsOf, type Subject } from './finding.ts'
import { SkippedError } from './run-checks.ts'

/** Facts that another check reports, with the remedy. */
const REPORTED_ELSEWHERE: ReadonlySet<FactName> = new Set([
  ...(['redis-risk', 'redis-full', 'clickhouse-down', 'tables-missing', 'backups', 'data-set'] as const),
])
/** Facts of an ipid that was stopped in order. */
const EXPECTED_WHEN_STOPPED: ReadonlySet<FactName> = new Set(['no-process', 'role-missing'])

/** The state of the work: the verdict of `./ipid status`, fact by fact. */
export async function checkWork(client: RedisClient, subject: Subject, clickhouseUrl?: string): Promise<Finding[]> {
  const { config, running } = subject
  const isUsed = (await client.exists(keys.partitions())) === 1
  if (!isUsed) throw new SkippedError('no ipid has used this Redis')
  const pipeline = running?.pipeline ?? ingest
  const { plans, dataDir } = config
  const sources = statusSources({ redis: client, clickhouseUrl, pipeline, plans, dataDir })
  const { verdict } = await collectStatus(sources, stallLimits(config, pipeline))
  // A process that stops in order removes its report.
  const isStopped = running === undefined && (await client.hlen(keys.reports())) === 0
  const facts = verdict.facts.filter(
    ({ name }) => !REPORTED_ELSEWHERE.has(name) && !(isStopped && EXPECTED_WHEN_STOPPED.has(name)),
  )
  if (facts.length > 0) return facts.map(findingOf)
  const { fine } = findingsOf('work')
  return [fine(verdict.level === 'ok' ? verdict.text : 'events are taken and make progress')]
}

const REMEDIES: Partial<Readonly<Record<FactName, string>>> = {
  'redis-refuses-writes': 'give Redis the space or the replicas that it lacks; requests are taken again at once',
  'disk-full': 'free space on that disk, or move DATA_DIR to a larger one',
  'no-process': 'start ipid; the log says why it ended',
  'role-missing':
    'end the process that is named, if one is: ipid starts it again. Otherwise start one with that role (--roles)',
  clock: 'let chrony or systemd-timesyncd set it (timedatectl set-ntp true)',
  'days-stale': 'read the log of the process with the role sink: it says why days are not built',
  'dead-letters': './ipid dead-letter list',
}

function findingOf({ name, level, text }: Fact): Finding {
  const { problem, risk } = findingsOf('work')
  const remedy = REMEDIES[name] ?? 'see "./ipid status", and the log of the process that it names'
  if (level === 'stalled') return problem(text, 'Events are refused, or accepted ones make no progress.', remedy)
  return risk(text, 'It may stop or delay events later.', remedy)
}
