import { ownLoad } from './own.ts'
import { hasWrk, wrkLoad } from './wrk.ts'

/** Stands in a body for the number of its request, ten digits. */
export const REQUEST_NUMBER = '@@@@@@@@@@'

/** Requests over keep-alive connections, one at a time on each. */
export interface LoadSpec {
  readonly url: string
  readonly path: string
  /** Taken in turn. */
  readonly keys: readonly string[]
  /** Taken in turn, without line ends. */
  readonly bodies: readonly string[]
  readonly connections: number
  readonly seconds: number
  /** Requests a second; undefined: as many as are answered. */
  readonly rate?: number
}

export interface Loaded {
  /** Answered. Those on their way when wrk ends are not among them. */
  readonly requests: number
  /** Refused, or broken off, by status or reason. */
  readonly failures: Readonly<Record<string, number>>
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of the loader. */
  readonly cpuSeconds: number
  /** When each request was answered, by its number, milliseconds since 1970; with a rate only. */
  readonly answeredAtMs?: readonly number[]
}

/** How requests are sent when nothing else was said. */
export function defaultLoader(): 'wrk' | 'own' {
  return hasWrk() ? 'wrk' : 'own'
}

/**
 * Sends requests for a time, and waits for their answers.
 * @throws Error when a request was not answered with 200
 */
export async function load(spec: LoadSpec, loader: 'wrk' | 'own', signal: AbortSignal): Promise<Loaded> {
  const loaded = await (loader === 'wrk' && spec.rate === undefined ? wrkLoad(spec, signal) : ownLoad(spec, signal))
  const failures = Object.entries(loaded.failures).map(([what, count]) => `${what}: ${count}`)
  if (failures.length > 0)
    throw new Error(`of ${loaded.requests} requests to ${spec.path} failed ${failures.join(', ')}`)
  return loaded
}
