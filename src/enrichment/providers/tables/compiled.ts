import { InputError } from '../../../run/errors.ts'
import type { Facts, Scope } from '../../facts.ts'
import type { MmdbValue } from '../mmdb/encode.ts'
import {
  organisationIn,
  type RawRow,
  type RowAttributes,
  readAttributes,
  rowFacts,
  TABLE_COLUMNS,
} from './organisation-row.ts'

/** `database_type` of the files that `ipid db build` makes. */
export const COMPILED_TYPE = 'ipid organisations'

/**
 * A row as a record of an MMDB: its columns, and its organisation as the whole table knows it, so that the compiled file
 * answers as the table does.
 * @param domain the one that other rows give the organisation that this row names without one
 */
export function compiledRecord(attributes: RowAttributes, domain: string | undefined, scope: Scope): MmdbValue {
  if (domain === undefined && scope === 'address') return attributes as MmdbValue
  return { ...attributes, organisation_domain: domain, scope: scope === 'as' ? scope : undefined }
}

/** Reads such a record. @throws InputError when it holds what no table may say */
export function readCompiled(record: unknown): Facts | undefined {
  if (typeof record !== 'object' || record === null) throw new InputError('a record is not an object')
  const { organisation_domain: domain, scope, ...columns } = record as Record<string, unknown>
  const row: Omit<RawRow, 'network'> = {}
  for (const column of TABLE_COLUMNS) {
    const value = columns[column]
    if (column !== 'network' && value !== undefined) row[column] = String(value)
  }
  const attributes = readAttributes(row)
  if (typeof attributes === 'string') throw new InputError(attributes)
  const named = organisationIn(attributes)
  const organisation = named !== undefined && typeof domain === 'string' ? { name: named.name, domain } : named
  return rowFacts(attributes, organisation, scope === 'as' ? 'as' : 'address')
}
