import { ownValues, type Setting } from '../../config/setting.ts'
import type { Destination } from './destination.ts'
import type { Lane } from './lane.ts'
import type { RowObserver } from './row-observer.ts'
import type { ReadLines, SourceEntry } from './source.ts'
import type { Stage } from './stage.ts'

/** A pipeline as `pipelines/` declares it: sources, steps and sinks, connected by streams. */
export interface Pipeline extends PipelineOutline {
  /** At least one of them makes batch jobs. */
  readonly sources: readonly SourceEntry[]
  readonly steps: readonly Step[]
  readonly sinks: readonly Sink[]
}

/** The streams, groups and limits of a pipeline, without its code. It can be JSON. */
export interface PipelineOutline {
  readonly sources: readonly Pick<SourceEntry, 'to' | 'raw'>[]
  readonly steps: readonly Pick<Step, 'group' | 'from' | 'to'>[]
  readonly sinks: readonly Pick<Sink, 'group' | 'from' | 'takes'>[]
  /**
   * The stream for counts of events that are not stored, as rows of `outcomes`. Sources, steps and the sink that completes jobs
   * write them in one step with the events' fate. Only sinks read it. Undefined: these events are not counted.
   */
  readonly outcomes?: string
  readonly limits: PipelineLimits
}

export function outlineOf({ sources, steps, sinks, ...rest }: Pipeline): PipelineOutline {
  return {
    ...rest,
    sources: sources.map(({ to, raw }) => ({ to, ...(raw !== undefined && { raw }) })),
    steps: steps.map(({ group, from, to }) => ({ group, from, to })),
    sinks: sinks.map(({ group, from, takes }) => ({ group, from, ...(takes !== undefined && { takes }) })),
  }
}

/**
 * The pipeline without the sinks that their settings leave out.
 * @param own the values of the settings that sources and sinks declare, by environment variable
 */
export function activePipeline(pipeline: Pipeline, own: Readonly<Record<string, unknown>>): Pipeline {
  const isOn = ({ into }: Sink) => into.isOn?.(ownValues(into.settings, own)) ?? true
  return { ...pipeline, sinks: pipeline.sinks.filter(isOn) }
}

/** A consumer group that reads a stream and runs its stages. Kept events are written in one step with the acknowledgement. */
export interface Step {
  /** Name of the consumer group. */
  readonly group: string
  readonly from: string
  /** Run in this order. A stage does not get events that an earlier one dropped. */
  readonly stages: readonly Stage[]
  /** The stream for kept events. */
  readonly to: string
}

/** A consumer group that moves rows from a stream to a destination, exactly once. A lease admits one process at a time. */
export interface Sink {
  /** Name of the consumer group, and of the lease. */
  readonly group: string
  readonly from: string
  readonly into: Destination
  /** Content of its stream: rows (`row.ts`, the default), or payloads (`payload.ts`), which the role `archive` handles. */
  readonly takes?: 'rows' | 'payloads'
  /** An event of a batch job is finished when this sink has stored it. Exactly one sink must set this. */
  readonly completesJobs?: boolean
  /** Gets the rows that are stored. */
  readonly observer?: RowObserver
  /** Milliseconds between two inserts, unless enough rows for an insert wait. Default: setting SINK_LINGER_MS. */
  readonly lingerMs?: number
}

export interface PipelineLimits {
  /** Most events, and most bytes of rows, of a block. A larger event gets a block of its own. */
  readonly blockEventsMax: number
  readonly blockBytesMax: number
  /** Most events that an ingress process holds until Redis has them. More are answered 429. */
  readonly uncommittedEventsMax: number
  /** High water: with more events between source and sink, intake is closed. Setting INTAKE_HIGH_WATER_EVENTS. */
  readonly waitingEventsMax: number
  /** Most events of the batch lane in the pipeline: enough for full inserts, but few enough not to delay live events. */
  readonly batchWaitingEventsMax: number
  /** Most events of batch jobs that wait for the archive. Above it, jobs of tenants with an archive wait. */
  readonly batchWaitingPayloadsMax: number
  /** Most events of a part of the archive. */
  readonly partEventsMax: number
  /** Most entries per read. Live entries wait while batch entries are processed, so few batch entries are read at once. */
  readonly readEntriesMax: Readonly<Record<Lane, number>>
  /**
   * A block is split into single events after this many unfinished deliveries. A single event becomes a dead letter after twice as
   * many. Setting DELIVERIES_MAX.
   */
  readonly deliveriesMax: number
  /** How long a repeated event is recognised, in milliseconds since it was first seen. */
  readonly dedupWindowMs: number
}

