import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'

const LINE_FEED = 10

/**
 * Takes a line.
 * @param raw its bytes without the line feed; undefined when it is longer than an event may be
 * @param start offset of its first byte
 * @param next offset of the byte after it
 */
export type TakeLine = (raw: Buffer | undefined, start: number, next: number) => void

/** Cuts a text into lines with their offsets. Holds at most one line. */
export class LineCutter {
  #partial: Buffer[] = []
  #partialBytes = 0
  #start: number

  /** @param offset of the first byte that comes, which begins a line */
  constructor(offset: number) {
    this.#start = offset
  }

  /** @param bytes must not change afterwards */
  push(bytes: Buffer, take: TakeLine): void {
    let at = 0
    if (this.#partialBytes > 0) {
      const end = bytes.indexOf(LINE_FEED)
      this.#hold(end < 0 ? bytes : bytes.subarray(0, end))
      if (end < 0) return
      this.#take(1, take)
      at = end + 1
    }
    for (let end = bytes.indexOf(LINE_FEED, at); end >= 0; end = bytes.indexOf(LINE_FEED, at)) {
      const start = this.#start
      this.#start += end + 1 - at
      take(end - at > BATCH_LIMITS.lineMaxBytes ? undefined : bytes.subarray(at, end), start, this.#start)
      at = end + 1
    }
    if (at < bytes.length) this.#hold(bytes.subarray(at))
  }

  /** The text after the last line feed, as a line. */
  end(take: TakeLine): void {
    if (this.#partialBytes > 0) this.#take(0, take)
  }

  #hold(bytes: Buffer): void {
    this.#partialBytes += bytes.length
    if (this.#partialBytes > BATCH_LIMITS.lineMaxBytes) this.#partial = []
    else this.#partial.push(bytes)
  }

  #take(lineEndBytes: number, take: TakeLine): void {
    const isTooLong = this.#partialBytes > BATCH_LIMITS.lineMaxBytes
    const raw = isTooLong ? undefined : Buffer.concat(this.#partial)
    const start = this.#start
    this.#start += this.#partialBytes + lineEndBytes
    this.#partial = []
    this.#partialBytes = 0
    take(raw, start, this.#start)
  }
}
