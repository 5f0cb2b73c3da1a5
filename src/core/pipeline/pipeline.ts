/**
 * A pipeline as `pipelines/` declares it: segments in order. A segment is a consumer group that reads one stream, runs
 * stages in one process without a hop, and commits its output together with the acknowledgement of its input.
 */
export interface Pipeline {
  /** The stream that ingress and feeder write. */
  readonly intake: string
  readonly segments: readonly Segment[]
}

export type Segment = StageSegment | SinkSegment

export interface StageSegment {
  /** Name of the consumer group. */
  readonly group: string
  readonly from: string
  /** Names of stages, run in this order. */
  readonly stages: readonly string[]
  /** The stream that takes what the stages keep. */
  readonly to: string
}

export interface SinkSegment {
  readonly group: string
  readonly from: string
  readonly sink: string
}

/** Each stream has two lanes; live goes first. */
export const LANES = ['live', 'batch'] as const
export type Lane = (typeof LANES)[number]

/** What is wrong with a declaration, in sentences; empty when nothing is. */
export function validatePipeline(pipeline: Pipeline, stages: readonly string[], sinks: readonly string[]): string[] {
  const problems: string[] = []
  const written = new Set([pipeline.intake])
  const groups = new Set<string>()
  for (const segment of pipeline.segments) {
    const name = `segment ${segment.group}`
    if (groups.has(segment.group)) problems.push(`${name} is declared twice`)
    groups.add(segment.group)
    if (!written.has(segment.from)) problems.push(`${name} reads ${segment.from}, which no segment before it writes`)
    if ('sink' in segment) {
      if (!sinks.includes(segment.sink)) problems.push(`${name} names an unknown sink ${segment.sink}`)
      continue
    }
    for (const stage of segment.stages) {
      if (!stages.includes(stage)) problems.push(`${name} names an unknown stage ${stage}`)
    }
    if (written.has(segment.to)) problems.push(`${name} writes ${segment.to}, which is written already`)
    written.add(segment.to)
  }
  for (const stream of written) {
    if (!pipeline.segments.some((segment) => segment.from === stream)) problems.push(`nothing reads ${stream}`)
  }
  return problems
}
