import type { Lane } from '../declaration/lane.ts'
import { CLAIM_ID_FIELD, type EntryFields, encodeBlock } from '../event/block.ts'
import type { DeadLetter } from '../runner/ports.ts'
import type { RawEntry } from './entries.ts'

/** Where an event was when it could not be processed. A retry puts it back there. */
interface DeadLetterOrigin {
  readonly group: string
  readonly stream: string
  readonly lane: Lane
  /** Claim id of the entry, so that a retry finds its own claim in the dedup store; see `DeadLetter`. */
  readonly claimId: Buffer | undefined
}

/** Field of a dead letter: the key under which it is counted as dead. */
export const OUTCOME_FIELD = 'outcome'

/** Field of a dead letter that a restore moved to another partition: its first id. */
export const FIRST_ID_FIELD = 'first'

/** Fields of an entry of the dead-letter stream: origin, reason, the key of its count, and the event as a block. */
export function deadLetterFields(origin: DeadLetterOrigin, letter: Omit<DeadLetter, 'keepsClaim'>): EntryFields {
  const { group, stream, lane, claimId } = origin
  const fields: EntryFields = ['group', group, 'stream', stream, 'lane', lane, 'reason', letter.reason]
  if (letter.outcome !== undefined) fields.push(OUTCOME_FIELD, letter.outcome)
  return [...fields, ...encodeBlock(letter.block), ...(claimId === undefined ? [] : [CLAIM_ID_FIELD, claimId])]
}

/** Fields for an entry that is not a block: origin and reason, then its own fields, if Redis still has them. */
export function brokenEntryFields(
  origin: Omit<DeadLetterOrigin, 'claimId'>,
  reason: string,
  raw: RawEntry | undefined,
): EntryFields {
  const { group, stream, lane } = origin
  return ['group', group, 'stream', stream, 'lane', lane, 'reason', reason, ...(raw?.[1] ?? [])]
}
