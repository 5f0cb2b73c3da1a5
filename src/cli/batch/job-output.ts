import type { BatchAccepted, BatchJob, BatchJobList } from '../../../schemas/api/batch.ts'
import { printPairs, printTable } from '../print.ts'
import type { BadRows } from './bad-rows.ts'

export const EXIT_FAILED = 1

/** 1 when a job failed, or not one of its lines was an event with an address. */
export function exitCodeOf({ status, result_summary: summary }: BatchJob): number {
  if (status === 'failed') return EXIT_FAILED
  const isUseless = summary !== null && summary.rejected + summary.invalid_ip === summary.processed
  return isUseless ? EXIT_FAILED : 0
}

/** @param bad rows that were not sent */
export function printAccepted(out: NodeJS.WritableStream, accepted: BatchAccepted, bad: BadRows): void {
  printPairs(out, [
    ['job', accepted.job_id],
    ['status', accepted.status],
    ['received', accepted.received],
    ...(bad.count > 0 ? [['unreadable', bad.count] as const] : []),
  ])
  printErrors(out, bad.errors)
  out.write(`\nsee how far it is with: ./ipid batch show ${accepted.job_id}\n`)
}

/** @param bad rows that were not sent; undefined when that is not known */
export function printJob(out: NodeJS.WritableStream, job: BatchJob, bad?: BadRows): void {
  const { errors = [], ...counts } = job.result_summary ?? {}
  printPairs(out, [
    ['job', job.job_id],
    ['status', job.status],
    ['progress', job.progress_message],
    ...Object.entries(counts).map(([name, count]) => [name, count as number] as const),
    ...(bad !== undefined && bad.count > 0 ? [['unreadable', bad.count] as const] : []),
  ])
  printErrors(out, [...errors, ...(bad?.errors ?? [])])
}

/** A page of jobs. */
export function printJobs(out: NodeJS.WritableStream, { jobs, next }: BatchJobList): void {
  if (jobs.length === 0) {
    out.write('no batch jobs of the last 7 days: upload a file with "./ipid batch upload FILE"\n')
    return
  }
  const rows = jobs.map((job) => [
    job.job_id,
    job.received_at,
    job.status,
    job.progress_current,
    job.progress_total,
    job.status === 'failed' ? job.progress_message : '',
  ])
  printTable(out, ['JOB', 'RECEIVED', 'STATUS', 'FINISHED', 'OF', 'WHY'], rows)
  if (next !== null) out.write(`\nmore: --before ${next}\n`)
}

/** For a file of which nothing was sent. */
export function printBadRows(out: NodeJS.WritableStream, bad: BadRows): void {
  printPairs(out, [
    ['status', 'nothing was sent: no row can be read'],
    ['unreadable', bad.count],
  ])
  printErrors(out, bad.errors)
}

function printErrors(out: NodeJS.WritableStream, errors: readonly { line: number; detail: string }[]): void {
  const sorted = [...errors].sort((a, b) => a.line - b.line)
  for (const { line, detail } of sorted) out.write(`line ${line}: ${detail}\n`)
}
