import { UnavailableError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'
import type { RedisClient } from '../../stores/redis/connect.ts'
import { replyCode } from '../../stores/redis/errors.ts'
import { counterFields, keys } from '../../stores/redis/keys.ts'
import { LANES } from '../declaration/lane.ts'
import { groupsOf, type Pipeline, streamsOf } from '../declaration/pipeline.ts'

const LOOK_EVERY_MS = 100

/** The last entry that a stream had when the mark was set. */
interface Mark {
  readonly key: string
  readonly last: string
}

/**
 * Resolves when every group has finished all events that were in the pipeline at the time of the call. Later events do not delay it.
 * It takes the streams in the order in which an event passes them. Once the groups of a stream have passed its mark, their output is
 * in the next stream, so before the mark that is set there.
 * @param deadlineMs of `performance.now()`
 * @throws UnavailableError at the deadline
 */
export async function untilPassed(
  client: RedisClient,
  pipeline: Pipeline,
  partitions: number,
  deadlineMs: number,
): Promise<void> {
  for (const stream of streamsOf(pipeline)) {
    const groups = groupsOf(pipeline).filter(({ from }) => from === stream)
    let isolated: number
    do {
      // A split entry comes back after the marks. The settlement that adds it also counts it, so a changed count needs new marks.
      isolated = await isolatedEvents(client, pipeline, partitions)
      const marks = await setMarks(client, stream, partitions)
      for (const { group } of groups) await untilGroupPassed(client, group, marks, deadlineMs)
    } while ((await isolatedEvents(client, pipeline, partitions)) !== isolated)
  }
}

async function setMarks(client: RedisClient, stream: string, partitions: number): Promise<Mark[]> {
  const marks: Mark[] = []
  for (let partition = 0; partition < partitions; partition++) {
    for (const lane of LANES) {
      const key = keys.stream(partition, stream, lane)
      const [last] = (await client.callBuffer('XREVRANGE', key, '+', '-', 'COUNT', 1)) as [Buffer][]
      if (last !== undefined) marks.push({ key, last: last[0].toString('latin1') })
    }
  }
  return marks
}

async function untilGroupPassed(
  client: RedisClient,
  group: string,
  marks: readonly Mark[],
  deadlineMs: number,
): Promise<void> {
  const open = [...marks]
  const passed = async () => {
    while (open.length > 0 && (await hasPassed(client, group, open[0]!))) open.shift()
    return open.length === 0 || undefined
  }
  if (await poll(passed, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
  throw new UnavailableError(`group ${group} did not finish the received events in time: see ipid status`)
}

async function hasPassed(client: RedisClient, group: string, { key, last }: Mark): Promise<boolean> {
  try {
    const [count, first] = (await client.call('XPENDING', key, group)) as [number, string | null]
    const groups = (await client.call('XINFO', 'GROUPS', key)) as (string | number)[][]
    const info = groups.find((fields) => fields[fields.indexOf('name') + 1] === group) ?? []
    const delivered = String(info[info.indexOf('last-delivered-id') + 1] ?? '0-0')
    return compareIds(delivered, last) >= 0 && (count === 0 || compareIds(first!, last) > 0)
  } catch (error) {
    if (replyCode(error) === 'NOGROUP') return false
    throw error
  }
}

async function isolatedEvents(client: RedisClient, pipeline: Pipeline, partitions: number): Promise<number> {
  let events = 0
  const fields = groupsOf(pipeline).map(({ group }) => counterFields.outcome(group, 'isolated'))
  for (let partition = 0; partition < partitions; partition++) {
    const counts = await client.hmget(keys.counters(partition), ...fields)
    for (const count of counts) events += Number(count ?? 0)
  }
  return events
}

/** Negative when `a` is the earlier entry. */
function compareIds(a: string, b: string): number {
  const [aMs, aNumber] = a.split('-').map(Number)
  const [bMs, bNumber] = b.split('-').map(Number)
  return aMs! - bMs! || aNumber! - bNumber!
}
