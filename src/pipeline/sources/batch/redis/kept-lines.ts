import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { withoutTexts } from '../rejected-lines.ts'
import { packLines, unpackLines } from './packed-lines.ts'

/** A part is small, or has one line, each of whose bytes may become six in JSON. */
const PART_BYTES_MAX = 8 * BATCH_LIMITS.lineMaxBytes

/**
 * The first parts of a job's rejected lines, as NDJSON of `RejectedLine`. Holds one at a time.
 * @throws when they have expired meanwhile
 */
export async function* keptParts(
  client: RedisClient,
  jobId: string,
  count: number,
): AsyncGenerator<string, void, void> {
  for (let part = 0; part < count; part++) {
    const packed = await client.lindexBuffer(keys.jobRejected(jobId), part)
    if (packed === null) throw new Error('the rejected lines of the job have expired')
    yield (await unpackLines(packed, PART_BYTES_MAX)).toString()
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
    await client.lset(key, part, await packLines(Buffer.from(bare)))
    isChanged = true
  }
  return isChanged
}
