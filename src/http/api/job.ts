import { HttpError } from '../engine/http-error.ts'

/** @throws HttpError 404 when the tenant has no such job */
export function foundJob<Job>(job: Job | undefined): Job {
  if (job === undefined) throw new HttpError(404, 'there is no such job')
  return job
}
