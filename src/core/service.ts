/**
 * A part with a life of its own. `stop` ends intake first, then finishes what is in flight, then releases what `start`
 * acquired. Both tolerate being called twice, and `stop` tolerates a service that never started.
 */
export interface Service {
  readonly name: string
  /** Resolves when the service does its work; rejects when it cannot start, having released everything. */
  start(): Promise<void>
  /** Resolves when everything in flight is finished and released. */
  stop(): Promise<void>
}
