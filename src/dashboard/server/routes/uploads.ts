import { createHash } from 'node:crypto'
import { BATCH_LIMITS, BATCH_LIST_LIMITS } from '../../../../schemas/api/batch.ts'
import { EventEnvelope } from '../../../../schemas/api/event.ts'
import {
  PREVIEW_BYTES,
  type UploadAnswer,
  UploadChoice,
  type UploadLimits,
  type UploadList,
  UploadListQuery,
} from '../../../../schemas/dashboard/uploads.ts'
import { limitBytes } from '../../../http/engine/decode-stream.ts'
import { HttpError } from '../../../http/engine/http-error.ts'
import { foundJob, foundPage } from '../../../http/route/job.ts'
import { schemaError } from '../../../http/route/schema.ts'
import type { BatchJobs, JobFiles } from '../../../pipeline/declaration/batch-jobs.ts'
import { compileValidator } from '../../../pipeline/event/validator.ts'
import type { Advice } from '../../../pipeline/sources/batch/files/conversion.ts'
import { convertedFile, FILE_LIMITS, type FileLimits } from '../../../pipeline/sources/batch/files/converted-file.ts'
import { isEncoding } from '../../../pipeline/sources/batch/files/encoding.ts'
import type { FileChoice } from '../../../pipeline/sources/batch/files/event-file.ts'
import { shownFileName } from '../../../pipeline/sources/batch/files/file-name.ts'
import { previewFile } from '../../../pipeline/sources/batch/files/preview.ts'
import { REJECTED_ANSWERS, rejectedAnswer } from '../../../pipeline/sources/batch/job-routes.ts'
import { receiveUpload } from '../../../pipeline/sources/batch/receive-upload.ts'
import type { UploadedFiles } from '../../../pipeline/sources/batch/redis/uploaded-files.ts'
import { TenantSlots } from '../../../run/tenant-slots.ts'
import { CHOICE_MAX_BYTES, readChoice } from '../choice-line.ts'
import { type DashboardRoute, json, route } from '../route.ts'
import { type Judge, previewAnswer } from '../upload-preview.ts'

export interface UploadDependencies {
  readonly jobs: BatchJobs & JobFiles
  readonly judge: Judge
  readonly uploadedFiles: UploadedFiles
  /** Maximum number of queued and running jobs of a tenant. */
  readonly openJobsMax: number
  /** Default: `FILE_LIMITS`. */
  readonly limits?: FileLimits | undefined
}

export function uploadRoutes(parts: UploadDependencies): DashboardRoute[] {
  return [
    listRoute(parts),
    jobRoute(parts),
    rejectedRoute(parts),
    cancelRoute(parts),
    previewRoute(parts),
    uploadRoute(parts),
  ]
}

/** `GET /api/tenants/:tenant/uploads` */
function listRoute({
  jobs,
  openJobsMax,
  limits: { bytesMax, eventBytesMax } = FILE_LIMITS,
}: UploadDependencies): DashboardRoute {
  const { linesMax: lines_max, lineMaxBytes: line_bytes_max } = BATCH_LIMITS
  const ofOne = { bytes_max: bytesMax, event_bytes_max: eventBytesMax, lines_max, line_bytes_max }
  const limits: UploadLimits = { ...ofOne, jobs_max: openJobsMax, preview_bytes: PREVIEW_BYTES }
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/uploads',
    query: UploadListQuery,
    async handle({ tenant, query: { limit = BATCH_LIST_LIMITS.jobs, before } }) {
      const list = foundPage(await jobs.list(tenant.id, { limit, before }), 'before')
      const ids = list.jobs.map(({ job_id }) => job_id)
      const names = await jobs.fileNames(tenant.id, ids)
      const named = list.jobs.map((job) => ({ ...job, file_name: names.get(job.job_id) ?? null }))
      return json({ ...list, jobs: named, limits } satisfies UploadList)
    },
  })
}

/** `GET /api/tenants/:tenant/uploads/:job` */
function jobRoute({ jobs }: UploadDependencies): DashboardRoute {
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/uploads/:job',
    handle: async ({ tenant, parameters }) => json(foundJob(await jobs.find(tenant.id, parameters.job!))),
  })
}

