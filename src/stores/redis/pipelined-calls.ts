import type { RedisClient } from './connect.ts'

/** The part of a client that scripts need. */
export type Caller = Pick<RedisClient, 'callBuffer'>

type Call = readonly [command: string, ...args: (string | Buffer | number)[]]

/**
 * Sends the commands of one turn of the event loop in one write, and Redis appends their changes to its file in one write. On a Redis
 * Cluster each command goes alone, because they may be for several servers.
 */
export function pipelinedCalls(client: RedisClient): Caller {
  if ('nodes' in client) return client
  const together = new TurnBatcher<Call, unknown>((calls) => {
    const pipeline = client.pipeline()
    for (const [command, ...args] of calls) pipeline.callBuffer(command, ...args)
    const answered = pipeline.exec()
    return calls.map(async (_, i) => {
      const [error, reply] = (await answered)![i]!
      if (error !== null) throw error
      return reply
    })
  })
  return { callBuffer: (...call: Call) => together.add(call) } as Caller
}

interface Waiting<Call, Result> {
  readonly call: Call
  resolve(result: Result | PromiseLike<Result>): void
}

/** Merges the calls of one turn of the event loop, so that they share the fixed cost of a call. */
export class TurnBatcher<Call, Result> {
  readonly #make: (calls: readonly Call[]) => readonly Promise<Result>[]
  #waiting: Waiting<Call, Result>[] = []

  /** @param make returns a promise for each call, in their order; must not throw */
  constructor(make: (calls: readonly Call[]) => readonly Promise<Result>[]) {
    this.#make = make
  }

  add(call: Call): Promise<Result> {
    return new Promise((resolve) => {
      if (this.#waiting.push({ call, resolve }) === 1) setImmediate(() => this.#flush())
    })
  }

  #flush(): void {
    const waiting = this.#waiting
    this.#waiting = []
    const results = this.#make(waiting.map(({ call }) => call))
    for (const [i, { resolve }] of waiting.entries()) resolve(results[i]!)
  }
}
