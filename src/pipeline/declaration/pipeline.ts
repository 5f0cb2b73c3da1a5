import type { Setting } from '../../config/setting.ts'
import type { Destination } from './destination.ts'
import type { Lane } from './lane.ts'
import type { ReadLines, SourceEntry } from './source.ts'
import type { Stage } from './stage.ts'

/** A pipeline as `pipelines/` declares it: from its sources, over steps that are joined by streams, to its sinks. */
export interface Pipeline {
  /** At least one makes batch jobs. */
  readonly sources: readonly SourceEntry[]
  readonly steps: readonly Step[]
  readonly sinks: readonly Sink[]
  /**
   * The stream that takes, as rows of `outcomes`, how many events became what when they are not stored. They are written
   * together with what becomes of the events, by sources, steps and the sink that completes jobs. Only sinks read it.
   * Undefined: such events are not counted by tenant and day.
   */
  readonly outcomes?: string
  readonly limits: PipelineLimits
}

/**
 * A consumer group that reads one stream and runs its stages in one process without a hop; what they keep is written
 * together with the acknowledgement.
 */
export interface Step {
  /** Name of the consumer group. */
  readonly group: string
  readonly from: string
  /** Run in this order; what one drops, the next does not see. */
  readonly stages: readonly Stage[]
  /** The stream that takes what the stages keep. */
  readonly to: string
}

/** A consumer group whose one owner at a time moves rows from a stream to a destination, exactly once. */
export interface Sink {
  /** Name of the consumer group, and of the lease. */
  readonly group: string
  readonly from: string
  readonly into: Destination
  /** What its stream holds: rows (`row.ts`), or events as they came (`payload.ts`), which is for the role `archive`. */
  readonly takes?: 'rows' | 'payloads'
  /** An event of a batch job is finished when it is stored here. One sink of a pipeline says so. */
  readonly completesJobs?: boolean
  /** Time between two inserts, milliseconds, unless many rows wait. Default: setting SINK_LINGER_MS. */
  readonly lingerMs?: number
}

/** Limits on the way of an event. */
export interface PipelineLimits {
  /** A block is closed when it has so many events, or so many bytes of rows; one larger event is a block of its own. */
  readonly blockEventsMax: number
  readonly blockBytesMax: number
  /** Events of requests that one ingress process holds until Redis has taken them; more are answered 429. */
  readonly uncommittedEventsMax: number
  /** High water: with more events between source and sink, intake is closed. Setting INTAKE_HIGH_WATER_EVENTS. */
  readonly waitingEventsMax: number
  /** Events of the batch lane in the pipeline at once: enough for full inserts, little enough to stay behind live ones. */
  readonly batchWaitingEventsMax: number
  /** Events of batch jobs that may wait for the archive; above it the jobs of tenants with an archive wait. */
  readonly batchWaitingPayloadsMax: number
  /** Events of one part of the archive. */
  readonly partEventsMax: number
  /** Entries of one read. A batch entry delays live ones by its own time, so few are taken at once. */
  readonly readEntriesMax: Readonly<Record<Lane, number>>
  /**
   * Deliveries without an end after which a block is taken apart; an event alone is given up after twice as many. Setting
   * DELIVERIES_MAX.
   */
  readonly deliveriesMax: number
  /** How long a repeat is known, milliseconds, exact, from the first sight. */
  readonly dedupWindowMs: number
}

/** A consumer group of a pipeline: a step, or a sink. */
export type Group = Step | Sink

/** All consumer groups, steps first. */
export function groupsOf({ steps, sinks }: Pipeline): Group[] {
  return [...steps, ...sinks]
}

/** The names of the groups that read a stream. */
export function readersOf(pipeline: Pipeline, stream: string): string[] {
  return groupsOf(pipeline)
    .filter(({ from }) => from === stream)
    .map(({ group }) => group)
}

/** The streams of a pipeline, in the order in which an event passes them. */
export function streamsOf({ sources, steps, outcomes }: Pipeline): string[] {
  const first = sources.map(({ to }) => to)
  const aside = outcomes === undefined ? [] : [outcomes]
  return [...new Set([...first, ...steps.map(({ to }) => to), ...aside, ...rawStreamsOf(sources)])]
}

/** The streams that hold events as they came. */
export function rawStreamsOf(sources: readonly SourceEntry[]): string[] {
  return [...new Set(sources.flatMap(({ raw }) => raw ?? []))]
}

/** How people know a source: its first operation, like `POST /v1/ingest`. */
export function titleOf({ from: { name, routes } }: SourceEntry): string {
  const [first] = routes
  return first === undefined ? name : `${first.method} ${first.path}`
}

/** The settings that sources and sinks declare for themselves, each once. */
export function settingsOf({ sources, sinks }: Pipeline): Setting<unknown>[] {
  const parts = [...sources.map(({ from }) => from.settings), ...sinks.map(({ into }) => into.settings)]
  return [...new Set(parts.flatMap((settings) => Object.values(settings ?? {})))]
}

/** Where the events of batch jobs go: the same for all sources that make jobs. */
export function entryOfJobs({ sources }: Pipeline): SourceEntry {
  const entry = sources.find(({ from }) => from.read !== undefined)
  if (entry === undefined) throw new Error('no source of the pipeline makes batch jobs')
  return entry
}

/**
 * Reads the lines of a source's jobs; undefined when the pipeline has no such source.
 * @param name as in the job's record; undefined: the first source that makes jobs
 */
export function readerOfJobs(pipeline: Pipeline, name: string | undefined): ReadLines | undefined {
  if (name === undefined) return entryOfJobs(pipeline).from.read
  return pipeline.sources.find(({ from }) => from.name === name)?.from.read
}

/** The steps between the sources and the sink that completes batch jobs: what leaves there is finished for its job. */
export function stepsOfJobs({ steps, sinks }: Pipeline): Step[] {
  const way: Step[] = []
  let stream = sinks.find((sink) => sink.completesJobs)?.from
  while (stream !== undefined) {
    const step = steps.find(({ to }) => to === stream)
    if (step === undefined || way.includes(step)) break
    way.unshift(step)
    stream = step.from
  }
  return way
}

/** The groups between the sources and the end of a batch job. */
export function groupsOfJobs(pipeline: Pipeline): string[] {
  const completing = pipeline.sinks.filter((sink) => sink.completesJobs)
  return [...stepsOfJobs(pipeline), ...completing].map(({ group }) => group)
}

/** The reasons for which events of a batch job may leave, as far as their stages declare them. */
export function reasonsOfJobs(pipeline: Pipeline): string[] {
  return stepsOfJobs(pipeline).flatMap(({ stages }) => stages.flatMap(({ drops }) => drops ?? []))
}
