import { ownLoad } from './own.ts'
import { hasWrk, wrkLoad } from './wrk.ts'

/** Placeholder in a body for the ten-digit number of its request. */
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
  /** Requests per second; undefined for as many as possible. */
  readonly rate?: number
}

export interface Loaded {
  /** Answered requests, without those in flight when wrk ends. */
  readonly requests: number
  /** Failed requests by status or reason. */
  readonly failures: Readonly<Record<string, number>>
  readonly seconds: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** CPU of the loader. */
  readonly cpuSeconds: number
  /** Time of each response by number of its request, milliseconds since 1970. Only with `rate`. */
  readonly answeredAtMs?: readonly number[]
}

/** wrk if it is installed. */
export function defaultLoader(): 'wrk' | 'own' {
  return hasWrk() ? 'wrk' : 'own'
}

/**
 * Sends requests for a time, and waits for their responses.
 * @throws Error when a response is not 200
 */
export async function load(spec: LoadSpec, loader: 'wrk' | 'own', signal: AbortSignal): Promise<Loaded> {
  const loaded = await (loader === 'wrk' && spec.rate === undefined ? wrkLoad(spec, signal) : ownLoad(spec, signal))
  const failures = Object.entries(loaded.failures).map(([what, count]) => `${what}: ${count}`)
  if (failures.length > 0)
    throw new Error(`${loaded.requests} requests to ${spec.path} succeeded, and others failed: ${failures.join(', ')}`)
  return loaded
}
