import { Command } from 'commander'
import { StartupError } from '../../run/errors.ts'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printLines } from '../../terminal/print.ts'
import { addSettings, configOf, INSTANCE_SETTINGS } from '../../terminal/settings-options.ts'
import { type Group, type Pipeline, streamsOf, titleOf } from '../declaration/pipeline.ts'
import type { GroupStatus } from '../declaration/status.ts'

/** `ipid pipeline` */
export function pipelineCommand(context: CliContext): Command {
  const command = new Command('pipeline').option('--json', 'print JSON')
  return addSettings(command, INSTANCE_SETTINGS).action(async (options: { json?: boolean }) => {
    const config = configOf(context, command)
    const { ingest } = await import('../../../pipelines/ingest.ts')
    let streams: readonly GroupStatus[] | undefined
    try {
      streams = await readStreams(config, ingest)
    } catch (error) {
      // The declaration can be shown without an instance.
      if (!(error instanceof StartupError)) throw error
      printLine(context.stderr, `ipid: queue lengths are not shown: ${error.message}`)
    }
    const waiting = streams === undefined ? undefined : waitingByGroup(streams)
    if (options.json) printJson(context.stdout, describePipeline(ingest, waiting))
    else printLines(context.stdout, drawPipeline(ingest, waiting))
  })
}

async function readStreams(config: ReturnType<typeof configOf>, pipeline: Pipeline): Promise<readonly GroupStatus[]> {
  const [{ readingRedis }, { redisUrlOf }, { readStatus }] = await Promise.all([
    import('../../terminal/stores.ts'),
    import('../../terminal/instance.ts'),
    import('../streams/status.ts'),
  ])
  const { streams } = await readingRedis(await redisUrlOf(config), (client) => readStatus(client, pipeline))
  return streams
}

/** Queue length of a group over all partitions and lanes. */
interface Waiting {
  readonly lag_entries: number
  readonly pending_entries: number
  readonly waiting_events: number
  readonly oldest_ms: number
}

/** Sums the queue lengths by group. */
export function waitingByGroup(streams: readonly GroupStatus[]): Map<string, Waiting> {
  const sums = new Map<string, Waiting>()
  for (const { group, lag_entries, pending_entries, waiting_events, oldest_ms } of streams) {
    const sum = sums.get(group)
    sums.set(group, {
      lag_entries: (sum?.lag_entries ?? 0) + lag_entries,
      pending_entries: (sum?.pending_entries ?? 0) + pending_entries,
      waiting_events: (sum?.waiting_events ?? 0) + waiting_events,
      oldest_ms: Math.max(sum?.oldest_ms ?? 0, oldest_ms),
    })
  }
  return sums
}

/** The pipeline as JSON. Without an instance, `waiting` of each group is null. */
function describePipeline(pipeline: Pipeline, waiting?: ReadonlyMap<string, Waiting>): object {
  const of = (group: string) => waiting?.get(group) ?? null
  return {
    sources: pipeline.sources.map((source) => {
      const { from, to, raw = null } = source
      return { name: from.name, from: titleOf(source), lane: from.lane, to, raw }
    }),
    steps: pipeline.steps.map(({ group, from, stages, to }) => {
      return { group, from, stages: stages.map(({ name }) => name), to, waiting: of(group) }
    }),
    sinks: pipeline.sinks.map(({ group, from, into, takes = 'rows', completesJobs = false }) => {
      return { group, from, into: into.name, takes, completes_jobs: completesJobs, waiting: of(group) }
    }),
    limits: Object.fromEntries(Object.entries(pipeline.limits).map(([name, limit]) => [snakeCase(name), limit])),
  }
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

/**
 * The pipeline as a tree: each stream, and below it the groups that read it.
 * @param waiting undefined without an instance
 */
export function drawPipeline(pipeline: Pipeline, waiting?: ReadonlyMap<string, Waiting>): string {
  const { sources } = pipeline
  const width = Math.max(...sources.map((source) => titleOf(source).length))
  const lines = sources.map((source) => {
    const { from, to, raw } = source
    return `${titleOf(source).padEnd(width)}  ▶ ${to} (${from.lane})${raw === undefined ? '' : `, as it came ▶ ${raw}`}`
  })
  for (const stream of streamsOf(pipeline)) {
    const groups: Group[] = [...pipeline.steps, ...pipeline.sinks].filter(({ from }) => from === stream)
    lines.push('', stream)
    groups.forEach((group, i) => {
      const isLast = i === groups.length - 1
      lines.push(`${isLast ? '└─' : '├─'} ${describe(group)}`)
      if (waiting !== undefined)
        lines.push(`${isLast ? '  ' : '│ '}    ${waitingText(group, waiting.get(group.group))}`)
    })
  }
  return `${lines.join('\n')}\n`
}

function describe(group: Group): string {
  if ('stages' in group) {
    return `${group.group}: ${group.stages.map(({ name }) => name).join(' ▶ ')}  ▶ ${group.to}`
  }
  const note = group.completesJobs ? ', completes batch jobs' : ''
  return `${group.group}: sink into ${group.into.name}${note}`
}

function waitingText(group: Group, waiting: Waiting | undefined): string {
  const mayBeOff = 'into' in group && group.into.isOn !== undefined
  if (waiting === undefined) return mayBeOff ? 'off, or not started yet' : 'not started yet'
  const { lag_entries, pending_entries, waiting_events, oldest_ms } = waiting
  const age = waiting_events === 0 ? '' : `, oldest ${(oldest_ms / 1_000).toFixed(1)} s`
  return `lag ${lag_entries}, pending ${pending_entries}, events ${waiting_events}${age}`
}
