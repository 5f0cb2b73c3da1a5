import { Type } from 'typebox'
import { BATCH_LIST_LIMITS, BatchJob, JobList } from '../../../../schemas/api/batch.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { foundJob, foundPage } from '../../../http/route/job.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { pathParameter } from '../../../http/route/path-parameter.ts'
import { parseQuery, type Query, single } from '../../../http/route/query.ts'
import { schemaError } from '../../../http/route/schema.ts'
import type { SourceRoute } from '../../declaration/source.ts'

function limitOf(query: Query): number {
  const text = single(query, 'limit')
  if (text === undefined) return BATCH_LIST_LIMITS.jobs
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= BATCH_LIST_LIMITS.jobsMax) return limit
  throw schemaError([{ path: 'limit', message: `must be a whole number from 1 to ${BATCH_LIST_LIMITS.jobsMax}` }])
}

/** The last job of the page before. @throws HttpError 422 when both names are given */
function cursorOf(query: Query): string | undefined {
  const [cursor, before] = [single(query, 'cursor'), single(query, 'before')]
  if (before === undefined) return cursor
  if (cursor === undefined) return before
  throw schemaError([{ path: 'before', message: 'is the earlier name of cursor: give one of them' }])
}

const RUNNING = {
  job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11',
  status: 'running',
  progress_pct: 40,
  progress_current: 400,
  progress_total: 1_000,
  progress_message: '400 of 1000 events finished, 12 rejected (ip is required)',
  rejected: 12,
  rejected_reasons: [{ reason: 'ip is required', count: 12, lines: [3, 17, 40, 41, 60] }],
  problem: null,
  result_summary: null,
}
const CANCELLED = { ...RUNNING, status: 'failed', progress_message: 'cancelled' }
const PARAMETERS = [
  {
    name: 'job_id',
    in: 'path' as const,
    required: true,
    description: 'From the answer to the upload',
    schema: Type.String(),
  },
]

const listOperation: Operation = {
  id: 'batchJobs',
  summary: 'Lists the batch jobs of the tenant, newest first',
  description: 'An extension. A job is listed until 7 days after its end.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'Jobs per page',
      schema: Type.Integer({ minimum: 1, maximum: BATCH_LIST_LIMITS.jobsMax, default: BATCH_LIST_LIMITS.jobs }),
    },
    {
      name: 'cursor',
      in: 'query',
      required: false,
      description: '`next_cursor` of the page before',
      schema: Type.String(),
    },
    {
      name: 'before',
      in: 'query',
      required: false,
      description: 'The name of `cursor` in version 0.2',
      schema: Type.String(),
      deprecated: true,
    },
  ],
  responses: {
    200: {
      description: 'A page; next_cursor is null on the last one',
      schema: JobList,
      example: { jobs: [{ ...CANCELLED, received_at: '2026-11-22T08:00:00.000Z' }], next_cursor: null, next: null },
    },
  },
  errors: [422],
}

const cancelOperation: Operation = {
  id: 'cancelBatchJob',
  summary: 'Cancels a batch job that has not ended',
  description:
    'An extension. The job fails with the message cancelled, and no longer counts against the limit of open jobs. Stored ' +
    'events stay, and events already in the pipeline may still be stored. No further line enters the pipeline. ' +
    'A job that was cancelled before is answered unchanged.',
  parameters: PARAMETERS,
  responses: { 200: { description: 'The job', schema: BatchJob, example: CANCELLED } },
  errors: [404, 409],
}

const jobOperation: Operation = {
  id: 'batchJob',
  summary: 'Shows the progress of a batch job',
  description: 'A job is kept for 7 days after its end.',
  parameters: PARAMETERS,
  responses: {
    200: {
      description: 'The job; result_summary is null until it is completed',
      schema: BatchJob,
      example: RUNNING,
    },
  },
  errors: [404],
}

/** `GET /v1/ingest/batch/{job_id}` */
export const batchJobRoute: SourceRoute = {
  method: 'GET',
  path: '/v1/ingest/batch/:job_id',
  operation: jobOperation,
  open({ jobs }) {
    return async (exchange, caller) => {
      const job = foundJob(await jobs.find(caller.tenant.id, pathParameter(exchange.request, 'job_id')))
      return { status: 200, body: JSON.stringify(job) }
    }
  },
}

/** `GET /v1/ingest/batch` */
export const batchJobsRoute: SourceRoute = {
  method: 'GET',
  path: '/v1/ingest/batch',
  operation: listOperation,
  open({ jobs }) {
    return async (exchange, caller) => {
      const query = parseQuery(exchange.request.query)
      const before = cursorOf(query)
      const listed = await jobs.list(caller.tenant.id, { limit: limitOf(query), before })
      const page = foundPage(listed, query.has('before') ? 'before' : 'cursor')
      return { status: 200, body: JSON.stringify({ ...page, next_cursor: page.next } satisfies JobList) }
    }
  },
}

/** `POST /v1/ingest/batch/{job_id}/cancel` */
export const cancelBatchJobRoute: SourceRoute = {
  method: 'POST',
  path: '/v1/ingest/batch/:job_id/cancel',
  operation: cancelOperation,
  open({ jobs }) {
    return async (exchange, caller) => {
      const job = foundJob(await jobs.cancel(caller.tenant.id, pathParameter(exchange.request, 'job_id')))
      if (job === 'ended') throw new HttpError('job_ended', 'the job has ended already')
      return { status: 200, body: JSON.stringify(job) }
    }
  },
}
