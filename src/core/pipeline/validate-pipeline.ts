import { type Group, groupsOf, type Pipeline, readersOf, sourcesOf, stepsOfJobs } from './pipeline.ts'

/** What a count of events can be called: a label of a metric, a key of a summary. */
const REASON = /^[a-z][a-z_]{0,39}$/
/** Names of other counts, in the metrics or in a summary. */
const OUTCOMES = ['kept', 'dead', 'isolated', 'broken', 'stored']
const SUMMARY = ['processed', 'valid_ips', 'identified_ips', 'rejected', 'invalid_ip', 'errors']
const TAKEN = [...OUTCOMES, ...SUMMARY]

/** What is wrong with a declaration, in sentences; empty when nothing is. */
export function validatePipeline(pipeline: Pipeline): string[] {
  return [...problemsOfGroups(pipeline), ...problemsOfStreams(pipeline), ...problemsOfJobs(pipeline)]
}

function problemsOfGroups(pipeline: Pipeline): string[] {
  const problems: string[] = []
  const groups = groupsOf(pipeline).map(({ group }) => group)
  for (const group of repeated(groups)) problems.push(`group ${group} is declared twice`)
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
  // The second would find every event to be claimed by the first.
  const claiming = pipeline.steps.flatMap(({ stages }) => stages.filter(({ claims }) => claims))
  if (claiming.length > 1) problems.push(`${claiming.map(({ name }) => name).join(' and ')} both claim events`)
  return problems
}

/** Steps are declared in the order in which an event passes them, so that none can wait for itself. */
function problemsOfStreams(pipeline: Pipeline): string[] {
  const problems: string[] = []
  const written = new Set(sourcesOf(pipeline.sources).map(({ to }) => to))
  const demandWritten = ({ group, from }: Group) => {
    if (!written.has(from)) problems.push(`group ${group} reads ${from}, which nothing before it writes`)
  }
  for (const step of pipeline.steps) {
    demandWritten(step)
    if (written.has(step.to)) problems.push(`step ${step.group} writes ${step.to}, which is written already`)
    written.add(step.to)
  }
  for (const sink of pipeline.sinks) demandWritten(sink)
  for (const stream of written) {
    if (readersOf(pipeline, stream).length === 0) problems.push(`nothing reads ${stream}`)
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
