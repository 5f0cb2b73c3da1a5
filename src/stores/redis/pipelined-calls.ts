import type { RedisClient } from './connect.ts'
import { TurnBatcher } from './turn-batcher.ts'

/** What a script needs of a client. */
export type Caller = Pick<RedisClient, 'callBuffer'>

type Call = readonly [command: string, ...args: (string | Buffer | number)[]]

/**
 * Commands of one turn of the event loop go out in one write, and what they change is in Redis' file with one. On a Redis
 * Cluster, where they may be for several servers, each goes by itself.
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
