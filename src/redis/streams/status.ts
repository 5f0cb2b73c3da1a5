import { LANES, type Lane } from '../../core/pipeline/lane.ts'
import { groupsOf, type Pipeline, readersOf, streamsOf } from '../../core/pipeline/pipeline.ts'
import type { GroupStatus, PipelineStatus } from '../../core/pipeline/status.ts'
import type { RedisClient } from '../connect.ts'
import { counterFields, keys } from '../keys.ts'
import { replyCode } from '../reply-error.ts'

/** Lag and pending of every group, from counters of our own: Redis' own lag is wrong after a trim. */
export async function readStatus(client: RedisClient, pipeline: Pipeline): Promise<PipelineStatus> {
  const streams: GroupStatus[] = []
  const partitions = Number((await client.get(keys.partitions())) ?? 0)
  let deadLetters = 0
  for (let partition = 0; partition < partitions; partition++) {
    const counters = await client.hgetall(keys.counters(partition))
    deadLetters += await client.xlen(keys.dead(partition))
    for (const { from, group } of groupsOf(pipeline)) {
      for (const lane of LANES) {
        const place = { stream: from, lane, partition, group }
        const found = await readGroup(client, place, counters)
        if (found !== undefined) streams.push({ ...place, ...found })
      }
    }
  }
  return { streams, dead_letters: deadLetters }
}

/** Undefined for a group that is declared, and not made yet. */
async function readGroup(
  client: RedisClient,
  place: Pick<GroupStatus, 'stream' | 'lane' | 'partition' | 'group'>,
  counters: Readonly<Record<string, string>>,
): Promise<Omit<GroupStatus, keyof typeof place> | undefined> {
  const { stream, lane, partition, group } = place
  const key = keys.stream(partition, stream, lane)
  const entries = waitingOf(counters, group, stream, lane, 'entries')
  const pending = await pendingOf(client, key, group)
  if (pending === undefined) return undefined
  const first = pending[1] ?? (entries > 0 ? await firstUndelivered(client, key, group) : undefined)
  return {
    lag_entries: Math.max(0, entries - Number(pending[0])),
    pending_entries: Number(pending[0]),
    waiting_events: Math.max(0, waitingOf(counters, group, stream, lane, 'events')),
    oldest_ms: first === undefined ? 0 : Math.max(0, Date.now() - Number(first.split('-')[0])),
  }
}

async function pendingOf(
  client: RedisClient,
  key: string,
  group: string,
): Promise<[number, string | null] | undefined> {
  try {
    return (await client.call('XPENDING', key, group)) as [number, string | null]
  } catch (error) {
    if (replyCode(error) === 'NOGROUP') return undefined
    throw error
  }
}

async function firstUndelivered(client: RedisClient, key: string, group: string): Promise<string | undefined> {
  const groups = (await client.call('XINFO', 'GROUPS', key)) as (string | number)[][]
  const info = groups.find((fields) => fields[fields.indexOf('name') + 1] === group) ?? []
  const last = info[info.indexOf('last-delivered-id') + 1] ?? '0-0'
  const entries = (await client.call('XRANGE', key, `(${last}`, '+', 'COUNT', 1)) as [string, unknown][]
  return entries[0]?.[0]
}

function waitingOf(
  counters: Readonly<Record<string, string>>,
  group: string,
  stream: string,
  lane: Lane,
  unit: 'entries' | 'events',
): number {
  const added = Number(counters[counterFields.added(stream, lane, unit)] ?? 0)
  return added - Number(counters[counterFields.done(group, stream, lane, unit)] ?? 0)
}

export interface WaitingScope {
  readonly lanes?: readonly Lane[]
  /** Only what these groups have to do counts. */
  readonly groups?: readonly string[]
}

/**
 * Events that wait anywhere in the pipeline. An event that several groups of a stream have still to do waits once: the
 * stream holds it once.
 */
export async function waitingEvents(
  client: RedisClient,
  pipeline: Pipeline,
  partitions: number,
  { lanes = LANES, groups: only }: WaitingScope = {},
): Promise<number> {
  const counters = await Promise.all(
    Array.from({ length: partitions }, (_, partition) => client.hgetall(keys.counters(partition))),
  )
  let waiting = 0
  for (const hash of counters) {
    for (const stream of streamsOf(pipeline)) {
      const groups = readersOf(pipeline, stream).filter((group) => only?.includes(group) ?? true)
      for (const lane of lanes) {
        waiting += Math.max(0, ...groups.map((group) => waitingOf(hash, group, stream, lane, 'events')))
      }
    }
  }
  return waiting
}
