import type { EventReceipt } from '../../../schemas/api/receipt.ts'
import type { Lane } from '../declaration/lane.ts'
import { type PayloadStatus, payloadLineStart, payloadOrigin } from '../event/payload.ts'
import { readRow } from '../event/read-rows.ts'

/** An event in a stream. */
export interface HeldEvent {
  readonly partition: number
  readonly lane: Lane
  /** Id of its entry. */
  readonly entry: string
  readonly row: Buffer
  /** `''` for live events. */
  readonly job: string
  /** Reason of a dead letter. */
  readonly reason: string
}

/** The receipt of an event that is not stored yet, from its row. */
export function rowReceipt({ row, lane, job }: HeldEvent): EventReceipt {
  const { received_at: receivedAt = '', request_id: requestId = '', classification = '' } = readRow(row)
  return {
    status: 'in_progress',
    ...(receivedAt !== '' && { received_at: receivedAt }),
    lane,
    ...(requestId !== '' && { request_id: requestId }),
    ...(job !== '' && { job_id: job }),
    ...(classification !== '' && { classification }),
  }
}

/** The receipt of a dead letter. Its lane follows from its job. */
export function deadReceipt(event: HeldEvent): EventReceipt {
  const { partition, entry, job, reason } = event
  const receipt = rowReceipt({ ...event, lane: job === '' ? 'live' : 'batch' })
  return { ...receipt, status: 'dead', reason, dead_letter: `${partition}:${entry}` }
}

/** The receipt of an event whose part of the archive is not written yet. */
export function payloadReceipt({ row, lane, job }: HeldEvent): EventReceipt {
  const lineStart = payloadLineStart(row, 0)
  const { requestId } = payloadOrigin(row.subarray(0, lineStart))
  const { _received_at, _status } = JSON.parse(row.toString('utf8', lineStart)) as {
    _received_at: string
    _status: PayloadStatus
  }
  return {
    status: _status === 'ok' ? 'accepted' : _status,
    received_at: _received_at,
    lane,
    ...(requestId !== '' && { request_id: requestId }),
    ...(job !== '' && { job_id: job }),
  }
}
