import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Redis } from 'ioredis'
import { UnavailableError } from '../../../run/errors.ts'
import { poll } from '../../../run/loop.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { APPEND_ONLY_MANIFEST, appendedFiles, baseFiles } from '../../../stores/redis/durability/append-only-file.ts'
import { replyCode } from '../../../stores/redis/errors.ts'
import { mastersOf } from '../../../stores/redis/nodes.ts'
import type { RewrittenFiles } from '../ports.ts'

const LOOK_EVERY_MS = 50
/** Folder of Redis' append-only file, below its data folder. */
const AOF_FOLDER = 'appendonlydir'

/**
 * Makes every server rewrite its append-only file from memory, so that no file holds removed data. An external server may
 * refuse.
 * @param folder of an embedded server, whose old files must be gone
 */
export async function rewriteFiles(
  client: RedisClient,
  folder: string | undefined,
  deadlineMs: number,
): Promise<RewrittenFiles> {
  const results: RewrittenFiles[] = []
  for (const node of mastersOf(client)) results.push(await rewriteNode(node, deadlineMs))
  if (folder !== undefined) await untilOldFilesGone(join(folder, AOF_FOLDER), deadlineMs)
  return results.find((result) => result === 'refused') ?? results.find((result) => result === 'rewritten') ?? 'none'
}

async function rewriteNode(node: Redis, deadlineMs: number): Promise<RewrittenFiles> {
  try {
    const before = await persistence(node)
    if (before.get('aof_enabled') !== '1') return 'none'
    // A rewrite in progress may have begun before the removal, and another child process blocks a new one.
    await untilQuiet(node, deadlineMs)
    await node.bgrewriteaof()
    const after = await untilQuiet(node, deadlineMs)
    if (after.get('aof_last_bgrewrite_status') === 'ok') return 'rewritten'
  } catch (error) {
    if (!['ERR', 'NOPERM', 'NOAUTH'].includes(replyCode(error) ?? '')) throw error
    return 'refused'
  }
  throw new UnavailableError('Redis could not rewrite its append-only file: see its log')
}

async function untilQuiet(node: Redis, deadlineMs: number): Promise<ReadonlyMap<string, string>> {
  const isQuiet = async () => {
    const info = await persistence(node)
    const fields = ['aof_rewrite_in_progress', 'aof_rewrite_scheduled', 'rdb_bgsave_in_progress']
    return fields.every((field) => info.get(field) !== '1') ? info : undefined
  }
  const info = await poll(isQuiet, { everyMs: LOOK_EVERY_MS, deadlineMs })
  if (info === undefined) throw new UnavailableError('Redis did not rewrite its append-only file in time')
  return info
}

async function persistence(node: Redis): Promise<Map<string, string>> {
  const text = await node.info('persistence')
  return new Map(text.split('\r\n').map((line) => line.split(':', 2) as [string, string]))
}

/** Redis removes them in the background. */
async function untilOldFilesGone(folder: string, deadlineMs: number): Promise<void> {
  const areGone = async () => {
    const manifest = await readFile(join(folder, APPEND_ONLY_MANIFEST), 'utf8').catch(() => '')
    const named = [APPEND_ONLY_MANIFEST, ...baseFiles(manifest), ...appendedFiles(manifest)]
    const left = (await readdir(folder)).filter((name) => !named.includes(name))
    return left.length === 0 || undefined
  }
  if (await poll(areGone, { everyMs: LOOK_EVERY_MS, deadlineMs })) return
  throw new UnavailableError(`files of an earlier append-only file are still in ${folder}`)
}
