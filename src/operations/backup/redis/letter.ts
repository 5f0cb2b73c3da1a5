import type { LetterCopy } from '../../../../schemas/backup.ts'
import type { Pipeline } from '../../../pipeline/declaration/pipeline.ts'
import { readLetter, type StoredLetter } from '../../dead-letters/dead-letters.ts'

/** The dead letter of a copy. */
export function letterOf({ id, fields, partition }: Omit<LetterCopy, 'claim'>): StoredLetter {
  return readLetter([Buffer.from(id), fields.map((field) => Buffer.from(field, 'base64'))], partition)
}

/** Whether a stream carries events. Rows of other streams have other columns. */
export function carriesEvents({ steps }: Pipeline, stream: string): boolean {
  return steps.some(({ from, to }) => from === stream || to === stream)
}
