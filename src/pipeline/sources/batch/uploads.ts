import { BATCH_LIMITS, BatchAccepted } from '../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../schemas/api/event.ts'
import type { Operation } from '../../../http/route/operation.ts'
import type { Source, SourceRoute } from '../../declaration/source.ts'
import { batchJobRoute, batchJobsRoute, cancelBatchJobRoute } from './job-routes.ts'
import { ndjsonBody } from './ndjson-body.ts'
import { readChunk } from './read-chunk.ts'
import { receiveUpload } from './receive-upload.ts'

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
      example: { job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11', status: 'queued', received: 1_000 },
    },
  },
  errors: [],
}

/** `POST /v1/ingest/batch`: an upload is kept line by line while it arrives, and becomes a job when it is whole. */
const uploadRoute: SourceRoute = {
  method: 'POST',
  path: '/v1/ingest/batch',
  bodyMaxBytes: BATCH_LIMITS.bodyMaxBytes,
  streamsBody: true,
  operation: uploadOperation,
  open({ jobs }) {
    return async (exchange, caller) => {
      const commit = () => exchange.commit()
      const { jobId, received } = await receiveUpload(jobs, caller.tenant, ndjsonBody(exchange.stream()), { commit })
      return { status: 202, body: JSON.stringify({ job_id: jobId, status: 'queued', received }) }
    }
  },
}

/** Uploads of NDJSON, through the API and the dashboard, and the jobs that they become. */
export const uploads: Source = {
  name: 'uploads',
  lane: 'batch',
  routes: [uploadRoute, batchJobRoute, batchJobsRoute, cancelBatchJobRoute],
  read: readChunk,
}
