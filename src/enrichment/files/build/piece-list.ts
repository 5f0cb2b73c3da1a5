import { disjointNow, type Span } from '../../addresses/range-index.ts'

/**
 * Cuts ranges of one family that come in the order of their first addresses into pieces: where each starts, and the record
 * that it has; -1 for none. Neighbours with one record are one piece. It holds ranges only while they overlap.
 */
export class PieceList<Bound extends number | bigint> {
  /** Pieces with a record. */
  ranges = 0
  readonly #starts = new NumberList()
  readonly #records = new NumberList()
  readonly #family: Family<Bound>
  /** Ranges that overlap, or the last one. */
  #open: Span<Bound>[] = []
  /** Of the open ranges. */
  #openLast: Bound | undefined
  /** The address after the last piece, and its record. */
  #end: Bound | undefined
  #record = -1

  constructor(family: Family<Bound>) {
    this.#family = family
  }

  /** @returns false when the range starts before the one before it */
  add(first: Bound, last: Bound, record: number): boolean {
    if (this.#openLast === undefined || first > this.#openLast) {
      this.#close()
      this.#openLast = last
    } else {
      if (first < this.#open.at(-1)!.first) return false
      if (last > this.#openLast) this.#openLast = last
    }
    this.#open.push({ first, last, owner: record })
    return true
  }

  /** Nothing is added after it. */
  finish(): { readonly starts: Uint32Array; readonly records: Int32Array } {
    this.#close()
    if (this.#end !== undefined && this.#end !== this.#family.all) this.#push(this.#end, -1)
    return { starts: this.#starts.finish(), records: Int32Array.from(this.#records.finish()) }
  }

  #close(): void {
    const open = this.#open
    const { all, next } = this.#family
    if (open.length === 1) {
      const { first, last, owner } = open.pop()!
      this.#append(first, next(last), owner)
    } else if (open.length > 1) {
      // Of two of one size the higher number counts.
      const numbered = open.map((span, owner) => ({ ...span, owner }))
      const { starts, owners } = disjointNow(numbered, next, all)
      for (const [i, owner] of owners.entries()) {
        if (owner >= 0) this.#append(starts[i]!, starts[i + 1] ?? all, open[owner]!.owner)
      }
      this.#open = []
    }
  }

  #append(first: Bound, end: Bound, record: number): void {
    const isNext = this.#end === first
    if (!isNext && this.#end !== undefined) this.#push(this.#end, -1)
    this.#end = end
    if (isNext && this.#record === record) return
    this.#push(first, record)
    this.ranges++
  }

  #push(start: Bound, record: number): void {
    this.#family.write(start, this.#starts)
    this.#records.push(record)
    this.#record = record
  }
}

/** What sets IPv4 and IPv6 apart. */
export interface Family<Bound> {
  /** The number of its addresses. */
  readonly all: Bound
  /** The address after another. */
  next(bound: Bound): Bound
  /** Writes an address as words of 32 bits. */
  write(bound: Bound, to: NumberList): void
}

/** 32-bit numbers, any number of them. */
export class NumberList {
  #numbers = new Uint32Array(65_536)
  #length = 0

  push(number: number): void {
    if (this.#length === this.#numbers.length) {
      const grown = new Uint32Array(2 * this.#length)
      grown.set(this.#numbers)
      this.#numbers = grown
    }
    this.#numbers[this.#length++] = number
  }

  finish(): Uint32Array {
    return this.#numbers.slice(0, this.#length)
  }
}
