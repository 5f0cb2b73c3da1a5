import type { Service } from '../../core/run/service.ts'
import type { UploadParts } from '../../dashboard/server/routes/uploads.ts'
import { RedisUploadedFiles } from '../../redis/batch/uploaded-files.ts'
import { batchJobs, intakeGate, uploadConnection } from '../batch-jobs.ts'
import type { Parts } from '../parts.ts'

/** Uploads of the dashboard, and what has to run for them. */
export function uploadsOf(parts: Parts): { readonly services: readonly Service[]; readonly uploads: UploadParts } {
  const gate = intakeGate(parts)
  const client = uploadConnection(parts)
  const jobs = batchJobs(parts, client, gate)
  const uploadedFiles = new RedisUploadedFiles(client)
  return { services: [gate], uploads: { jobs, uploadedFiles, openJobsMax: parts.config.batchQueueLimit } }
}
