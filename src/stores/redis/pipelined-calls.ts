import type { RedisClient } from './connect.ts'
import { TurnBatcher } from './turn-batcher.ts'

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
