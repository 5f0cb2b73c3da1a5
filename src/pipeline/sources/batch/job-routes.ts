import { Type } from 'typebox'
import { BATCH_LIST_LIMITS, BatchJob, BatchJobList } from '../../../../schemas/api/batch.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { foundJob, foundPage } from '../../../http/route/job.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { pathParameter } from '../../../http/route/path-parameter.ts'
import { parseQuery, type Query, single } from '../../../http/route/query.ts'
import type { Route } from '../../../http/route/route.ts'
import { schemaError } from '../../../http/route/schema.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { BatchJobs } from '../../declaration/batch-jobs.ts'

/** `GET /v1/ingest/batch` */
export function batchJobsRoute(jobs: BatchJobs): Route {
  return {
    method: 'GET',
    path: '/v1/ingest/batch',
    access: 'key',
    operation: listOperation,
    async handle(exchange: Exchange, caller: Caller): Promise<HttpResponse> {
      const query = parseQuery(exchange.request.query)
      const page = { limit: limitOf(query), before: single(query, 'before') }
      return { status: 200, body: JSON.stringify(foundPage(await jobs.list(caller.tenant.id, page))) }
    },
  }
}

/** `POST /v1/ingest/batch/{job_id}/cancel` */
export function cancelBatchJobRoute(jobs: BatchJobs): Route {
  return {
    method: 'POST',
    path: '/v1/ingest/batch/:job_id/cancel',
    access: 'key',
    operation: cancelOperation,
    async handle(exchange: Exchange, caller: Caller): Promise<HttpResponse> {
      const job = foundJob(await jobs.cancel(caller.tenant.id, pathParameter(exchange.request, 'job_id')))
      if (job === 'ended') throw new HttpError(409, 'the job has ended already')
      return { status: 200, body: JSON.stringify(job) }
    },
  }
}

function limitOf(query: Query): number {
  const text = single(query, 'limit')
  if (text === undefined) return BATCH_LIST_LIMITS.jobs
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0
  if (limit >= 1 && limit <= BATCH_LIST_LIMITS.jobsMax) return limit
  throw schemaError([{ path: 'limit', message: `must be a whole number from 1 to ${BATCH_LIST_LIMITS.jobsMax}` }])
}

const JOB_ID = '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11'
const CANCELLED = {
  job_id: JOB_ID,
  status: 'failed',
  progress_pct: 40,
  progress_current: 400,
  progress_total: 1_000,
  progress_message: 'cancelled',
  rejected: 12,
  rejected_reasons: [{ reason: 'ip is required', count: 12, lines: [3, 17, 40, 41, 60] }],
  problem: null,
  result_summary: null,
}

const listOperation: Operation = {
  id: 'batchJobs',
  summary: 'The batch jobs of the tenant, the newest first',
  description: 'An extension. Jobs are listed as long as there is a record of them: for 7 days after their end.',
  parameters: [
    {
      name: 'limit',
      in: 'query',
      required: false,
      description: 'Jobs of the page',
      schema: Type.Integer({ minimum: 1, maximum: BATCH_LIST_LIMITS.jobsMax, default: BATCH_LIST_LIMITS.jobs }),
    },
    { name: 'before', in: 'query', required: false, description: 'next of the page before', schema: Type.String() },
  ],
  responses: {
    200: {
      description: 'A page; next is null on the last one',
      schema: BatchJobList,
      example: { jobs: [{ ...CANCELLED, received_at: '2026-11-22T08:00:00.000Z' }], next: null },
    },
  },
  errors: [422],
}

const cancelOperation: Operation = {
  id: 'cancelBatchJob',
  summary: 'Ends a batch job that has not ended',
  description:
    'An extension. The job is failed, with the message cancelled, and frees its place. What is stored stays, and what is in ' +
    'the pipeline already may still be stored; nothing further is fed. Cancelled once more, a job is answered as it is.',
  parameters: [
    { name: 'job_id', in: 'path', required: true, description: 'As the upload was answered', schema: Type.String() },
  ],
  responses: { 200: { description: 'The job', schema: BatchJob, example: CANCELLED } },
  errors: [404, 409],
}
