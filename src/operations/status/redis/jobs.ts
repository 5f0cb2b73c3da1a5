import type { RawEntry } from '../../../pipeline/streams/entries.ts'
import type { RedisClient } from '../../../stores/redis/connect.ts'
import { keys } from '../../../stores/redis/keys.ts'
import { scanPages } from '../../../stores/redis/nodes.ts'
import type { JobsStatus, OpenJobStatus } from '../system-status.ts'

/** Maximum number of jobs to read. With more, HSCAN decides which. */
const JOBS_MAX = 1_000
const SCAN_COUNT = 250
const SHOWN_MAX = 20

const BATCH_FIELDS = ['status', 'received', 'received_at', 'fed', 'rejected', 'invalid_ip'] as const

/** Unfinished batch jobs of all tenants. */
export async function readBatchJobs(client: RedisClient, nowMs = Date.now()): Promise<JobsStatus> {
  const open = await openJobs(client)
  const records = await Promise.all(
    open.map(async ([id, tenant]) => ({ id, tenant, record: await client.hmget(keys.job(id), ...BATCH_FIELDS) })),
  )
  let uploading = 0
  const jobs: OpenJobStatus[] = []
  for (const { id, tenant, record } of records) {
    const [status, received, receivedAt, ...taken] = record
    if (status == null) uploading++
    if (status !== 'queued' && status !== 'running') continue
    const lines = Number(received)
    const read = taken.reduce((sum, value) => sum + Number(value ?? 0), 0)
    jobs.push({
      ...{ job_id: id, tenant_id: tenant, status, lines },
      lines_waiting: Math.max(0, lines - read),
      age_ms: Math.max(0, nowMs - Number(receivedAt)),
    })
  }
  return { ...sumOf(jobs), uploading }
}

async function openJobs(client: RedisClient): Promise<[id: string, tenant: string][]> {
  const found = new Map<string, string>()
  const pages = scanPages((cursor) => client.hscan(keys.openJobs(), cursor, 'COUNT', SCAN_COUNT))
  for await (const pairs of pages) {
    for (let i = 0; i < pairs.length; i += 2) found.set(pairs[i]!, pairs[i + 1]!)
    if (found.size >= JOBS_MAX) break
  }
  return [...found]
}

const BULK_FIELDS = ['status', 'total', 'current'] as const

/** Unfinished bulk lookup jobs. The stream has an entry for each. */
export async function readBulkJobs(client: RedisClient, nowMs = Date.now()): Promise<JobsStatus> {
  const name = keys.bulkJobs()
  const [count, entries] = await Promise.all([
    client.xlen(name),
    client.callBuffer('XRANGE', name, '-', '+', 'COUNT', JOBS_MAX) as Promise<RawEntry[]>,
  ])
  const jobs = await Promise.all(
    entries.map(async ([id, fields]): Promise<OpenJobStatus> => {
      const [, jobId = '', , tenant = ''] = (fields ?? []).map(String)
      const [status, total, current] = await client.hmget(keys.bulkJob(jobId), ...BULK_FIELDS)
      const lines = Number(total ?? 0)
      return {
        ...{ job_id: jobId, tenant_id: tenant, status: status === 'running' ? 'running' : 'queued', lines },
        lines_waiting: Math.max(0, lines - Number(current ?? 0)),
        age_ms: Math.max(0, nowMs - Number(String(id).split('-')[0])),
      }
    }),
  )
  const found = sumOf(jobs)
  return { ...found, queued: found.queued + Math.max(0, count - jobs.length) }
}

function sumOf(jobs: OpenJobStatus[]): JobsStatus {
  jobs.sort((a, b) => b.age_ms - a.age_ms)
  const sum = (value: (job: OpenJobStatus) => number) => jobs.reduce((total, job) => total + value(job), 0)
  return {
    uploading: 0,
    queued: sum(({ status }) => (status === 'queued' ? 1 : 0)),
    running: sum(({ status }) => (status === 'running' ? 1 : 0)),
    lines: sum(({ lines }) => lines),
    lines_waiting: sum(({ lines_waiting: lines }) => lines),
    oldest_ms: jobs[0]?.age_ms ?? 0,
    oldest_jobs: jobs.slice(0, SHOWN_MAX),
  }
}
