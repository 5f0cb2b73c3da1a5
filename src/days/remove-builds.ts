import { UnavailableError } from '../run/errors.ts'
import { poll } from '../run/loop.ts'
import { read } from '../stores/clickhouse/cluster.ts'
import { type Hosts, onEach } from '../stores/clickhouse/hosts.ts'
import { quote } from '../stores/clickhouse/quote.ts'
import { removeRows } from '../stores/clickhouse/remove-rows.ts'
import { DAY_TABLES } from '../stores/clickhouse/tables.ts'
import { BUILD_ID, BUILDS_MAX, isOneOf, staleBuilds } from './day-tables.ts'

const LOOK_EVERY_MS = 200

/**
 * Removes the builds of a tenant that its events have left: they hold hashes of addresses. Call it when no file has the removed events any
 * more; it resolves when no file has the builds. A build that counts has the remaining events only, which its numbers prove.
 * @returns number of parts that the servers have detached
 * @throws UnavailableError on timeout; call it again to continue
 */
export async function removeStaleBuilds(hosts: Hosts, tenantId: string, deadlineMs: number): Promise<number> {
  await untilBuilt(hosts, deadlineMs)
  let detachedParts = 0
  for (const table of DAY_TABLES) {
    for (let isMore = true; isMore; ) {
      const builds = await staleBuilds(hosts.front, table, { tenantId })
      // Without builds it still waits for files that an interrupted call has left.
      const removed = await removeRows(hosts, table, builds.length === 0 ? '0' : isOneOf(builds), deadlineMs)
      isMore = builds.length === BUILDS_MAX
      if (!isMore) detachedParts += removed.detachedParts
    }
  }
  return detachedParts
}

/**
 * Removes all builds of a tenant without events.
 * @param condition chooses its rows
 * @returns number of parts that the servers have detached
 */
export async function removeAllBuilds(hosts: Hosts, condition: string, deadlineMs: number): Promise<number> {
  await untilBuilt(hosts, deadlineMs)
  let detachedParts = 0
  for (const table of DAY_TABLES) detachedParts += (await removeRows(hosts, table, condition, deadlineMs)).detachedParts
  return detachedParts
}

/**
 * Resolves when all builds have ended that run now: they may have read events that are gone. On one server the removal of events has waited
 * for them, because they hold its old parts. On a cluster another host may have released these long before a build ends.
 */
async function untilBuilt({ all }: Hosts, deadlineMs: number): Promise<void> {
  await onEach(all, async ({ client }) => {
    const running = `
      SELECT initial_query_id FROM system.processes
      WHERE startsWith(initial_query_id, ${quote(BUILD_ID)}) AND query_kind = 'Insert'`
    let left = new Set((await read<[string]>(client, running)).map(([id]) => id))
    const areOver = async () => {
      const now = new Set((await read<[string]>(client, running)).map(([id]) => id))
      left = new Set([...left].filter((id) => now.has(id)))
      return left.size === 0 || undefined
    }
    if (await poll(areOver, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
    throw new UnavailableError('ClickHouse still builds a day from events that are removed')
  })
}
