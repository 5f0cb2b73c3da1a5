import { BoundedCache } from '../../bounded-cache.ts'
import type { Facts } from '../../facts.ts'
import type { PackedTexts } from '../packed-texts.ts'
import { organisationIn, type RowAttributes, rowFacts, TABLE_COLUMNS } from './organisation-row.ts'

/** Decoded rows to keep. A visitor's organisation comes again soon. */
const DECODED_MAX = 4_000
const COLUMNS = TABLE_COLUMNS.filter((column) => column !== 'network')

/** A row and its organisation's domain, if another row brings it. */
export interface PackedRow {
  readonly attributes: RowAttributes
  readonly domain: string | undefined
}

/**
 * The rows of a table as JSON arrays: a row takes about 120 bytes this way, and 1 KB as objects. Rows with the same content
 * are one row. Every process holds the default table, so its size counts.
 */
export class PackedRows {
  readonly #texts: PackedTexts
  readonly #decoded: BoundedCache<number, Facts> = new BoundedCache(DECODED_MAX)

  /** @param texts results of `packRow` */
  constructor(texts: PackedTexts) {
    this.#texts = texts
  }

  /** @param row number of the row, from 0 */
  get(row: number): PackedRow {
    const text = this.#texts.at(row)
    const [domain, ...values] = JSON.parse(text) as (string | number | null)[]
    const attributes = Object.fromEntries(
      values.flatMap((value, i) => (value === null ? [] : [[COLUMNS[i]!, value]])),
    ) as RowAttributes
    return { attributes, domain: (domain as string | null) ?? undefined }
  }

  /** The facts of a row about a network. The same object while the row is in use. */
  facts(row: number): Facts {
    let facts = this.#decoded.get(row)
    if (facts === undefined) {
      const { attributes, domain } = this.get(row)
      const organisation = organisationIn(attributes)
      facts = rowFacts(attributes, organisation && { ...organisation, domain: organisation.domain ?? domain })
      this.#decoded.set(row, facts)
    }
    return facts
  }
}

/** @param domain the organisation's domain by another row */
export function packRow(attributes: RowAttributes, domain: string | undefined): string {
  const values = COLUMNS.map((column) => attributes[column] ?? null)
  while (values.at(-1) === null) values.pop()
  return JSON.stringify([domain ?? null, ...values])
}
