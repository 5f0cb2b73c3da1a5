import type { ClickHouseClient } from '@clickhouse/client'
import { UnavailableError } from '../../run/errors.ts'
import { poll } from '../../run/loop.ts'
import { type Hosts, onEach } from './hosts.ts'

/** The table in memory that holds the search values while rows are removed. */
export const ERASING = 'erasing'

/** Drops the search values on a host, unless a mutation still needs them: it would fail for ever. */
export async function dropErasing(client: ClickHouseClient): Promise<void> {
  const query = `
    SELECT mutation_id FROM system.mutations
    WHERE database = currentDatabase() AND NOT is_done AND command LIKE '%${ERASING}%'`
  if ((await texts(client, query)).length > 0) return
  await client.command({ query: `DROP TABLE IF EXISTS ${ERASING} SYNC` })
}

/** Number of removed rows, and of parts that the server has detached. */
interface Removal {
  readonly rows: number
  readonly detachedParts: number
}

const LOOK_EVERY_MS = 200

/**
 * ClickHouse keeps replaced parts for 8 minutes, because it does not sync to disk. While rows are removed it syncs, and
 * keeps them for a second.
 */
const REMOVING = { old_parts_lifetime: 1, min_rows_to_fsync_after_merge: 1, fsync_part_directory: 1 } as const

/**
 * Stays set. ClickHouse would remove a part that lost all its rows, and its insert tokens with it: a sink that was
 * interrupted during an insert could bring the rows back.
 */
const KEEPING_TOKENS = { remove_empty_parts: 0 } as const

/** A partition that no table has: dropping it makes ClickHouse check for removable parts at once. */
const NO_PARTITION = '000000'

/**
 * Removes rows of a table on all its hosts, and resolves when no file contains them. Parts without matching rows are not rewritten.
 * @param condition may read `ERASING`
 * @throws UnavailableError on timeout; call it again to continue
 */
export async function removeRows(hosts: Hosts, table: string, condition: string, deadlineMs: number): Promise<Removal> {
  const holder = hosts.holder(table)
  const settings = Object.entries({ ...REMOVING, ...KEEPING_TOKENS }).map(([name, value]) => `${name} = ${value}`)
  const alterAll = (change: string) =>
    onEach(hosts.all, ({ client }) => client.command({ query: `ALTER TABLE ${holder} ${change}` }))
  const matching = (from: string) => `SELECT count() FROM ${from} WHERE ${condition}`
  try {
    await alterAll(`MODIFY SETTING ${settings.join(', ')}`)
    // Wait for mutations of an earlier call, which would be repeated otherwise.
    await onEach(hosts.all, ({ client }) => untilMutated(client, holder, deadlineMs))
    const rows = await count(hosts.front, matching(table))
    await onEach(hosts.shards, async ([{ client }, ...replicas]) => {
      if ((await count(client, matching(holder))) === 0) return
      const query = `ALTER TABLE ${holder} DELETE WHERE ${condition}`
      await client.command({ query, clickhouse_settings: { mutations_sync: '0', allow_nondeterministic_mutations: 1 } })
      const [last] = await texts(client, lastMutation(holder))
      await untilMutated(client, holder, deadlineMs)
      for (const replica of replicas) await untilMutated(replica.client, holder, deadlineMs, last)
    })
    const detached = `SELECT count() FROM system.detached_parts WHERE database = currentDatabase() AND table = '${holder}'`
    const parts = await onEach(hosts.all, async ({ client }) => {
      await untilOldPartsGone(client, holder, deadlineMs)
      return await count(client, detached)
    })
    return { rows, detachedParts: parts.reduce((sum, of) => sum + of, 0) }
  } finally {
    await alterAll(`RESET SETTING ${Object.keys(REMOVING).join(', ')}`)
  }
}

/** The newest mutation of a table; empty when there is none. Replicas give it the same id. */
export function lastMutation(table: string): string {
  return `SELECT max(mutation_id) FROM system.mutations WHERE database = currentDatabase() AND table = '${table}'`
}

/** @param last id of a mutation that a replica may not know yet */
async function untilMutated(client: ClickHouseClient, table: string, deadlineMs: number, last = ''): Promise<void> {
  const query = `
    SELECT latest_fail_reason FROM system.mutations
    WHERE database = currentDatabase() AND table = '${table}' AND NOT is_done AND command LIKE '%DELETE WHERE%'`
  let reason = ''
  const isDone = async () => {
    const [known = ''] = last === '' ? [] : await texts(client, lastMutation(table))
    const open = await texts(client, query)
    reason = open[0] ?? ''
    return (open.length === 0 && known >= last) || undefined
  }
  if (await poll(isDone, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
  throw new UnavailableError(`ClickHouse has not removed the rows in time${reason === '' ? '' : `: ${reason}`}`)
}

/**
 * Waits until replaced parts are gone. Parts whose files are being removed are listed only to queries that name their
 * state.
 */
async function untilOldPartsGone(client: ClickHouseClient, table: string, deadlineMs: number): Promise<void> {
  const oldParts = `
    SELECT name FROM system.parts
    WHERE database = currentDatabase() AND table = '${table}' AND _state IN ('Outdated', 'Deleting', 'DeleteOnDestroy')`
  let old = await texts(client, oldParts)
  const areGone = async () => {
    await client.command({ query: `ALTER TABLE ${table} DROP PARTITION ID '${NO_PARTITION}'` })
    const left = new Set(await texts(client, oldParts))
    old = old.filter((name) => left.has(name))
    return old.length === 0 || undefined
  }
  if (await poll(areGone, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
  throw new UnavailableError(`ClickHouse still has ${old.length} old parts of ${table}: a query may be reading them`)
}

async function texts(client: ClickHouseClient, query: string): Promise<string[]> {
  const result = await client.query({ query, format: 'JSONCompactEachRow' })
  return (await result.json<[string]>()).map(([text]) => text)
}

async function count(client: ClickHouseClient, query: string): Promise<number> {
  return Number((await texts(client, query))[0] ?? 0)
}
