import { StartupError } from '../../run/errors.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { LANES, type Lane } from '../declaration/lane.ts'
import { groupsOf, type Pipeline, readersOf, streamsOf } from '../declaration/pipeline.ts'
import { readGroups } from './status.ts'

const agreeOnPartitionsScript = loadScript(import.meta.url, './agreeOnPartitions-1.lua')
const addStreamsScript = loadScript(import.meta.url, './addStreams-1.lua')
const createGroupScript = loadScript(import.meta.url, './createGroup-2.lua')
const dropStreamScript = loadScript(import.meta.url, './dropStream-1.lua')

/**
 * Stores the number of partitions at the first start. It must stay the same, because an event's partition depends on it.
 * @throws StartupError when another number is stored
 */
export async function agreeOnPartitions(client: RedisClient, partitions: number): Promise<void> {
  const stored = Number(await agreeOnPartitionsScript.run(client, [keys.partitions()], [partitions]))
  if (stored !== partitions) {
    throw new StartupError(
      `PARTITIONS is ${partitions}, but this Redis holds ${stored} partitions: start with PARTITIONS=${stored}. To change the number, run "ipid backup DIR", and "ipid restore DIR" with a new DATA_DIR (or empty stores) and PARTITIONS=${partitions}`,
    )
  }
}

/** The number of partitions that this Redis holds; 0 if ipid has never run on it. */
export async function partitionsOf(client: RedisClient): Promise<number> {
  return Number((await client.get(keys.partitions())) ?? 0)
}

/** When a restore last changed the number of partitions, Unix milliseconds; 0: never. */
export async function partitionsSince(client: RedisClient): Promise<number> {
  return Number((await client.get(keys.partitionsSince())) ?? 0)
}

/**
 * Creates the consumer groups that the pipeline declares, in all partitions. Removes groups and streams that it no longer declares.
 * @throws StartupError when one of these groups still has entries, which would never be processed
 */
export async function createGroups(client: RedisClient, pipeline: Pipeline, partitions: number): Promise<void> {
  await dropStreams(client, pipeline, partitions)
  const calls: Promise<void>[] = []
  for (let partition = 0; partition < partitions; partition++) {
    for (const { group, from } of groupsOf(pipeline)) {
      const declared = readersOf(pipeline, from)
      for (const lane of LANES) calls.push(createGroup(client, { partition, from, lane, group }, declared))
    }
  }
  await Promise.all(calls)
}

/**
 * The pipeline in this Redis, for a command that does not know the settings of the processes: a sink that may be off is on while
 * its group exists.
 */
export async function activeOn(client: RedisClient, pipeline: Pipeline): Promise<Pipeline> {
  const sinks = pipeline.sinks.map(async (sink) => {
    if (sink.into.isOn === undefined) return [sink]
    const { groups } = await readGroups(client, keys.stream(0, sink.from, 'live'))
    return groups.has(sink.group) ? [sink] : []
  })
  return { ...pipeline, sinks: (await Promise.all(sinks)).flat() }
}

/** Removes streams that the pipeline no longer declares. */
async function dropStreams(client: RedisClient, pipeline: Pipeline, partitions: number): Promise<void> {
  const declared = streamsOf(pipeline)
  const known = (await addStreamsScript.run(client, [keys.streams()], declared)) as Buffer[]
  for (const name of known.map(String)) {
    if (declared.includes(name)) continue
    for (let partition = 0; partition < partitions; partition++) {
      for (const lane of LANES) {
        const stream = keys.stream(partition, name, lane)
        const result = await dropStreamScript.run(client, [stream], [])
        if (result !== 1) throw unfinished(stream, String(result))
      }
    }
    await client.srem(keys.streams(), name)
  }
}

function unfinished(stream: string, group: string): StartupError {
  return new StartupError(
    `${stream} has unfinished entries of group ${group}, which the pipeline no longer declares: start with the version and the settings that declare it until they are finished`,
  )
}

interface GroupOfStream {
  readonly partition: number
  readonly from: string
  readonly lane: Lane
  readonly group: string
}

async function createGroup(
  client: RedisClient,
  { partition, from, lane, group }: GroupOfStream,
  declared: readonly string[],
): Promise<void> {
  const stream = keys.stream(partition, from, lane)
  const prefixes = [counterFields.addedPrefix(from, lane), counterFields.donePrefix(group, from, lane)]
  const names = [stream, keys.counters(partition)]
  const result = await createGroupScript.run(client, names, [group, ...prefixes, ...declared])
  if (result !== 1) throw unfinished(stream, String(result))
}
