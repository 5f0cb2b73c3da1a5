import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { BatchSummary } from '../../../schemas/api/batch.ts'
import { NOT_JSON } from '../../batch/read-chunk.ts'
import { namesAddress } from '../../erasure/selector.ts'
import type { RedisClient } from '../connect.ts'
import { keys } from '../keys.ts'
import { loadScript } from '../scripts.ts'
import { keysLike } from './nodes.ts'

const replaceSummaryScript = loadScript('replaceSummary-1')
const unzip = promisify(gunzip)

/**
 * Takes out of the summaries of a tenant's ended batch jobs what they quote of lines that are no JSON: nobody can tell by a
 * piece of a line whose it is. Returns the number of jobs.
 */
export async function removeQuotes(client: RedisClient, tenantId: string): Promise<number> {
  let jobs = 0
  for (const id of await client.zrange(keys.batchesOf(tenantId), '0', '-1')) {
    const text = await client.hget(keys.job(id), 'summary')
    if (text === null) continue
    const summary = JSON.parse(text) as BatchSummary
    const errors = summary.errors.map((error) => ({ ...error, detail: withoutQuote(error.detail) }))
    const changed = JSON.stringify({ ...summary, errors })
    if (changed === JSON.stringify(summary)) continue
    jobs += Number(await replaceSummaryScript.run(client, [keys.job(id)], [text, changed]))
  }
  return jobs
}

function withoutQuote(detail: string): string {
  return detail.startsWith(NOT_JSON) ? NOT_JSON : detail
}

/** Removes the bulk lookup jobs of a tenant that have the address among theirs. */
export async function removeBulkJobs(client: RedisClient, tenantId: string, address: string): Promise<number> {
  let removed = 0
  for await (const key of keysLike(client, keys.bulkJobPattern())) {
    const [tenant, work, results] = await client.hmgetBuffer(key, 'tenant', 'work', 'results')
    if (tenant?.toString() !== tenantId) continue
    const lines = results ? (await unzip(results)).toString() : ''
    if (namesAddress(`${work ?? ''}\n${lines}`, address)) removed += await client.del(key)
  }
  return removed
}
