import { BoundedCache } from '../../bounded-cache.ts'
import type { Facts } from '../../facts.ts'
import { organisationIn, type RowAttributes, rowFacts } from './organisation-row.ts'

/** Decoded rows to keep. A visitor's organisation comes again soon. */
const DECODED_MAX = 2_000

/**
 * The rows of a table as JSON in one buffer: a row takes about 200 bytes this way, and 1 KB as objects. Rows with the same
 * content are one row. Every process holds the default table, so its size counts.
 */
export class PackedRows {
  readonly #text: Buffer
  readonly #ends: Uint32Array
  readonly #decoded: BoundedCache<number, Facts>

  private constructor(text: Buffer, ends: Uint32Array) {
    this.#text = text
    this.#ends = ends
    this.#decoded = new BoundedCache(DECODED_MAX)
  }

  /** @param rows each with the domain of its organisation, which may come from another row */
  static of(rows: Iterable<PackedRow>): PackedRows {
    const texts: Buffer[] = []
    const ends: number[] = []
    let size = 0
    for (const row of rows) {
      const text = Buffer.from(JSON.stringify(row))
      size += text.length
      texts.push(text)
      ends.push(size)
    }
    return new PackedRows(Buffer.concat(texts, size), Uint32Array.from(ends))
  }

  /** @param row number of the row, from 0 */
  get(row: number): PackedRow {
    return JSON.parse(this.#text.toString('utf8', row === 0 ? 0 : this.#ends[row - 1]!, this.#ends[row]!)) as PackedRow
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

/** A row and its organisation's domain, if another row brings it. */
export interface PackedRow {
  readonly attributes: RowAttributes
  readonly domain?: string | undefined
}
