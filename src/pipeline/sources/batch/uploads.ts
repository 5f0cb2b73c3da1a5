import { createHash, type Hash } from 'node:crypto'
import { Type } from 'typebox'
import { BATCH_LIMITS, BatchAccepted } from '../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../schemas/api/event.ts'
import {
  assertRepeat,
  IDEMPOTENCY_PARAMETER,
  idempotencyKeyOf,
  keyInUse,
  REPLAYED,
  REPLAYED_HEADER,
} from '../../../http/route/idempotency.ts'
import { assertLabel, LABEL_PARAMETER } from '../../../http/route/label.ts'
import type { Operation } from '../../../http/route/operation.ts'
import { assertParameters, parseQuery, single } from '../../../http/route/query.ts'
import type { Source, SourceRoute } from '../../declaration/source.ts'
import { csvBody, csvChoice } from './csv-body.ts'
import { FILE_LIMITS } from './files/converted-file.ts'
import type { FileChoice } from './files/event-file.ts'
import { DATE_ORDERS } from './files/timestamps.ts'
import { batchJobRoute, batchJobsRoute, cancelBatchJobRoute, rejectedLinesRoute } from './job-routes.ts'
import { ndjsonBody } from './ndjson-body.ts'
import { assertTextType } from './other-types.ts'
import { readChunk } from './read-chunk.ts'
import { receiveUpload } from './receive-upload.ts'

const DATE_ORDER_SCHEMA = Type.Enum([...DATE_ORDERS])

const uploadOperation: Operation = {
  id: 'uploadBatch',
  summary: 'Uploads events, one a line or as CSV, to be processed in the background',
  description:
    'Takes up to 1,000,000 lines, 100 MiB decoded, and 1 MiB per line. Blank lines do not count; a body of only blank ' +
    'lines is answered 400. Answers when the whole upload is stored; an upload that breaks off leaves nothing. A bad ' +
    'line stops no other line: it is counted by its reason, and the completed job names the first 100. A JSON array, ' +
    'or a body of /v1/ingest, is answered 400. A tenant may have 10 jobs queued or running, unless the operator set ' +
    'another limit; one more is answered 429. CSV has a header; delimiter, quotes and encoding are detected. Its errors ' +
    'name lines of the CSV. Without a column that is the address, it is answered 422.',
  parameters: [
    {
      name: 'map',
      in: 'query',
      required: false,
      description:
        'For text/csv: COLUMN=KEY renames a column to a key of an event, as in ?map=Visitor%20IP=ip. May be repeated. Other columns keep their names',
      schema: Type.Array(Type.String()),
    },
    {
      name: 'date_order',
      in: 'query',
      required: false,
      description: 'For text/csv: how to read a date such as 01/02/2026. Without it, such a row is rejected',
      schema: DATE_ORDER_SCHEMA,
    },
    {
      name: 'date-order',
      in: 'query',
      required: false,
      description: 'The name of `date_order` in version 0.2',
      schema: DATE_ORDER_SCHEMA,
      deprecated: true,
    },
    LABEL_PARAMETER,
    IDEMPOTENCY_PARAMETER,
  ],
  body: {
    type: 'application/x-ndjson',
    schema: EventEnvelope,
    example: { ip: '203.0.113.7', event_id: '5d0a7c1e' },
    also: { type: 'text/csv', schema: Type.String(), example: 'Visitor IP;Time\n203.0.113.7;2026-11-01 08:00\n' },
  },
  responses: {
    202: {
      description: 'The job is queued',
      schema: BatchAccepted,
      headers: { Location: 'Path of the job', ...REPLAYED_HEADER },
      example: { job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11', status: 'queued', received: 1_000 },
    },
  },
  errors: [409, 422],
}

/** `POST /v1/ingest/batch` */
const uploadRoute: SourceRoute = {
  method: 'POST',
  path: '/v1/ingest/batch',
  bodyMaxBytes: BATCH_LIMITS.bodyMaxBytes,
  streamsBody: true,
  operation: uploadOperation,
  open({ jobs }) {
    return async (exchange, caller) => {
      const { head, query } = exchange.request
      assertTextType(head.contentType)
      const choice = csvChoice(head.contentType, query)
      const label = single(parseQuery(query), 'label')
      if (label !== undefined) assertLabel(label)
      const idempotencyKey = idempotencyKeyOf(head)
      const content = idempotencyKey === undefined ? undefined : contentOf(choice, label)
      const body = content === undefined ? exchange.stream() : hashed(exchange.stream(), content)
      const { id } = caller.tenant
      const repeated = idempotencyKey === undefined ? undefined : await jobs.repeated(id, idempotencyKey)
      if (repeated === 'receiving') throw keyInUse()
      if (repeated !== undefined) {
        for await (const _ of body);
        assertParameters(uploadOperation, parseQuery(query))
        assertRepeat(content!.digest('hex'), repeated.fingerprint)
        return accepted(repeated, REPLAYED)
      }
      const events = choice === undefined ? ndjsonBody(body) : csvBody(body, choice)
      const upload = await receiveUpload(jobs, caller.tenant, events, {
        whole: async () => assertParameters(uploadOperation, parseQuery(query)),
        commit: () => exchange.commit(),
        file: { label, idempotencyKey, ...(choice !== undefined && { bytesMax: FILE_LIMITS.eventBytesMax }) },
        ...(content !== undefined && { fingerprint: () => content.digest('hex') }),
      })
      return accepted(upload)
    }
  },
}

function accepted({ jobId, received }: { jobId: string; received: number }, more: Record<string, string> = {}) {
  const headers = { location: `/v1/ingest/batch/${jobId}`, ...more }
  return { status: 202, headers, body: JSON.stringify({ job_id: jobId, status: 'queued', received }) }
}

/** A digest of everything that decides what a job becomes. The decoded body counts: a client may compress a repeat in another way. */
function contentOf(choice: FileChoice | undefined, label: string | undefined): Hash {
  const { encoding, dateOrder, map } = choice ?? {}
  const options = [choice?.format ?? 'ndjson', encoding ?? '', dateOrder ?? '', [...(map ?? [])], label ?? '']
  return createHash('sha256').update(`${JSON.stringify(options)}\n`)
}

async function* hashed(pieces: AsyncIterable<Buffer>, content: Hash): AsyncGenerator<Buffer> {
  for await (const bytes of pieces) {
    content.update(bytes)
    yield bytes
  }
}

/** Uploads of NDJSON and CSV, and the batch jobs that they become. The dashboard's uploads use it too. */
export const uploads: Source = {
  name: 'uploads',
  lane: 'batch',
  routes: [uploadRoute, batchJobRoute, batchJobsRoute, rejectedLinesRoute, cancelBatchJobRoute],
  read: readChunk,
}
