import type { BatchSummary, RejectedReason } from '../../../../../schemas/api/batch.ts'

/** Prefix of the fields of a job's record that count by reason. See `advanceJob-5.lua`. */
const FIELD = 'rejected:'
const OTHERS = 'other reasons'
const DEAD = 'could not be processed: see the dead letters'

type JobRecord = Readonly<Record<string, string>>

/**
 * The rejected lines of a job by reason, the most frequent first.
 * @param dead events that became dead letters
 */
export function rejectedReasons(record: JobRecord, dead: number): RejectedReason[] {
  const reasons = Object.entries(record).flatMap(([field, value]): RejectedReason[] => {
    if (!field.startsWith(FIELD)) return []
    const [count, lines = ''] = value.split(' ')
    const numbers = lines === '' ? [] : lines.split(',').map(Number)
    return [{ reason: field.slice(FIELD.length) || OTHERS, count: Number(count), lines: numbers }]
  })
  if (dead > 0) reasons.push({ reason: DEAD, count: dead, lines: [] })
  return reasons.sort((a, b) => b.count - a.count || (a.lines[0] ?? 0) - (b.lines[0] ?? 0))
}

/** The rejected lines of a job so far. */
export interface Rejections {
  readonly rejected: number
  readonly reasons: readonly RejectedReason[]
}

/** @param dead events that became dead letters; ignored when there is a summary */
export function rejectionsOf(record: JobRecord, summary: BatchSummary | null, dead: number): Rejections {
  if (summary !== null) return { rejected: summary.rejected, reasons: summary.rejected_reasons ?? [] }
  return { rejected: Number(record.rejected ?? 0) + dead, reasons: rejectedReasons(record, dead) }
}

/** `12 rejected (ip is required)`, or `''`. */
export function rejectedText({ rejected, reasons }: Rejections): string {
  if (rejected === 0) return ''
  const [first] = reasons
  if (first === undefined) return `${rejected} rejected`
  return `${rejected} rejected (${first.count < rejected ? `${first.count} of them: ` : ''}${first.reason})`
}

/** A sentence when most lines of a job were not kept, else null. */
export function problemOf(total: number, rejections: Rejections, invalidIp: number): string | null {
  if (2 * (rejections.rejected + invalidIp) <= total) return null
  const parts = [rejectedText(rejections), invalidIp > 0 ? `${invalidIp} with an invalid address` : '']
  const all = total === 1 ? 'the line was not kept' : `most of the ${total} lines were not kept`
  return `${all}: ${parts.filter((part) => part !== '').join(', ')}`
}
