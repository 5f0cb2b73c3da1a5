import { packScatter } from '../../rules/model/scatter.ts'

/** The address space that an AS announces. */
export interface AsSpace {
  /** IPv4 addresses. */
  readonly addresses: number
  readonly hasV6: boolean
  /** `packScatter` of the IPv4 space. */
  readonly scatter: number
}

/**
 * Counts the address space of autonomous systems, numbered from 0. It keeps columns of numbers: with a hundred thousand
 * objects, garbage collection would take half of the time.
 */
export class SpaceCounts {
  readonly #addresses: number[] = []
  readonly #haveV6: boolean[] = []
  readonly #blocks: number[] = []
  readonly #slash8s: number[] = []
  readonly #slash16s: number[] = []
  /** Last address so far; -1 without any. */
  readonly #lasts: number[] = []
  /** First address of the block that the last address is in. */
  readonly #firsts: number[] = []
  readonly #largest: number[] = []
  readonly #slash8: number[] = []

  /** Adds an AS without addresses. @returns its number */
  add(): number {
    for (const column of [this.#blocks, this.#slash8s, this.#slash16s, this.#firsts, this.#largest, this.#slash8]) {
      column.push(0)
    }
    this.#lasts.push(-1)
    this.#haveV6.push(false)
    return this.#addresses.push(0) - 1
  }

  /** Counts an IPv4 range. The scatter is exact if the ranges of an AS ascend. */
  addV4(system: number, first: number, last: number): void {
    const before = this.#lasts[system]!
    this.#addresses[system]! += last - first + 1
    if (first !== before + 1 || before < 0) {
      this.#blocks[system]! += 1
      this.#firsts[system] = first
    }
    this.#slash8s[system]! += newPrefixes(before, first, last, 24)
    this.#slash16s[system]! += newPrefixes(before, first, last, 16)
    this.#lasts[system] = last
    const start = this.#firsts[system]!
    if (last - start < this.#largest[system]!) return
    this.#largest[system] = last - start + 1
    this.#slash8[system] = start >>> 24
  }

  addV6(system: number): void {
    this.#haveV6[system] = true
  }

  /** Call it after all ranges were added. */
  of(system: number): AsSpace {
    return {
      addresses: this.#addresses[system]!,
      hasV6: this.#haveV6[system]!,
      scatter: packScatter({
        blocks: this.#blocks[system]!,
        slash8s: this.#slash8s[system]!,
        slash16s: this.#slash16s[system]!,
        slash8: this.#slash8[system]!,
      }),
    }
  }
}

/** The number of prefixes that a range touches, without the one that the range before it has touched. */
function newPrefixes(before: number, first: number, last: number, hostBits: number): number {
  const from = first >>> hostBits
  const isCounted = before >= 0 && before >>> hostBits === from
  return (last >>> hostBits) - from + (isCounted ? 0 : 1)
}
