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

/** `database_type` of files of `ipid db build`. */
export const COMPILED_TYPE = 'ipid organisations'

/**
 * A row as a record of an MMDB. It includes the organisation's domain from other rows, so that the compiled file answers
 * like the table.
 * @param domain the domain from other rows, for a row that has only a name
 */
export function compiledRecord(attributes: RowAttributes, domain: string | undefined, scope: Scope): MmdbValue {
  if (domain === undefined && scope === 'address') return attributes as MmdbValue
  return { ...attributes, organisation_domain: domain, scope: scope === 'as' ? scope : undefined }
}

/** Reads a `compiledRecord`. @throws InputError when a value is not valid in a table */
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
