import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { wholeUntil } from '../../../../run/cut-text.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { loadScript } from '../../../../stores/redis/scripts.ts'
import { withoutTexts } from '../rejected-lines.ts'
import { packLines, unpackLines, unpackSlowly } from './packed-lines.ts'

const forgetRejectedScript = loadScript(import.meta.url, './forgetRejected-3.lua')
const replaceRejectedScript = loadScript(import.meta.url, './replaceRejected-1.lua')

/** Bytes of `RejectedLines` that one part may have: 256 Ki characters, and a last line, each of whose bytes may become six in JSON. */
const PART_BYTES_MAX = 3 * 262_144 + 8 * BATCH_LIMITS.rejectedTextMaxBytes
/** Most characters of a piece. Two of them are decoded ahead of the reader at most. */
const PIECE_CHARS = 65_536

/**
 * The first parts of a job's rejected lines, as NDJSON of `RejectedLine`, in pieces of at most 64 KiB. Holds one part compressed, and decodes it
 * as fast as it is read: many slow readers must not fill the memory.
 * @throws when they have expired meanwhile
 */
export async function* keptPieces(
  client: RedisClient,
  jobId: string,
  count: number,
): AsyncGenerator<string, void, void> {
  for (let part = 0; part < count; part++) {
    const packed = await client.lindexBuffer(keys.jobRejected(jobId), part)
    if (packed === null) throw new Error('the rejected lines of the job have expired')
    const lines = unpackSlowly(packed).setEncoding('utf8') as AsyncIterable<string>
    for await (const text of lines) {
      for (let at = 0, end = 0; at < text.length; at = end) {
        end = wholeUntil(text, at + PIECE_CHARS)
        yield text.slice(at, end)
      }
    }
  }
}

/** Removes the texts of a job's rejected lines. Their numbers and faults stay. May be repeated. @returns whether there were any */
export async function removeTexts(client: RedisClient, jobId: string): Promise<boolean> {
  let isChanged = false
  const key = keys.jobRejected(jobId)
  const count = await client.llen(key)
  for (let part = 0; part < count; part++) {
    const packed = await client.lindexBuffer(key, part)
    if (packed === null) break
    const text = (await unpackLines(packed, PART_BYTES_MAX)).toString()
    const bare = withoutTexts(text)
    if (bare === text) continue
    const replaced = await replaceRejectedScript.run(client, [key], [part, await packLines(Buffer.from(bare))])
    if (replaced === 0) break
    isChanged = true
  }
  return isChanged
}

/** Forgets how many bytes of rejected lines a tenant has, whose jobs are removed. May be repeated. */
export async function forgetBytes(client: RedisClient, tenantId: string): Promise<void> {
  const names = [keys.rejectedBytesOf(tenantId), keys.rejectedUntil(tenantId), keys.rejectedBytes()]
  await forgetRejectedScript.run(client, names, [tenantId])
}
