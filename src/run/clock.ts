/** Source of time, passed in so that tests can set it. */
export interface Clock {
  /** Milliseconds since the Unix epoch, UTC. */
  now(): number
}

export const systemClock: Clock = { now: () => Date.now() }
