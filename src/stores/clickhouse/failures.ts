import { ClickHouseError } from '@clickhouse/client'
import { UnavailableError } from '../../run/errors.ts'

const NO_TABLE: ReadonlySet<string> = new Set(['UNKNOWN_TABLE', 'UNKNOWN_DATABASE'])

/** A missing table is an error, not an empty result: its rows may have been lost. */
const NO_TABLE_TEXT =
  'ClickHouse lacks a table of ipid, so nothing can be read: restart ipid, which makes missing tables again. ' +
  'Rows of a dropped table are gone: ./ipid replay puts back those that the archive has, and ./ipid restore fills an ' +
  'empty instance from a backup'

/** The error for a query whose table is missing; undefined when it failed for another reason. */
export function missingTable(error: unknown): UnavailableError | undefined {
  const isMissing = error instanceof ClickHouseError && NO_TABLE.has(error.type ?? '')
  return isMissing ? new UnavailableError(NO_TABLE_TEXT, { cause: error }) : undefined
}

/** Explains in one sentence why a query failed, and what to do. */
export function unavailable(error: unknown): UnavailableError {
  if (error instanceof UnavailableError) return error
  if (!(error instanceof ClickHouseError)) {
    return new UnavailableError('ClickHouse does not answer: try again in a moment', { cause: error })
  }
  const missing = missingTable(error)
  if (missing !== undefined) return missing
  const { type = 'unknown error', code } = error
  return new UnavailableError(`ClickHouse answered with an error, ${type} (${code}): try again in a moment`, {
    cause: error,
  })
}
