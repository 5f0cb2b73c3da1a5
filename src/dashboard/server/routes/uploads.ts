import { createHash } from 'node:crypto'
import { BATCH_LIMITS, BATCH_LIST_LIMITS, type BatchJobList } from '../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../schemas/api/event.ts'
import {
  PREVIEW_BYTES,
  type UploadAnswer,
  type UploadChoice,
  type UploadLimits,
  type UploadList,
  UploadListQuery,
} from '../../../../schemas/dashboard/uploads.ts'
import { openEventFile } from '../../../batch/files/event-file.ts'
import { inSlices } from '../../../batch/files/in-slices.ts'
import { previewFile } from '../../../batch/files/preview.ts'
import type { BatchJobs } from '../../../batch/jobs.ts'
import { rejectedLine } from '../../../batch/rejected-line.ts'
import type { UploadedFiles } from '../../../batch/uploaded-files.ts'
import { compileValidator } from '../../../core/event/validator.ts'
import { foundJob } from '../../../http/api/job.ts'
import { receiveUpload } from '../../../http/api/receive-upload.ts'
import { limitBytes } from '../../../http/engine/decode-stream.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { CHOICE_MAX_BYTES, fileChoice, readChoice } from '../upload-choice.ts'
import { type Judge, previewAnswer } from '../upload-preview.ts'

export interface UploadParts {
  readonly jobs: BatchJobs
  readonly judge: Judge
  readonly uploadedFiles: UploadedFiles
  /** Jobs that a tenant may have queued or running. */
  readonly openJobsMax: number
}

/** The batch jobs of a tenant, and files that become some. */
export function uploadRoutes(parts: UploadParts): DashboardRoute[] {
  return [listRoute(parts), jobRoute(parts), cancelRoute(parts), previewRoute(parts), uploadRoute(parts)]
}

/** `GET /api/tenants/:tenant/uploads` */
function listRoute({ jobs, openJobsMax }: UploadParts): DashboardRoute {
  const { bodyMaxBytes: bytes_max, linesMax: lines_max, lineMaxBytes: line_bytes_max } = BATCH_LIMITS
  const ofOne = { bytes_max, lines_max, line_bytes_max, preview_bytes: PREVIEW_BYTES }
  const limits: UploadLimits = { ...ofOne, jobs_max: openJobsMax }
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/uploads',
    query: UploadListQuery,
    async handle({ tenant, query: { limit = BATCH_LIST_LIMITS.jobs, before } }) {
      const list: BatchJobList = await jobs.list(tenant.id, { limit, before })
      return json({ ...list, limits } satisfies UploadList)
    },
  })
}

/** `GET /api/tenants/:tenant/uploads/:job` */
function jobRoute({ jobs }: UploadParts): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/uploads/:job',
    handle: async ({ tenant, parameters }) => json(foundJob(await jobs.find(tenant.id, parameters.job!))),
  })
}

/** `POST /api/tenants/:tenant/uploads/:job/cancel` */
function cancelRoute({ jobs }: UploadParts): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/uploads/:job/cancel',
    async handle({ tenant, parameters }) {
      const job = foundJob(await jobs.cancel(tenant.id, parameters.job!))
      if (job === 'ended') throw new HttpError(409, 'the job has ended already')
      return json(job)
    },
  })
}

const check = compileValidator(EventEnvelope)

/** `POST /api/tenants/:tenant/upload-preview`: the beginning of a file, behind how it is to be read. */
function previewRoute({ judge }: UploadParts): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/upload-preview',
    streamedMaxBytes: CHOICE_MAX_BYTES + PREVIEW_BYTES,
    async handle({ exchange, tenant }) {
      const { choice, file } = await readChoice(exchange.stream())
      const parts: Buffer[] = []
      for await (const bytes of limitBytes(file, PREVIEW_BYTES)) parts.push(bytes)
      const { whole: isWhole = false, guess: guesses = false } = choice
      const how = { ...fileChoice(choice), isWhole, guesses }
      const preview = await previewFile(choice.name, Buffer.concat(parts), how, check)
      return json(await previewAnswer(preview, (addresses) => judge(addresses, tenant)))
    },
  })
}

/** A file whose bytes were uploaded before. */
class RepeatedFileError extends Error {
  override name = 'RepeatedFileError'
  readonly jobId: string

  constructor(jobId: string) {
    super(`job ${jobId} has this file`)
    this.jobId = jobId
  }
}

/** `POST /api/tenants/:tenant/uploads`: a file, behind how it is to be read. It becomes a job when it is whole. */
function uploadRoute({ jobs, uploadedFiles }: UploadParts): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/uploads',
    streamedMaxBytes: CHOICE_MAX_BYTES + BATCH_LIMITS.bodyMaxBytes,
    async handle({ exchange, tenant }) {
      const { choice, file } = await readChoice(exchange.stream())
      const content = createHash('sha256')
      async function* noted(bytes: AsyncIterable<Buffer>) {
        for await (const part of inSlices(limitBytes(bytes, BATCH_LIMITS.bodyMaxBytes))) {
          content.update(part)
          yield part
        }
      }
      const events = eventsOf(file, choice, noted)
      // What may be a repeat is known behind the last byte, and is settled before there is a job.
      const whole = async (jobId: string) => {
        const holder = await uploadedFiles.claim(tenant.id, content.digest('hex'), jobId, choice.again)
        if (holder !== undefined) throw new RepeatedFileError(holder)
      }
      try {
        const { jobId, received } = await receiveUpload(jobs, tenant, events, {
          whole,
          commit: () => exchange.commit(),
        })
        return { ...json({ status: 'queued', job_id: jobId, received } satisfies UploadAnswer), status: 202 }
      } catch (error) {
        if (!(error instanceof RepeatedFileError)) throw error
        return json({ status: 'repeated', job_id: error.jobId, received: 0 } satisfies UploadAnswer)
      }
    },
  })
}

async function* eventsOf(
  file: AsyncIterable<Buffer>,
  choice: UploadChoice,
  noted: (bytes: AsyncIterable<Buffer>) => AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const opened = await openEventFile(choice.name, file, fileChoice(choice), noted)
  yield* opened.events(({ reason }) => rejectedLine(reason))
}
