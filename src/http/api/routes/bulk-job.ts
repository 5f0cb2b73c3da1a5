import { Type } from 'typebox'
import { BulkJob, BulkResult } from '../../../../schemas/api/bulk.ts'
import type { BulkJobState, BulkJobs } from '../../../lookup/bulk.ts'
import { wholeUntil } from '../../../run/cut-text.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import { type HttpResponse, NDJSON_TYPE } from '../../engine/response.ts'
import { isNamed } from '../../route/accept.ts'
import { foundJob } from '../../route/job.ts'
import type { Operation } from '../../route/operation.ts'
import { pathParameter } from '../../route/path-parameter.ts'
import type { Route } from '../../route/route.ts'

/** Characters that are written to the connection at once. */
const PIECE_CHARS = 16_384

/** `GET /v1/bulk/{job_id}`: progress and results of a job. */
export function bulkJobRoute(bulkJobs: BulkJobs): Route {
  return {
    method: 'GET',
    path: '/v1/bulk/:job_id',
    access: 'key',
    operation,
    async handle(exchange: Exchange, caller: Caller): Promise<HttpResponse> {
      const jobId = pathParameter(exchange.request, 'job_id')
      const job = foundJob(await bulkJobs.find(caller.tenant.id, jobId))
      if (job.lines === undefined) return { status: 200, body: jobJson(jobId, job) }
      if (isNamed(NDJSON_TYPE, exchange.request.head.accept)) {
        return { status: 200, type: NDJSON_TYPE, body: inPieces(job.lines) }
      }
      return { status: 200, body: inPieces(jobJson(jobId, job)) }
    },
  }
}

function jobJson(jobId: string, { status, current, total, lines, label }: BulkJobState): string {
  const results = lines === undefined ? 'null' : `[${lines.trimEnd().replaceAll('\n', ',')}]`
  return (
    `{"job_id":${JSON.stringify(jobId)},"status":"${status}","progress_current":${current},` +
    `"progress_total":${total},${label === undefined ? '' : `"label":${JSON.stringify(label)},`}"results":${results}}`
  )
}

async function* inPieces(text: string): AsyncGenerator<string, void, void> {
  for (let at = 0; at < text.length; ) {
    const end = wholeUntil(text, Math.min(text.length, at + PIECE_CHARS))
    yield text.slice(at, end)
    at = end
  }
}

const operation: Operation = {
  id: 'bulkJob',
  summary: 'Progress and results of a bulk lookup job',
  description:
    'Results are kept for 24 hours after the job ends. With accept: application/x-ndjson, a completed job is answered as plain ' +
    'lines, one result each.',
  parameters: [
    {
      name: 'job_id',
      in: 'path',
      required: true,
      description: 'The id from the response that queued the job',
      schema: Type.String(),
    },
  ],
  responses: {
    200: {
      description: 'The job; results is null until it is completed',
      schema: BulkJob,
      also: { type: NDJSON_TYPE, schema: BulkResult, example: { ip: 'no address', status: 'invalid_ip' } },
      example: {
        job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11',
        status: 'running',
        progress_current: 128,
        progress_total: 512,
        results: null,
      },
    },
  },
  errors: [404],
}
