import { LANES } from './lane.ts'
import {
  type Group,
  groupsOf,
  type Pipeline,
  rawStreamsOf,
  readersOf,
  type Step,
  settingsOf,
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
  const ofSources = [...problemsOfSources(pipeline), ...problemsOfSettings(pipeline)]
  return [...problemsOfGroups(pipeline), ...ofSources, ...ofStreams, ...problemsOfJobs(pipeline)]
}

/** What an environment variable can be called. */
const VARIABLE = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/
/** Segments of a path: words, or parameters like `:job_id`. */
const PATH = /^(\/(:[a-z_]+|[\w.-]+))+\/?$/
function problemsOfSources({ sources }: Pipeline): string[] {
  const problems: string[] = []
  const names = sources.map(({ from }) => from.name)
  for (const name of repeated(names)) problems.push(`source ${name} is declared twice`)
  const places: string[] = []
  for (const { from } of sources) {
    const { name, lane, routes } = from
    if (!NAME.test(name)) problems.push(`"${name}" is no name for a source: wants a to z, 0 to 9 and -`)
    if (!LANES.includes(lane)) problems.push(`source ${name} has the lane "${lane}": wants ${LANES.join(' or ')}`)
    for (const { method, path } of routes) {
      if (!PATH.test(path))
        problems.push(`source ${name} has the path "${path}": wants segments like /v1/name or /:name`)
      places.push(`${method} ${shapeOf(path)}`)
    }
  }
  for (const place of repeated(places)) {
    const users = sources.filter(({ from }) =>
      from.routes.some((route) => `${route.method} ${shapeOf(route.path)}` === place),
    )
    const owners = users.map(({ from }) => from.name)
    problems.push(
      `${owners.join(' and ')} ${owners.length === 1 ? 'has' : 'both have'} the route ${place}${owners.length === 1 ? ' twice' : ''}`,
    )
  }
  return problems
}

/** Parameters of two paths meet whatever they are called. */
function shapeOf(path: string): string {
  return path.replace(/:[a-z_]+/g, ':')
}

function problemsOfSettings(pipeline: Pipeline): string[] {
  const variables = settingsOf(pipeline).map(({ env }) => env)
  return [
    ...variables
      .filter((env) => !VARIABLE.test(env))
      .map((env) => `"${env}" is no name for a setting: wants A to Z, 0 to 9 and _`),
    ...repeated(variables).map((env) => `the setting ${env} is declared twice`),
  ]
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
  const written = new Set([...pipeline.sources.map(({ to }) => to), ...rawStreamsOf(pipeline.sources)])
  const assertWritten = ({ group, from }: Group) => {
    if (!written.has(from)) problems.push(`group ${group} reads ${from}, which nothing before it writes`)
  }
  for (const step of pipeline.steps) {
    assertWritten(step)
    if (written.has(step.to)) problems.push(`step ${step.group} writes ${step.to}, which is written already`)
    written.add(step.to)
  }
  const { outcomes } = pipeline
  if (outcomes !== undefined) {
    if (written.has(outcomes)) problems.push(`outcomes are counted in ${outcomes}, which has events`)
    written.add(outcomes)
  }
  for (const sink of pipeline.sinks) assertWritten(sink)
  for (const stream of written) {
    if (readersOf(pipeline, stream).length === 0) problems.push(`nothing reads ${stream}`)
  }
  return problems
}

/** Whoever takes the one for the other would write nonsense. */
function problemsOfPayloads({ sources, steps, sinks }: Pipeline): string[] {
  const raw = rawStreamsOf(sources)
  const problems: string[] = []
  for (const { to } of sources) {
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
  const ofJobs = sources.filter((source) => source.from.read !== undefined)
  if (ofJobs.length === 0) return ['no source makes batch jobs: wants one with read']
  const problems: string[] = []
  const astray = [...new Set(ofJobs.map(({ to }) => to))].filter((to) => to !== start)
  for (const to of astray) problems.push(`sink ${group} completes batch jobs, but no way leads to it from ${to}`)
  const raws = new Set(ofJobs.map(({ raw }) => raw))
  if (raws.size > 1)
    problems.push(
      `${ofJobs.map(({ from }) => from.name).join(' and ')} make batch jobs, and name different raw streams`,
    )
  for (const { from: source, to, raw } of sources) {
    if (raw === undefined || to === start || source.read !== undefined) continue
    problems.push(`source ${source.name} has an archive, but writes ${to}: a replay would put its events into ${start}`)
  }
  return problems
}

function repeated(names: readonly string[]): string[] {
  return [...new Set(names.filter((name, i) => names.indexOf(name) !== i))]
}
