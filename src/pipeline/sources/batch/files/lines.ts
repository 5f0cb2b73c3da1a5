import { BATCH_LIMITS } from '../../../../../schemas/api/batch.ts'
import { linesOf } from '../read-chunk.ts'

/** A line that cannot be read, and why. */
export interface BadLine {
  readonly problem: string
}

const TOO_LONG: BadLine = { problem: `is longer than ${BATCH_LIMITS.lineMaxBytes} bytes` }
const LINE_FEED = 10
/** A carriage return before the line feed belongs to the line end. */
const LINE_WITH_RETURN_MAX_BYTES = BATCH_LIMITS.lineMaxBytes + 1

/** Cuts bytes into lines without line ends. Holds at most one line, and nothing of a line that is too long. */
export class LineSplitter {
  readonly #notUtf8: BadLine
  #partial: Buffer[] = []
  #partialBytes = 0

  /** @param advice what to do when a line is not UTF-8 */
  constructor(advice: string) {
    this.#notUtf8 = { problem: `is not UTF-8: ${advice}` }
  }

  /** The lines that end in these bytes. */
  push(bytes: Buffer): (string | BadLine)[] {
    const end = bytes.lastIndexOf(LINE_FEED)
    if (end < 0) {
      this.#hold(bytes)
      return []
    }
    const firstEnd = bytes.indexOf(LINE_FEED)
    this.#hold(bytes.subarray(0, firstEnd))
    const lines = [...this.end(), ...(firstEnd < end ? this.#textsOf(bytes.subarray(firstEnd + 1, end)) : [])]
    if (end + 1 < bytes.length) this.#hold(bytes.subarray(end + 1))
    return lines
  }

  /** The text after the last line end, as one line. */
  end(): (string | BadLine)[] {
    const isTooLong = this.#partialBytes > LINE_WITH_RETURN_MAX_BYTES
    const lines = isTooLong ? [TOO_LONG] : this.#textsOf(Buffer.concat(this.#partial))
    this.#partial = []
    this.#partialBytes = 0
    return lines
  }

  #hold(bytes: Buffer): void {
    this.#partialBytes += bytes.length
    if (this.#partialBytes > LINE_WITH_RETURN_MAX_BYTES) this.#partial = []
    else this.#partial.push(bytes)
  }

  #textsOf(bytes: Buffer): (string | BadLine)[] {
    return linesOf(bytes).map((line) => {
      if (typeof line !== 'string') return this.#notUtf8
      const text = line.endsWith('\r') ? line.slice(0, -1) : line
      const isTooLong = bytes.length > BATCH_LIMITS.lineMaxBytes && Buffer.byteLength(text) > BATCH_LIMITS.lineMaxBytes
      return isTooLong ? TOO_LONG : text
    })
  }
}
