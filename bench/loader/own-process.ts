import { receiveInput, send } from '../run/child.ts'
import { Connection } from './connection.ts'
import type { Loaded, LoadSpec } from './loader.ts'
import { requestTemplates } from './template.ts'

/*
 * Our own loader: prepared bytes on raw sockets. It only reads the lengths of responses, so that most of its CPU is the
 * kernel's.
 */

const TICK_MS = 1

async function run(spec: LoadSpec): Promise<Loaded> {
  const templates = requestTemplates(spec)
  const failures: Record<string, number> = {}
  const latencies: number[] = []
  const answeredAtMs: number[] = []
  let next = 0
  let ended = false
  let open = spec.connections
  const waiting: Connection[] = []
  const due: number[] = []
  const connections = await Promise.all(Array.from({ length: spec.connections }, () => Connection.open(spec.url)))
  const cpuBefore = process.cpuUsage()
  const startedMs = performance.now()
  const finished = withResolvers()

  const fail = (what: string) => {
    failures[what] = (failures[what] ?? 0) + 1
  }
  const send = (connection: Connection, dueMs: number) => {
    const number = next++
    const bytes = templates.bytes(number)
    connection.send(bytes, (status) => {
      // A refusal may arrive before the whole request was sent.
      if (status === 200) templates.answered(number, bytes)
      const nowMs = performance.now()
      if (status === 200) latencies.push(nowMs - dueMs)
      else fail(status === 0 ? 'connection' : String(status))
      if (spec.rate !== undefined) answeredAtMs[number] = performance.timeOrigin + nowMs
      if (status === 0) close()
      else proceed(connection, nowMs)
    })
  }
  const close = () => {
    if (--open === 0) finished.resolve()
  }
  const proceed = (connection: Connection, nowMs: number) => {
    const dueMs = due.shift()
    if (dueMs !== undefined) send(connection, dueMs)
    else if (ended) close()
    else if (spec.rate === undefined) send(connection, nowMs)
    else waiting.push(connection)
  }
  const tick = () => {
    const nowMs = performance.now()
    const until = Math.min(nowMs - startedMs, spec.seconds * 1_000)
    const wanted = Math.floor((until / 1_000) * spec.rate!)
    for (let made = next + due.length; made < wanted; made++) {
      // Rotate, so that no connection idles until the server closes it.
      const free = waiting.shift()
      if (free === undefined) due.push(nowMs)
      else send(free, nowMs)
    }
  }
  const ticking = spec.rate === undefined ? undefined : setInterval(tick, TICK_MS)
  setTimeout(() => {
    if (spec.rate !== undefined) tick()
    ended = true
    clearInterval(ticking)
    for (const _ of waiting.splice(0)) close()
  }, spec.seconds * 1_000)
  for (const connection of connections) proceed(connection, startedMs)
  await finished.promise
  const seconds = (performance.now() - startedMs) / 1_000
  const cpu = process.cpuUsage(cpuBefore)
  for (const connection of connections) connection.end()
  const ascending = Float64Array.from(latencies).sort()
  const at = (share: number) =>
    ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
  return {
    requests: latencies.length,
    failures,
    seconds,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    ...(spec.rate !== undefined && { answeredAtMs }),
  }
}

function withResolvers(): { promise: Promise<void>; resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}

send(await run(await receiveInput<LoadSpec>()))