/** Share of Redis' `maxmemory` that intake may fill. The workers need the rest for their output. */
export const INTAKE_MEMORY_SHARE_MAX = 0.85

/** A consumer group of a pipeline. */
export type Group = Step | Sink

/** All consumer groups, steps first. */
export function groupsOf<Given extends PipelineOutline>({ steps, sinks }: Given) {
  return [...steps, ...sinks] as (Given['steps'][number] | Given['sinks'][number])[]
}

/** The names of the groups that read a stream. */
export function readersOf(pipeline: PipelineOutline, stream: string): string[] {
  return groupsOf(pipeline)
    .filter(({ from }) => from === stream)
    .map(({ group }) => group)
}

/** The streams of a pipeline, in the order that an event passes them. */
export function streamsOf({ sources, steps, outcomes }: PipelineOutline): string[] {
  const first = sources.map(({ to }) => to)
  const aside = outcomes === undefined ? [] : [outcomes]
  return [...new Set([...first, ...steps.map(({ to }) => to), ...aside, ...rawStreamsOf(sources)])]
}

/** The streams that hold payloads. */
export function rawStreamsOf(sources: PipelineOutline['sources']): string[] {
  return [...new Set(sources.flatMap(({ raw }) => raw ?? []))]
}

/** The title of a source: its first operation, like `POST /v1/ingest`. */
export function titleOf({ from: { name, routes, tool, pull } }: SourceEntry): string {
  if (tool !== undefined && pull === undefined) return `/s/${name}/…`
  const [first] = routes
  return first === undefined ? name : `${first.method} ${first.path}`
}

/** The settings that sources and sinks declare, without repeats. */
export function settingsOf({ sources, sinks }: Pipeline): Setting<unknown>[] {
  const parts = [...sources.map(({ from }) => from.settings), ...sinks.map(({ into }) => into.settings)]
  return [...new Set(parts.flatMap((settings) => Object.values(settings ?? {})))]
}

/** The entry of the first source that makes batch jobs. All of these sources write to the same streams. */
export function entryOfJobs({ sources }: Pipeline): SourceEntry {
  const entry = sources.find(({ from }) => from.read !== undefined)
  if (entry === undefined) throw new Error('no source of the pipeline makes batch jobs')
  return entry
}

/**
 * The reader of a source's jobs. Undefined when the pipeline has no source of this name.
 * @param name from the job's record; undefined: the first source that makes jobs
 */
export function readerOfJobs(pipeline: Pipeline, name: string | undefined): ReadLines | undefined {
  if (name === undefined) return entryOfJobs(pipeline).from.read
  return pipeline.sources.find(({ from }) => from.name === name)?.from.read
}

/** The steps between the sources and the sink that completes batch jobs. An event that leaves there is finished for its job. */
export function stepsOfJobs({ steps, sinks }: Pipeline): Step[] {
  const path: Step[] = []
  let stream = sinks.find((sink) => sink.completesJobs)?.from
  while (stream !== undefined) {
    const step = steps.find(({ to }) => to === stream)
    if (step === undefined || path.includes(step)) break
    path.unshift(step)
    stream = step.from
  }
  return path
}

/** The groups that an event of a batch job passes until it is finished. */
export function groupsOfJobs(pipeline: Pipeline): string[] {
  const completing = pipeline.sinks.filter((sink) => sink.completesJobs)
  return [...stepsOfJobs(pipeline), ...completing].map(({ group }) => group)
}

/** The declared drop reasons of the stages that an event of a batch job passes. */
export function reasonsOfJobs(pipeline: Pipeline): string[] {
  return stepsOfJobs(pipeline).flatMap(({ stages }) => stages.flatMap(({ drops }) => drops ?? []))
}
