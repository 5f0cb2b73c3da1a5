import { LANES, type Lane } from '../../core/pipeline/lane.ts'
import { groupsOf, type Pipeline, readersOf } from '../../core/pipeline/pipeline.ts'
import { StartupError } from '../../core/run/errors.ts'
import type { RedisClient } from '../connect.ts'
import { counterFields, keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'

const createGroupScript = loadScript('createGroup-2')

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
 * Makes the consumer groups that the pipeline declares, in all partitions, and removes those of another form that have
 * nothing left to do. A stream that no group of this pipeline reads is not looked at.
 * @throws StartupError when groups of another form still have entries to do
 */
export async function createGroups(client: RedisClient, pipeline: Pipeline, partitions: number): Promise<void> {
  const calls: Promise<void>[] = []
  for (let partition = 0; partition < partitions; partition++) {
    for (const { group, from } of groupsOf(pipeline)) {
      const declared = readersOf(pipeline, from)
      for (const lane of LANES) calls.push(createGroup(client, { partition, from, lane, group }, declared))
    }
  }
  await Promise.all(calls)
}

interface GroupPlace {
  readonly partition: number
  readonly from: string
  readonly lane: Lane
  readonly group: string
}

async function createGroup(client: RedisClient, place: GroupPlace, declared: readonly string[]): Promise<void> {
  const { partition, from, lane, group } = place
  const stream = keys.stream(partition, from, lane)
  const prefixes = [counterFields.addedPrefix(from, lane), counterFields.donePrefix(group, from, lane)]
  const names = [stream, keys.counters(partition)]
  const result = await createGroupScript.run(client, names, [group, ...prefixes, ...declared])
  if (result === 1) return
  throw new StartupError(
    `${stream} has entries that group ${String(result)} of another form of the pipeline has not finished: start with that form until they are done`,
  )
}
