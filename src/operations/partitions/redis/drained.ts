import { LANES } from '../../../pipeline/declaration/lane.ts'
import { type Pipeline, readersOf, streamsOf } from '../../../pipeline/declaration/pipeline.ts'
import { readGroups } from '../../../pipeline/streams/status.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { keysLike } from '../../../stores/redis/nodes.ts'

/** What a pipeline has still to do, one phrase each; empty when it is drained. */
export async function whatIsLeft(client: RedisClient, pipeline: Pipeline, partitions: number): Promise<string[]> {
  const left: string[] = []
  const streams = new Set([...streamsOf(pipeline), ...(await client.smembers(keys.streams()))])
  for (const stream of streams) {
    for (const group of await busyGroups(client, pipeline, stream, partitions)) {
      left.push(`group ${group} has entries of ${stream} to do`)
    }
  }
  const jobs = await client.hlen(keys.openJobs())
  if (jobs > 0) left.push(`${jobs} batch ${jobs === 1 ? 'job is' : 'jobs are'} open`)
  for await (const intent of keysLike(client, keys.sinkIntentPattern()))
    left.push(`a sink has not finished an insert (${intent})`)
  return left
}

async function busyGroups(
  client: RedisClient,
  pipeline: Pipeline,
  stream: string,
  partitions: number,
): Promise<Set<string>> {
  const busy = new Set<string>()
  for (let partition = 0; partition < partitions; partition++) {
    for (const lane of LANES) {
      const key = keys.stream(partition, stream, lane)
      const groups = await readGroups(client, key)
      for (const [name, { pending, oldestNew }] of groups) if (pending > 0 || oldestNew !== '') busy.add(name)
      // One that is declared and not made yet reads what is there from the beginning.
      const unmade = readersOf(pipeline, stream).filter((name) => !groups.has(name))
      if (unmade.length > 0 && (await client.xlen(key)) > 0) for (const name of unmade) busy.add(name)
    }
  }
  return busy
}
