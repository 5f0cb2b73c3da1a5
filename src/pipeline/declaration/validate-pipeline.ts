import {
  type Group,
  groupsOf,
  type Pipeline,
  rawStreamsOf,
  readersOf,
  type Step,
  sourcesOf,
  stepsOfJobs,
  streamsOf,
} from './pipeline.ts'

/** What groups and streams can be called: part of key names. */
const NAME = /^[a-z][a-z0-9-]{0,39}$/
/** Keys and leases that have these names already. */
const TAKEN_NAMES = ['live', 'batch', 'dead', 'counters', 'producer', 'seen', 'job', 'feeder', 'restore']
/** What a count of events can be called: a label of a metric, a key of a summary. */
const REASON = /^[a-z][a-z_]{0,39}$/
/** Names of other counts, in the metrics or in a summary. */
const OUTCOMES = ['kept', 'dead', 'isolated', 'broken', 'stored']
const SUMMARY = ['processed', 'valid_ips', 'identified_ips', 'rejected', 'invalid_ip', 'errors']
const TAKEN = [...OUTCOMES, ...SUMMARY]

/** What is wrong with a declaration, in sentences; empty when nothing is. */
export function validatePipeline(pipeline: Pipeline): string[] {
  const ofStreams = [...problemsOfStreams(pipeline), ...problemsOfPayloads(pipeline)]
  return [...problemsOfGroups(pipeline), ...ofStreams, ...problemsOfJobs(pipeline)]
}

function problemsOfGroups(pipeline: Pipeline): string[] {
  const problems: string[] = []
  const groups = groupsOf(pipeline).map(({ group }) => group)
  for (const group of repeated(groups)) problems.push(`group ${group} is declared twice`)
  for (const name of new Set([...groups, ...streamsOf(pipeline)])) {
    if (!NAME.test(name)) problems.push(`"${name}" is no name for a group or stream: wants a to z, 0 to 9 and -`)
    if (TAKEN_NAMES.includes(name)) problems.push(`${name} is the name of something else: choose another`)
  }
  for (const { group, stages } of pipeline.steps) {
    if (stages.length === 0) problems.push(`step ${group} has no stage`)
    for (const name of repeated(stages.map((stage) => stage.name))) {
      problems.push(`step ${group} has the stage ${name} twice`)
    }
    for (const { name, drops = [] } of stages) {
      for (const reason of drops) {
        if (!REASON.test(reason)) problems.push(`stage ${name} drops for "${reason}": wants a name of a to z and _`)
        if (TAKEN.includes(reason)) problems.push(`stage ${name} drops for "${reason}", which is another count`)
      }
    }
  }
  return [...problems, ...problemsOfClaims(pipeline.steps)]
}

/** A claim promises that the event is kept, and a second one would find every event to be claimed by the first. */
function problemsOfClaims(steps: readonly Step[]): string[] {
  const problems: string[] = []
  let claiming: string | undefined
  const behind = new Set<string>()
  for (const { from, stages, to } of steps) {
    for (const { name, claims, drops = [] } of stages) {
      if (claims && claiming !== undefined) problems.push(`${claiming} and ${name} both claim events`)
      else if (drops.length > 0 && (behind.has(from) || behind.has(to))) {
        problems.push(`${name} drops events behind ${claiming}, which has promised to keep them`)
      }
      if (claims) {
        claiming = name
        behind.add(to)
      }
    }
    if (behind.has(from)) behind.add(to)
  }
  return problems
}

/** Steps are declared in the order in which an event passes them, so that none can wait for itself. */
function problemsOfStreams(pipeline: Pipeline): string[] {
  const problems: string[] = []
  const written = new Set([...sourcesOf(pipeline.sources).map(({ to }) => to), ...rawStreamsOf(pipeline.sources)])
  const demandWritten = ({ group, from }: Group) => {
    if (!written.has(from)) problems.push(`group ${group} reads ${from}, which nothing before it writes`)
  }
  for (const step of pipeline.steps) {
    demandWritten(step)
    if (written.has(step.to)) problems.push(`step ${step.group} writes ${step.to}, which is written already`)
    written.add(step.to)
  }
  const { outcomes } = pipeline
  if (outcomes !== undefined) {
    if (written.has(outcomes)) problems.push(`outcomes are counted in ${outcomes}, which has events`)
    written.add(outcomes)
  }
  for (const sink of pipeline.sinks) demandWritten(sink)
  for (const stream of written) {
    if (readersOf(pipeline, stream).length === 0) problems.push(`nothing reads ${stream}`)
  }
  return problems
}

/** Whoever takes the one for the other would write nonsense. */
function problemsOfPayloads({ sources, steps, sinks }: Pipeline): string[] {
  const raw = rawStreamsOf(sources)
  const problems: string[] = []
  for (const { to } of sourcesOf(sources)) {
    if (raw.includes(to)) problems.push(`${to} takes both events and payloads`)
  }
  for (const { group, from } of steps) {
    if (raw.includes(from)) problems.push(`step ${group} reads ${from}, which holds payloads: that is for a sink`)
  }
  for (const { group, from, takes = 'rows' } of sinks) {
    const holds = raw.includes(from) ? 'payloads' : 'rows'
    if (takes !== holds) problems.push(`sink ${group} takes ${takes}, and ${from} holds ${holds}`)
  }
  return problems
}

function problemsOfJobs(pipeline: Pipeline): string[] {
  const { sources, sinks } = pipeline
  const completing = sinks.filter((sink) => sink.completesJobs)
  if (completing.length !== 1) return [`${completing.length} sinks complete batch jobs: wants one`]
  const [{ group, from }] = completing as [(typeof sinks)[number]]
  const start = stepsOfJobs(pipeline)[0]?.from ?? from
  if (sources.batch.to === start) return []
  return [`sink ${group} completes batch jobs, but no way leads to it from ${sources.batch.to}`]
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
}
