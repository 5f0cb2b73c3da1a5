import type { RedisClient } from '../../stores/redis/connect.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { loadScript } from '../../stores/redis/scripts.ts'
import { LANES, type Lane } from '../declaration/lane.ts'
import { groupsOf, type PipelineOutline, readersOf, streamsOf } from '../declaration/pipeline.ts'
import type { GroupStatus, PipelineStatus } from '../declaration/status.ts'

const streamGroupsScript = loadScript(import.meta.url, './streamGroups-1.lua')

interface StatusScope {
  /** Leaves out groups without waiting entries, and so saves their calls. Default false. */
  readonly onlyWaiting?: boolean
}

/** Lag and pending entries of every group. Uses counters of our own, because Redis' lag is wrong after a trim. */
export async function readStatus(
  client: RedisClient,
  pipeline: PipelineOutline,
  scope: StatusScope = {},
): Promise<PipelineStatus> {
  const partitions = Number((await client.get(keys.partitions())) ?? 0)
  const found = await Promise.all(
    Array.from({ length: partitions }, async (_, partition) => {
      const [counters, dead] = await Promise.all([
        client.hgetall(keys.counters(partition)),
        client.xlen(keys.dead(partition)),
      ])
      return { streams: await readPartition(client, pipeline, partition, counters, scope), dead }
    }),
  )
  return {
    streams: found.flatMap(({ streams }) => streams),
    dead_letters: found.reduce((sum, { dead }) => sum + dead, 0),
  }
}

type Counters = Readonly<Record<string, string>>

async function readPartition(
  client: RedisClient,
  pipeline: PipelineOutline,
  partition: number,
  counters: Counters,
  { onlyWaiting = false }: StatusScope,
): Promise<GroupStatus[]> {
  const streams = streamsOf(pipeline).flatMap((stream) => LANES.map((lane) => ({ stream, lane })))
  const read = streams.map(async ({ stream, lane }) => {
    const readers = readersOf(pipeline, stream)
    const waits = (group: string) => waitingOf(counters, group, stream, lane, 'entries') > 0
    if (onlyWaiting && !readers.some(waits)) return []
    const { groups, nowMs } = await readGroups(client, keys.stream(partition, stream, lane))
    return readers.flatMap((group) => {
      const state = groups.get(group)
      // The group is declared but not created yet.
      if (state === undefined) return []
      return [{ stream, lane, partition, group, ...statusOf(state, { counters, group, stream, lane, nowMs }) }]
    })
  })
  const found = (await Promise.all(read)).flat()
  const order = groupsOf(pipeline).map(({ group }) => group)
  return found.sort((a, b) => order.indexOf(a.group) - order.indexOf(b.group))
}

/** The ids are '' when there is no such entry. */
interface GroupState {
  readonly pending: number
  readonly oldestPending: string
  readonly oldestNew: string
}

/** The progress of the groups of a stream, by name, and the time of its server. */
export async function readGroups(
  client: RedisClient,
  stream: string,
): Promise<{ readonly groups: ReadonlyMap<string, GroupState>; readonly nowMs: number }> {
  const [now, ...reply] = ((await streamGroupsScript.run(client, [stream], [])) as (Buffer | number)[]).map(String)
  const groups = new Map<string, GroupState>()
  for (let i = 0; i < reply.length; i += 4) {
    groups.set(reply[i]!, { pending: Number(reply[i + 1]), oldestPending: reply[i + 2]!, oldestNew: reply[i + 3]! })
  }
  return { groups, nowMs: Number(now) }
}

interface GroupStream {
  readonly counters: Counters
  readonly group: string
  readonly stream: string
  readonly lane: Lane
  /** By the clock of Redis, which made the ids: this machine's clock may differ by hours. */
  readonly nowMs: number
}

function statusOf(
  { pending, oldestPending, oldestNew }: GroupState,
  { counters, group, stream, lane, nowMs }: GroupStream,
): Pick<GroupStatus, 'lag_entries' | 'pending_entries' | 'waiting_events' | 'oldest_ms'> {
  const entries = waitingOf(counters, group, stream, lane, 'entries')
  const oldest = oldestPending || (entries > 0 ? oldestNew : '')
  return {
    lag_entries: Math.max(0, entries - pending),
    pending_entries: pending,
    waiting_events: Math.max(0, waitingOf(counters, group, stream, lane, 'events')),
    oldest_ms: oldest === '' ? 0 : Math.max(0, nowMs - Number(oldest.split('-')[0])),
  }
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

interface WaitingScope {
  readonly lanes?: readonly Lane[]
  /** Counts only events that wait for these groups. */
  readonly groups?: readonly string[]
}

/** Number of events that wait in the pipeline. An event that waits for several groups of a stream counts once. */
export async function waitingEvents(
  client: RedisClient,
  pipeline: PipelineOutline,
  partitions: number,
  scope: WaitingScope = {},
): Promise<number> {
  const counters = await readCounters(client, partitions)
  return waitingIn(counters, pipeline, scope)
}

/** `waitingEvents`, and the number of events ever added to a stream in these lanes, from one read of the counters. */
export async function levelOf(
  client: RedisClient,
  pipeline: PipelineOutline,
  partitions: number,
  { stream, ...scope }: WaitingScope & { readonly stream: string },
): Promise<{ readonly waiting: number; readonly added: number }> {
  const counters = await readCounters(client, partitions)
  let added = 0
  for (const hash of counters) {
    for (const lane of scope.lanes ?? LANES) added += Number(hash[counterFields.added(stream, lane, 'events')] ?? 0)
  }
  return { waiting: waitingIn(counters, pipeline, scope), added }
}

function readCounters(client: RedisClient, partitions: number): Promise<Counters[]> {
  return Promise.all(Array.from({ length: partitions }, (_, partition) => client.hgetall(keys.counters(partition))))
}

function waitingIn(
  counters: readonly Counters[],
  pipeline: PipelineOutline,
  { lanes = LANES, groups: only }: WaitingScope,
): number {
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
