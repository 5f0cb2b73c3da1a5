import type { BatchJobList } from '../../../schemas/api/batch.ts'
import { HttpError } from '../engine/http-error.ts'
import { schemaError } from './schema.ts'

/** @throws HttpError 404 when the tenant has no such job */
export function foundJob<Job>(job: Job | undefined): Job {
  if (job === undefined) throw new HttpError('unknown_job', 'there is no such job')
  return job
}

/** @param name of the parameter with the cursor. @throws HttpError 422 when it names no job of the tenant */
export function foundPage(list: BatchJobList | undefined, name: string): BatchJobList {
  if (list === undefined) throw schemaError([{ path: name, message: 'names no job of yours' }])
  return list
}
