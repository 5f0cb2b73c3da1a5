import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { BatchSummary } from '../../../../schemas/api/batch.ts'
import { CANCELLED, freeChunks, RECORD_TTL_MS } from '../../../pipeline/sources/batch/redis/job-record.ts'
import { forgetBytes, removeTexts } from '../../../pipeline/sources/batch/redis/kept-lines.ts'
import { withoutQuote } from '../../../pipeline/sources/batch/rejected-lines.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { keysLike } from '../../../stores/redis/nodes.ts'
import { loadScript } from '../../../stores/redis/scripts.ts'

const cancelJobScript = loadScript(import.meta.url, '../../../pipeline/sources/batch/redis/cancelJob-1.lua')
const replaceSummaryScript = loadScript(import.meta.url, './replaceSummary-1.lua')
const unzip = promisify(gunzip)

/** Cancels the jobs that can be cancelled; the feeder frees their slots. */
export async function cancelJobs(client: RedisClient, tenantId: string, ids: readonly string[]): Promise<void> {
  for (const id of ids) await cancelJobScript.run(client, [keys.job(id)], [tenantId, RECORD_TTL_MS, CANCELLED])
}

/** Removes the records of a tenant's batch jobs, all of which have ended. Returns their number. */
export async function removeBatchJobs(client: RedisClient, tenantId: string, partitions: number): Promise<number> {
  let jobs = 0
  for (const id of await client.zrange(keys.batchesOf(tenantId), '0', '-1')) {
    jobs += await freeChunks(client, id, 'with record')
    await client.del(keys.jobErrors(id), keys.jobRejected(id))
    for (let partition = 0; partition < partitions; partition++) await client.del(keys.jobProgress(partition, id))
    await client.zrem(keys.endedBatches(), `${tenantId} ${id}`)
  }
  await client.del(keys.batchesOf(tenantId), keys.openJobsOf(tenantId), keys.spooledBytesOf(tenantId))
  await forgetBytes(client, tenantId)
  return jobs
}

/**
 * Removes the texts of invalid lines, and quotes of them in summaries, from a tenant's ended batch jobs, because a line that cannot be read
 * does not tell whose it is. Returns the number of jobs.
 */
export async function removeQuotes(client: RedisClient, tenantId: string): Promise<number> {
  let jobs = 0
  for (const id of await client.zrange(keys.batchesOf(tenantId), '0', '-1')) {
    const hadTexts = await removeTexts(client, id)
    const hadQuotes = await removeSummaryQuotes(client, id)
    if (hadTexts || hadQuotes) jobs++
  }
  return jobs
}

async function removeSummaryQuotes(client: RedisClient, id: string): Promise<boolean> {
  const text = await client.hget(keys.job(id), 'summary')
  if (text === null) return false
  const summary = JSON.parse(text) as BatchSummary
  const errors = summary.errors.map((error) => ({ ...error, detail: withoutQuote(error.detail) }))
  const changed = JSON.stringify({ ...summary, errors })
  if (changed === JSON.stringify(summary)) return false
  return (await replaceSummaryScript.run(client, [keys.job(id)], [text, changed])) === 1
}

/**
 * Removes bulk lookup jobs of a tenant.
 * @param isMeant gets the input and the results of a job
 */
export async function removeBulkJobs(
  client: RedisClient,
  tenantId: string,
  isMeant: (text: string) => boolean,
): Promise<number> {
  let removed = 0
  for await (const key of keysLike(client, keys.bulkJobPattern())) {
    const [tenant, work, results] = await client.hmgetBuffer(key, 'tenant', 'work', 'results')
    if (tenant?.toString() !== tenantId) continue
    const lines = results ? (await unzip(results)).toString() : ''
    if (isMeant(`${work ?? ''}\n${lines}`)) removed += await client.del(key)
  }
  return removed
}
