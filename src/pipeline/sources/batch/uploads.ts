import { Type } from 'typebox'
import { BATCH_LIMITS, BatchAccepted, BatchJob } from '../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../schemas/api/event.ts'
import type { Exchange } from '../../../http/engine/exchange.ts'
import type { HttpResponse } from '../../../http/engine/response.ts'
import { foundJob } from '../../../http/route/job.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { pathParameter } from '../../../http/route/path-parameter.ts'
import type { Route } from '../../../http/route/route.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { BatchJobs } from '../../declaration/batch-jobs.ts'
import { ndjsonBody } from './ndjson-body.ts'
import { receiveUpload } from './receive-upload.ts'

/** `POST /v1/ingest/batch`: an upload is kept line by line while it arrives, and becomes a job when it is whole. */
export function uploadRoute(jobs: BatchJobs): Route {
  return {
    method: 'POST',
    path: '/v1/ingest/batch',
    access: 'key',
    bodyMaxBytes: BATCH_LIMITS.bodyMaxBytes,
    streamsBody: true,
    operation: uploadOperation,
    async handle(exchange: Exchange, caller: Caller): Promise<HttpResponse> {
      const commit = () => exchange.commit()
      const { jobId, received } = await receiveUpload(jobs, caller.tenant, ndjsonBody(exchange.stream()), { commit })
      return { status: 202, body: JSON.stringify({ job_id: jobId, status: 'queued', received }) }
    },
  }
}

/** `GET /v1/ingest/batch/{job_id}` */
export function batchJobRoute(jobs: BatchJobs): Route {
  return {
    method: 'GET',
    path: '/v1/ingest/batch/:job_id',
    access: 'key',
    operation: jobOperation,
    async handle(exchange: Exchange, caller: Caller): Promise<HttpResponse> {
      const job = foundJob(await jobs.find(caller.tenant.id, pathParameter(exchange.request, 'job_id')))
      return { status: 200, body: JSON.stringify(job) }
    },
  }
}

const JOB_ID = '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11'

const uploadOperation: Operation = {
  id: 'uploadBatch',
  summary: 'Uploads events, one a line, to be processed in the background',
  description:
    'Up to 1,000,000 lines, 100 MiB decoded and 1 MiB a line. Blank lines do not count; none but those is 400. Answers ' +
    'when the whole upload is stored; an upload that breaks off leaves nothing behind. A bad line stops nothing: it is ' +
    'counted by its reason, and the first 100 are named when the job is completed. A JSON array, or the body of ' +
    '/v1/ingest, is refused with 400. A tenant may have 10 jobs queued or running, unless the operator set another ' +
    'number; the next is 429.',
  body: { type: 'application/x-ndjson', schema: EventEnvelope, example: { ip: '203.0.113.7', event_id: '5d0a7c1e' } },
  responses: {
    202: {
      description: 'The job is queued',
      schema: BatchAccepted,
      example: { job_id: JOB_ID, status: 'queued', received: 1_000 },
    },
  },
  errors: [],
}

const jobOperation: Operation = {
  id: 'batchJob',
  summary: 'How far a batch job is',
  description: 'A record stays for 7 days after the end of its job.',
  parameters: [
    { name: 'job_id', in: 'path', required: true, description: 'As the upload was answered', schema: Type.String() },
  ],
  responses: {
    200: {
      description: 'The job; result_summary is null until it is completed',
      schema: BatchJob,
      example: {
        job_id: JOB_ID,
        status: 'running',
        progress_pct: 40,
        progress_current: 400,
        progress_total: 1_000,
        progress_message: '400 of 1000 events finished, 12 rejected (ip is required)',
        rejected: 12,
        rejected_reasons: [{ reason: 'ip is required', count: 12, lines: [3, 17, 40, 41, 60] }],
        problem: null,
        result_summary: null,
      },
    },
  },
  errors: [404],
}