/** `GET /api/tenants/:tenant/uploads/:job/rejected`: a file of the rejected lines, as the API answers them. */
function rejectedRoute({ jobs }: UploadDependencies): DashboardRoute {
  const slots = new TenantSlots(REJECTED_ANSWERS)
  return route({
    method: 'GET',
    path: '/api/tenants/:tenant/uploads/:job/rejected',
    async handle({ tenant, parameters }) {
      const answer = rejectedAnswer(await jobs.rejected(tenant.id, parameters.job!), tenant.id, slots)
      const disposition = `attachment; filename="rejected-${parameters.job}.ndjson"`
      return { ...answer, headers: { ...answer.headers, 'content-disposition': disposition } }
    },
  })
}

/** `POST /api/tenants/:tenant/uploads/:job/cancel` */
function cancelRoute({ jobs }: UploadDependencies): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/uploads/:job/cancel',
    async handle({ tenant, parameters }) {
      const job = foundJob(await jobs.cancel(tenant.id, parameters.job!))
      if (job === 'ended') throw new HttpError('job_ended', 'the job has already ended')
      return json(job)
    },
  })
}

const check = compileValidator(EventEnvelope)

/** `POST /api/tenants/:tenant/upload-preview`: previews the start of a file. The body's first line is an `UploadChoice`. */
function previewRoute({ judge }: UploadDependencies): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/upload-preview',
    changes: false,
    streamedMaxBytes: CHOICE_MAX_BYTES + PREVIEW_BYTES,
    async handle({ exchange, tenant }) {
      const { choice, file } = await readChoice(exchange.stream(), validate)
      const parts: Buffer[] = []
      for await (const bytes of limitBytes(file, PREVIEW_BYTES)) parts.push(bytes)
      const { whole: isWhole = false, guess: guesses = false } = choice
      const how = { ...fileChoice(choice), isWhole, guesses }
      const preview = await previewFile(choice.name, Buffer.concat(parts), how, check)
      return json(await previewAnswer(preview, (addresses) => judge(addresses, tenant)))
    },
  })
}

/** The same bytes were uploaded before. */
class RepeatedFileError extends Error {
  override name = 'RepeatedFileError'
  readonly jobId: string

  constructor(jobId: string) {
    super(`job ${jobId} has this file`)
    this.jobId = jobId
  }
}

/** `POST /api/tenants/:tenant/uploads`: uploads a file, after a line with its `UploadChoice`. A complete file becomes a job. */
function uploadRoute({ jobs, uploadedFiles, limits = FILE_LIMITS }: UploadDependencies): DashboardRoute {
  return route({
    method: 'POST',
    path: '/api/tenants/:tenant/uploads',
    streamedMaxBytes: CHOICE_MAX_BYTES + BATCH_LIMITS.bodyMaxBytes,
    async handle({ exchange, tenant }) {
      const { choice, file } = await readChoice(exchange.stream(), validate)
      const content = createHash('sha256')
      const events = convertedFile(choice.name, file, fileChoice(choice), limits, (part) => content.update(part))
      // The last byte tells whether the file is a repeat. Decide that before the job exists.
      const whole = async (jobId: string) => {
        const holder = await uploadedFiles.claim(tenant.id, content.digest('hex'), jobId, choice.again)
        if (holder !== undefined) throw new RepeatedFileError(holder)
      }
      try {
        const { jobId, received } = await receiveUpload(jobs, tenant, events, {
          whole,
          commit: () => exchange.commit(),
          file: { name: shownFileName(choice.name), bytesMax: limits.eventBytesMax },
        })
        return { ...json({ status: 'queued', job_id: jobId, received } satisfies UploadAnswer), status: 202 }
      } catch (error) {
        if (!(error instanceof RepeatedFileError)) throw error
        return json({ status: 'repeated', job_id: error.jobId, received: 0 } satisfies UploadAnswer)
      }
    },
  })
}

/** Includes blank lines, which are not events but take time. */
const LINES_MAX = 4 * BATCH_LIMITS.linesMax
const validate = compileValidator(UploadChoice)

/** Advice that names the fields of the page. */
const FIELDS: Advice = {
  map: 'the mapping',
  address: (column) => `such as the column "${column}"`,
  dateOrder: 'choose the order of dates',
  encoding: 'if the file has another encoding, choose it',
}

/** @throws HttpError 422 when the encoding is unknown */
function fileChoice({ format, encoding, date_order: dateOrder, map = {} }: UploadChoice): FileChoice {
  if (encoding !== undefined && !isEncoding(encoding)) {
    throw schemaError([{ path: 'encoding', message: 'must be a name such as windows-1252 or utf-16le' }])
  }
  return { format, encoding, dateOrder, map: new Map(Object.entries(map)), linesMax: LINES_MAX, advice: FIELDS }
}
