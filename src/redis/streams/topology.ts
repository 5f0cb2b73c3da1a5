import { LANES, type Pipeline } from '../../core/pipeline/pipeline.ts'
import { StartupError } from '../../core/run/errors.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'

const createGroupScript = loadScript('createGroup-1')

/**
 * Writes the number of partitions at the first start and holds later starts to it: an event's partition depends on it.
 * @throws StartupError when another number is stored
 */
export async function agreeOnPartitions(client: RedisClient, partitions: number): Promise<void> {
  await client.setnx(keys.partitions(), String(partitions))
  const stored = Number(await client.get(keys.partitions()))
  if (stored !== partitions) {
    throw new StartupError(
      `PARTITIONS is ${partitions}, but this Redis holds ${stored} partitions: start with PARTITIONS=${stored}`,
    )
  }
}

/**
 * Makes the consumer groups that the pipeline declares, in all partitions.
 * @throws StartupError when groups of another form of the pipeline still have entries to do
 */
export async function createGroups(client: RedisClient, pipeline: Pipeline, partitions: number): Promise<void> {
  const calls: Promise<void>[] = []
  for (let partition = 0; partition < partitions; partition++) {
    for (const segment of pipeline.segments) {
      const declared = groupsOf(pipeline, segment.from)
      for (const lane of LANES) {
        const stream = keys.stream(partition, segment.from, lane)
        calls.push(createGroup(client, stream, segment.group, declared))
      }
    }
  }
  await Promise.all(calls)
}

async function createGroup(client: RedisClient, stream: string, group: string, declared: string[]): Promise<void> {
  const result = await createGroupScript.run(client, [stream], [group, ...declared])
  if (result === 1) return
  throw new StartupError(
    `${stream} has entries that group ${String(result)} of another form of the pipeline has not finished: start with that form until they are done`,
  )
}

/** The groups that read a stream. */
export function groupsOf(pipeline: Pipeline, stream: string): string[] {
  return pipeline.segments.filter((segment) => segment.from === stream).map((segment) => segment.group)
}

/** The streams of a pipeline: the intake and what segments write. */
export function streamsOf(pipeline: Pipeline): string[] {
  return [pipeline.intake, ...pipeline.segments.flatMap((segment) => ('to' in segment ? [segment.to] : []))]
}
