import { readlinkSync } from 'node:fs'
import { Redis } from 'ioredis'
import type { RedisClient } from '../connect.ts'
import { AppendOnlyFile, appendOnlyLink } from './append-only-file.ts'
import { replicasNeededBy, replicated } from './replicated.ts'

/** By open connection; null: this process need not sync. */
const files = new WeakMap<RedisClient, AppendOnlyFile | null>()

/**
 * Resolves when everything that Redis has answered to this client is on disk. Call it before anything leaves ipid: an answer, an
 * insert, an object. Resolves at once if Redis syncs by itself, or is not the embedded one. With `waitReplicas` in REDIS_URL it resolves
 * when the replicas have it.
 *
 * Redis writes to its file before it answers, unless the write fails. After a failure it still answers once, then refuses writes and
 * PING until it has written everything. So this sends PING too, on the same connection: another one may reach a restarted Redis.
 *
 * Rejects when the connection, a write of Redis or the disk fails. The answered data may then be on disk or not. After a failure of the
 * disk it rejects until Redis has rewritten its file.
 * @param options `isHot` sends PING and syncs at the same time. That saves a round trip, but the sync may miss data that Redis writes late: after a
 *   failed write, or after a large reply. The next sync has them. `losses`: those of the client (`lossesOf`) before the first of several
 *   writes; without it, the write must have been answered just now.
 */
export async function persisted(
  client: RedisClient,
  { isHot = false, losses }: { readonly isHot?: boolean; readonly losses?: number } = {},
): Promise<void> {
  if (replicasNeededBy(client) > 0) await replicated(client, losses)
  const file = fileOf(client)
  if (file === null) return
  try {
    const written = client.ping()
    if (!isHot) await written
    await Promise.all([written, file.synced()])
  } catch (error) {
    // Redis refuses this while a rewrite runs.
    if (file.isBroken) client.call('BGREWRITEAOF').catch(() => {})
    throw error
  }
}

function fileOf(client: RedisClient): AppendOnlyFile | null {
  const known = files.get(client)
  if (known !== undefined) return known
  const dir = client instanceof Redis && client.options.path ? linked(appendOnlyLink(client.options.path)) : undefined
  const file = dir === undefined ? null : new AppendOnlyFile(dir)
  // Does not remember this without a connection: the next connection may need syncs.
  if (file === null && client.status !== 'ready') return null
  // The next Redis may be started with other settings.
  if (client instanceof Redis) {
    client.once('close', () => {
      files.delete(client)
      void file?.close()
    })
  }
  files.set(client, file)
  return file
}

function linked(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}
