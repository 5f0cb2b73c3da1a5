import { Type } from 'typebox'
import {
  BATCH_LIMITS,
  BATCH_LIST_LIMITS,
  BATCH_STATUSES,
  BatchJob,
  BatchStatus,
  JobList,
  RejectedLine,
} from '../../../../schemas/api/batch.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { type HttpResponse, NDJSON_TYPE } from '../../../http/engine/response.ts'
import { foundJob, foundPage } from '../../../http/route/job.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { pathParameter } from '../../../http/route/path-parameter.ts'
import { parseQuery, type Query, single } from '../../../http/route/query.ts'
import { schemaError } from '../../../http/route/schema.ts'
import { type SlotLimits, TenantSlots } from '../../../run/tenant-slots.ts'
import type { RejectedOfJob } from '../../declaration/batch-jobs.ts'
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

function statusOf(query: Query): BatchStatus | undefined {
  const text = single(query, 'status')
  const status = BATCH_STATUSES.find((known) => known === text)
  if (status === undefined && text !== undefined)
    throw schemaError([{ path: 'status', message: `must be ${BATCH_STATUSES.join(', ')}` }])
  return status
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
  rejected_lines: { kept: 12, complete: false, expires_at: null },
  cancelled: false,
  label: 'crm-export',
  stored: 380,
  started_at: '2026-11-22T08:00:01.000Z',
  ended_at: null,
  problem: null,
  result_summary: null,
}
const CANCELLED = {
  ...RUNNING,
  status: 'failed',
  progress_message: 'cancelled',
  rejected_lines: { kept: 12, complete: true, expires_at: '2026-11-23T08:00:09.000Z' },
  cancelled: true,
  ended_at: '2026-11-22T08:00:09.000Z',
}
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
  description:
    'An extension. A job is listed until 7 days after its end. With status or label, a page may have fewer jobs than limit, and not be the ' +
    'last one: read pages until next_cursor is null.',
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
    { name: 'status', in: 'query', required: false, description: 'Only jobs with this status', schema: BatchStatus },
    { name: 'label', in: 'query', required: false, description: 'Only jobs with this label', schema: Type.String() },
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

const {
  rejectedHours,
  rejectedLinesMax,
  rejectedBytesMax,
  rejectedTenantBytesMax,
  rejectedAllBytesMax,
  rejectedTextMaxBytes,
} = BATCH_LIMITS

/** Answers of rejected lines that are being read, in one process. */
export const REJECTED_ANSWERS: SlotLimits = {
  ...{ ofTenant: 4, all: 64, waitingOfTenant: 0, waitMaxMs: 0 },
  refusal: 'too many answers of rejected lines are being read: finish one first',
  ...{ retrySeconds: 5, limit: 'requests' },
}

const rejectedOperation: Operation = {
  id: 'rejectedLines',
  summary: 'Streams the rejected lines of a batch job',
  description:
    'An extension. One JSON object per line, in the order of the upload: lines that are no events, and those whose ip is no address. ' +
    `Until the job has ended, those so far; then for ${rejectedHours} hours. The first ${rejectedLinesMax} lines of a job are kept, up to ` +
    `${rejectedBytesMax / 2 ** 20} MiB compressed, and ${rejectedTenantBytesMax / 2 ** 20} MiB of the jobs of a tenant together, ` +
    `fewer while those of all tenants have nearly ${rejectedAllBytesMax / 2 ** 20} MiB. ` +
    'The headers, and `rejected_lines` of the job, say whether these are all. Lines have no text for a tenant that does not store ' +
    `addresses in full, and after an erasure. Of a line the first ${rejectedTextMaxBytes} bytes are kept: text_cut. A tenant may read ` +
    `${REJECTED_ANSWERS.ofTenant} answers at a time.`,
  parameters: PARAMETERS,
  responses: {
    200: {
      description: 'One rejected line per line; empty when there are none',
      type: NDJSON_TYPE,
      schema: RejectedLine,
      headers: {
        'X-Rejected-Lines': 'Number of lines in this answer',
        'X-Rejected-Complete':
          'true: the job has ended, and these are all of its rejected lines. false: not yet, or they passed a limit',
      },
      example: { line: 17, code: 'schema', detail: 'ip is required', text: '{"event_id":"a1"}' },
    },
  },
  errors: [404],
}

/** `GET /v1/ingest/batch/{job_id}/rejected` */
export const rejectedLinesRoute: SourceRoute = {
  method: 'GET',
  path: '/v1/ingest/batch/:job_id/rejected',
  operation: rejectedOperation,
  open({ jobs }) {
    const slots = new TenantSlots(REJECTED_ANSWERS)
    return async (exchange, caller) => {
      const { id } = caller.tenant
      return rejectedAnswer(await jobs.rejected(id, pathParameter(exchange.request, 'job_id')), id, slots)
    }
  },
}

/**
 * The first piece of its body throws `BackpressureError` while no slot is free.
 * @throws HttpError 404
 */
export function rejectedAnswer(
  found: RejectedOfJob | 'expired' | undefined,
  tenantId: string,
  slots: TenantSlots,
): HttpResponse {
  const rejected = foundJob(found)
  if (rejected === 'expired')
    throw new HttpError(
      'rejected_lines_expired',
      `rejected lines are kept for ${rejectedHours} hours after the end of a job`,
    )
  const { kept, complete, pieces } = rejected
  const headers = { 'x-rejected-lines': String(kept), 'x-rejected-complete': String(complete) }
  return { status: 200, type: NDJSON_TYPE, headers, body: slots.pass(tenantId, pieces) }
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
      const page = {
        ...{ limit: limitOf(query), before: cursorOf(query) },
        ...{ status: statusOf(query), label: single(query, 'label') },
      }
      const listed = foundPage(await jobs.list(caller.tenant.id, page), query.has('before') ? 'before' : 'cursor')
      return { status: 200, body: JSON.stringify({ ...listed, next_cursor: listed.next } satisfies JobList) }
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
