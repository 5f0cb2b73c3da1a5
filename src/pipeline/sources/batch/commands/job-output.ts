import type { BatchAccepted, BatchJob, BatchJobList, RejectedReason } from '../../../../../schemas/api/batch.ts'
import { filteredText, mostFirst } from '../../../../../schemas/filtered.ts'
import { numbered } from '../../../../run/counted.ts'
import { printLine, printPairs, printTable } from '../../../../terminal/print.ts'
import type { BadRows } from './bad-rows.ts'

export const EXIT_FAILED = 1

/** 1 when a job failed, or none of its lines was an event with a valid address. */
export function exitCodeOf({ status, result_summary: summary }: BatchJob): number {
  if (status === 'failed') return EXIT_FAILED
  const isUseless = summary !== null && summary.rejected + summary.invalid_ip === summary.processed
  return isUseless ? EXIT_FAILED : 0
}

/** How many lines of a job, and of the rows that were not sent, are no events with a valid address. */
export function rejectedIn({ result_summary: summary }: BatchJob, bad: BadRows): number {
  return bad.count + (summary === null ? 0 : summary.rejected + summary.invalid_ip)
}

/** @param bad rows that were not sent */
export function printAccepted(out: NodeJS.WritableStream, accepted: BatchAccepted, bad: BadRows): void {
  printPairs(out, [
    ['job', accepted.job_id],
    ['status', accepted.status],
    ['received', accepted.received],
    ...(bad.count > 0 ? [['unreadable', bad.count] as const] : []),
  ])
  printReasons(out, bad.reasons, bad.errors)
  printLine(out, '')
  printLine(out, `follow it with: ./ipid batch show ${accepted.job_id}`)
}

/** @param bad rows that were not sent; undefined when unknown */
export function printJob(out: NodeJS.WritableStream, job: BatchJob, bad?: BadRows): void {
  const { errors = [], rejected_reasons: _, filtered_reasons: noise = {}, ...counts } = job.result_summary ?? {}
  const atRun = job.result_summary === null && job.rejected > 0 ? { rejected: job.rejected } : {}
  printPairs(out, [
    ['job', job.job_id],
    ...(job.label ? [['label', job.label] as const] : []),
    ['status', job.status],
    ['progress', job.progress_message],
    ...(job.problem ? [['problem', job.problem] as const] : []),
    ...Object.entries({ ...counts, ...atRun }).map(([name, count]) => [name, count as number] as const),
    ...(mostFirst(noise).length > 0 ? [['filtered reasons', filteredText(noise)] as const] : []),
    ...(bad !== undefined && bad.count > 0 ? [['unreadable', bad.count] as const] : []),
  ])
  printReasons(out, [...(job.rejected_reasons ?? []), ...(bad?.reasons ?? [])], [...errors, ...(bad?.errors ?? [])])
  const kept = job.rejected_lines?.kept ?? 0
  if (kept > 0) printLine(out, `${numbered(kept, 'rejected line')}, for a day: ./ipid batch rejected ${job.job_id}`)
}

export function printJobs(out: NodeJS.WritableStream, { jobs, next }: BatchJobList): void {
  if (jobs.length === 0) {
    printLine(out, 'no batch jobs in the last 7 days: upload a file with "./ipid batch upload FILE"')
    return
  }
  const rows = jobs.map((job) => [
    job.job_id,
    job.received_at,
    job.status,
    job.progress_current,
    job.progress_total,
    job.rejected,
    job.status === 'failed' ? job.progress_message : job.problem,
  ])
  printTable(out, ['JOB', 'RECEIVED', 'STATUS', 'FINISHED', 'OF', 'REJECTED', 'WHY'], rows)
  if (next !== null) {
    printLine(out, '')
    printLine(out, `more: --before ${next}`)
  }
}

/** For a file without a single readable row. */
export function printBadRows(out: NodeJS.WritableStream, bad: BadRows): void {
  printPairs(out, [
    ['status', 'nothing was sent: no row is readable'],
    ['unreadable', bad.count],
  ])
  printReasons(out, bad.reasons, bad.errors)
}

/** Prints each bad line of a reason when all its lines are known, else one line for the reason. */
function printReasons(
  out: NodeJS.WritableStream,
  reasons: readonly RejectedReason[],
  errors: readonly { line: number; detail: string }[],
): void {
  const details = new Map(errors.map(({ line, detail }) => [line, detail]))
  const isKnown = ({ count, lines }: RejectedReason) => count <= lines.length
  const known = reasons.filter(isKnown).flatMap(({ reason, lines }) => lines.map((line) => ({ line, reason })))
  for (const { line, reason } of known.sort((a, b) => a.line - b.line)) {
    printLine(out, `line ${line}: ${details.get(line) ?? reason}`)
  }
  for (const { reason, count, lines } of reasons.filter((group) => !isKnown(group))) {
    const first = lines.length === 0 ? '' : `, first ${lines.join(', ')}`
    printLine(out, `${numbered(count, 'line')}${first}: ${reason}`)
  }
}
