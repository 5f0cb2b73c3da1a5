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

/** A name of a source, group or stream, which may be part of a key. */
const NAME = /^[a-z][a-z0-9-]{0,39}$/
/** Names taken by other keys and leases. */
const TAKEN_NAMES = ['live', 'batch', 'dead', 'counters', 'producer', 'seen', 'job', 'feeder', 'restore']
/** A drop reason, which is a label of a metric and a key of a summary. */
const REASON = /^[a-z][a-z_]{0,39}$/
/** Names of other counts in the metrics or in a summary. */
const OUTCOMES = ['kept', 'dead', 'isolated', 'broken', 'stored']
const SUMMARY = ['processed', 'valid_ips', 'identified_ips', 'rejected', 'invalid_ip', 'errors']
const TAKEN = [...OUTCOMES, ...SUMMARY]

/** The problems of a declaration, as sentences. */
export function validatePipeline(pipeline: Pipeline): string[] {
  const ofStreams = [...problemsOfStreams(pipeline), ...problemsOfPayloads(pipeline)]
  const ofSources = [...problemsOfSources(pipeline), ...problemsOfSettings(pipeline)]
  return [...problemsOfGroups(pipeline), ...ofSources, ...ofStreams, ...problemsOfJobs(pipeline)]
}

/** A name of an environment variable. */
const VARIABLE = /^[A-Z][A-Z0-9]*(_[A-Z0-9]+)*$/
/** Segments of a path are words, or parameters like `:job_id`. */
const PATH = /^(\/(:[a-z_]+|[\w.-]+))+\/?$/

function problemsOfSources({ sources }: Pipeline): string[] {
  const problems: string[] = []
  const names = sources.map(({ from }) => from.name)
  for (const name of repeated(names)) problems.push(`source ${name} is declared twice`)
  const operations: string[] = []
  for (const { from } of sources) {
    const { name, lane, routes } = from
    if (!NAME.test(name)) problems.push(`source name "${name}" must consist of a to z, 0 to 9 and -`)
    if (!LANES.includes(lane)) problems.push(`source ${name} has the lane "${lane}": must be ${LANES.join(' or ')}`)
    for (const { method, path } of routes) {
      if (!PATH.test(path))
        problems.push(`source ${name} has the path "${path}": must have segments like /v1/name or /:name`)
      operations.push(`${method} ${shapeOf(path)}`)
    }
  }
  for (const operation of repeated(operations)) {
    const users = sources.filter(({ from }) =>
      from.routes.some((route) => `${route.method} ${shapeOf(route.path)}` === operation),
    )
    const names = users.map(({ from }) => from.name)
    problems.push(
      `${names.join(' and ')} ${names.length === 1 ? 'has' : 'both have'} the route ${operation}${names.length === 1 ? ' twice' : ''}`,
    )
  }
  return problems
}

/** Removes the names of parameters, because paths that differ only in them match the same requests. */
function shapeOf(path: string): string {
  return path.replace(/:[a-z_]+/g, ':')
}

function problemsOfSettings(pipeline: Pipeline): string[] {
  const variables = settingsOf(pipeline).map(({ env }) => env)
  return [
    ...variables
      .filter((env) => !VARIABLE.test(env))
      .map((env) => `setting name "${env}" must consist of A to Z, 0 to 9 and _`),
    ...repeated(variables).map((env) => `the setting ${env} is declared twice`),
  ]
}

