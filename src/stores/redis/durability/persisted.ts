import { readlinkSync } from 'node:fs'
import { Redis } from 'ioredis'
import type { RedisClient } from '../connect.ts'
import { AppendOnlyFile } from './append-only-file.ts'
import { appendOnlyLink } from './append-only-link.ts'

/** Of a connection that is there; null: Redis waits for its disk itself, or nobody is to. */
const files = new WeakMap<RedisClient, AppendOnlyFile | null>()

/**
 * Resolves when all that Redis has answered to this client is on disk. Called before anything leaves for the outside: an answer,
 * an insert, an object. At once where Redis waits for its disk itself, or is somebody else's.
 *
 * Redis has written to its file what it answers, but for a write that failed: then it answers once more, and refuses writes and
 * PING until it could make up for that. So PING is asked as well, on the same connection: over another one it might be the next
 * Redis that answers.
 *
 * Rejects when the connection, Redis' write or the disk fails: what was answered may be there or not. A disk that failed is
 * trusted again when Redis has written all it has anew.
 * @param isHot asks both at once: a round trip less, for answers of which many wait. On a connection of large answers Redis may answer
 *   before it writes; and what it wrote behind a first failure, before PING came, may be no part of that sync, but of the next.
 */
export async function persisted(client: RedisClient, isHot = false): Promise<void> {
  const file = fileOf(client)
  if (file === null) return
  try {
    const written = client.ping()
    if (!isHot) await written
    await Promise.all([written, file.synced()])
  } catch (error) {
    // While one is on its way it is refused.
    if (file.isBroken) client.call('BGREWRITEAOF').catch(() => {})
    throw error
  }
}

function fileOf(client: RedisClient): AppendOnlyFile | null {
  const known = files.get(client)
  if (known !== undefined) return known
  const dir = client instanceof Redis && client.options.path ? linked(appendOnlyLink(client.options.path)) : undefined
  const file = dir === undefined ? null : new AppendOnlyFile(dir)
  // Of no connection: the one that comes may be to a Redis that leaves it to us.
  if (file === null && client.status !== 'ready') return null
  // The next one may be started otherwise.
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