function problemsOfGroups(pipeline: Pipeline): string[] {
  const problems: string[] = []
  const groups = groupsOf(pipeline).map(({ group }) => group)
  for (const group of repeated(groups)) problems.push(`group ${group} is declared twice`)
  for (const name of new Set([...groups, ...streamsOf(pipeline)])) {
    if (!NAME.test(name)) problems.push(`group or stream name "${name}" must consist of a to z, 0 to 9 and -`)
    if (TAKEN_NAMES.includes(name)) problems.push(`the name ${name} is already in use: choose another`)
  }
  for (const { group, stages } of pipeline.steps) {
    if (stages.length === 0) problems.push(`step ${group} has no stage`)
    for (const name of repeated(stages.map((stage) => stage.name))) {
      problems.push(`step ${group} has the stage ${name} twice`)
    }
    for (const { name, drops = [] } of stages) {
      for (const reason of drops) {
        if (!REASON.test(reason)) problems.push(`stage ${name} drops for "${reason}": must consist of a to z and _`)
        if (TAKEN.includes(reason)) problems.push(`stage ${name} drops for "${reason}", which names another count`)
      }
    }
  }
  return [...problems, ...problemsOfClaims(pipeline.steps)]
}

/** A claim promises to keep the event. A second claiming stage would find every event claimed by the first one. */
function problemsOfClaims(steps: readonly Step[]): string[] {
  const problems: string[] = []
  let claiming: string | undefined
  const claimed = new Set<string>()
  for (const { from, stages, to } of steps) {
    for (const { name, claims, drops = [] } of stages) {
      if (claims && claiming !== undefined) problems.push(`${claiming} and ${name} both claim events`)
      else if (drops.length > 0 && (claimed.has(from) || claimed.has(to))) {
        problems.push(`${name} drops events after ${claiming}, which has promised to keep them`)
      }
      if (claims) {
        claiming = name
        claimed.add(to)
      }
    }
    if (claimed.has(from)) claimed.add(to)
  }
  return problems
}

/** Steps must be declared in the order that an event passes them. So there are no cycles. */
function problemsOfStreams(pipeline: Pipeline): string[] {
  const problems: string[] = []
  const written = new Set([...pipeline.sources.map(({ to }) => to), ...rawStreamsOf(pipeline.sources)])
  const assertWritten = ({ group, from }: Group) => {
    if (!written.has(from)) problems.push(`group ${group} reads ${from}, but no earlier part writes it`)
  }
  for (const step of pipeline.steps) {
    assertWritten(step)
    if (written.has(step.to)) problems.push(`step ${step.group} writes ${step.to}, which another part writes too`)
    written.add(step.to)
  }
  const { outcomes } = pipeline
  if (outcomes !== undefined) {
    if (written.has(outcomes)) problems.push(`stream ${outcomes} has both outcomes and events`)
    written.add(outcomes)
  }
  for (const sink of pipeline.sinks) assertWritten(sink)
  const always = { ...pipeline, sinks: pipeline.sinks.filter(({ into }) => into.isOn === undefined) }
  for (const stream of written) {
    if (readersOf(pipeline, stream).length === 0) problems.push(`nothing reads ${stream}`)
    else if (readersOf(always, stream).length === 0) problems.push(`nothing reads ${stream} while its sinks are off`)
  }
  return problems
}

/** Payloads and rows must not be mixed up: a sink would write nonsense. */
function problemsOfPayloads({ sources, steps, sinks }: Pipeline): string[] {
  const raw = rawStreamsOf(sources)
  const problems: string[] = []
  for (const { to } of sources) {
    if (raw.includes(to)) problems.push(`${to} takes both events and payloads`)
  }
  for (const { group, from } of steps) {
    if (raw.includes(from))
      problems.push(`step ${group} reads ${from}, which holds payloads: only a sink may read them`)
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
  if (completing.length !== 1) return [`${completing.length} sinks complete batch jobs: must be one`]
  const [{ group, from, into }] = completing as [(typeof sinks)[number]]
  if (into.isOn !== undefined) return [`sink ${group} completes batch jobs: it must always be on`]
  const start = stepsOfJobs(pipeline)[0]?.from ?? from
  const ofJobs = sources.filter((source) => source.from.read !== undefined)
  if (ofJobs.length === 0) return ['no source makes batch jobs: at least one must have read']
  const problems: string[] = []
  const unconnected = [...new Set(ofJobs.map(({ to }) => to))].filter((to) => to !== start)
  for (const to of unconnected) problems.push(`sink ${group} completes batch jobs, but events of ${to} do not reach it`)
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
