import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { UploadTooLargeError } from '../../declaration/batch-jobs.ts'
import type { BlankGap, LineChunk } from '../../declaration/source.ts'
import { BlankText, NOT_BLANK, nextBlank } from './blank.ts'

/**
 * Bytes at which a chunk is closed. Redis' allocator has a class of 256 KiB; a little less leaves room for the fields
 * around it.
 */
export const CHUNK_BYTES = 253_952

/** Stands for a line that is too long to be kept: no JSON starts with NUL. */
export const TOO_LONG = Buffer.from('\0too long\n')

export const LINE_FEED = 10
const PARTS_MAX = 4_096
/** What a gap may take beside the lines; gaps are kept as text. */
const GAP_BYTES = 16

/**
 * Cuts an upload into chunks of whole lines, leaves out those that are blank, and counts the others. Holds at most one line
 * and a chunk.
 */
export class LineChunker {
  readonly #emit: (chunk: LineChunk) => void
  readonly #bytesMax: number
  #parts: Buffer[] = []
  #size = 0
  #partial: Buffer[] = []
  #partialSize = 0
  readonly #blank = new BlankText()
  #skipping = false
  #bytes = 0
  #lineNumber = 1
  #firstLine = 1
  #gaps: BlankGap[] = []
  /** Lines of the chunk behind its last gap. */
  #linesBehindGap = 0
  /** Blank lines since the last line that is none. */
  #blankLines = 0
  #received = 0

  /** @param emit called with each chunk as soon as it is full */
  constructor(emit: (chunk: LineChunk) => void, bytesMax: number = BATCH_LIMITS.bodyMaxBytes) {
    this.#emit = emit
    this.#bytesMax = bytesMax
  }

  /** Lines that are not blank so far. */
  get received(): number {
    return this.#received
  }

  /**
   * @param bytes may be kept, and be a part of what is emitted, so it must not change afterwards
   * @throws UploadTooLargeError
   */
  push(bytes: Buffer): void {
    this.#bytes += bytes.length
    if (this.#bytes > this.#bytesMax) {
      throw new UploadTooLargeError(`the body is larger than ${this.#bytesMax} bytes`)
    }
    let at = 0
    if (this.#partialSize > 0 || this.#skipping) {
      at = bytes.indexOf(LINE_FEED) + 1
      if (at === 0) {
        this.#hold(bytes)
        return
      }
      this.#endLine(bytes.subarray(0, at))
    }
    at = this.#addWholeLines(bytes, at)
    if (at < bytes.length) this.#hold(bytes.subarray(at))
  }

  /** The common case: runs of lines go into chunks as they are. Returns where they end. */
  #addWholeLines(bytes: Buffer, from: number): number {
    let runStart = from
    let runLines = 0
    let lineStart = from
    const takeRun = (nextStart: number) => {
      this.#take(bytes.subarray(runStart, lineStart), runLines)
      runStart = nextStart
      runLines = 0
    }
    let fullAt = runStart + this.#room()
    while (lineStart < bytes.length) {
      if (nextBlank(0, bytes[lineStart]!) !== NOT_BLANK) {
        const { count, end } = blankLines(bytes, lineStart)
        if (count > 0) {
          takeRun(end)
          this.#passBlankLines(count)
          lineStart = end
          fullAt = runStart + this.#room()
        }
      }
      const end = bytes.indexOf(LINE_FEED, lineStart) + 1
      if (end === 0) break
      if (end - lineStart > BATCH_LIMITS.lineMaxBytes) {
        takeRun(end)
        this.#endLine(bytes.subarray(lineStart, end))
        fullAt = runStart + this.#room()
      } else {
        if (end > fullAt) {
          takeRun(lineStart)
          this.#close()
          fullAt = runStart + this.#room()
        }
        runLines++
      }
      lineStart = end
    }
    takeRun(lineStart)
    return lineStart
  }

  /** Bytes that lines may have to come into the chunk. */
  #room(): number {
    const gapBytes = this.#blankLines > 0 ? GAP_BYTES : 0
    return CHUNK_BYTES - this.#size - gapBytes
  }

  #passBlankLines(count: number): void {
    this.#blankLines += count
    this.#lineNumber += count
  }

  /** Adds lines that follow each other, none of them blank. */
  #take(run: Buffer, lines: number): void {
    if (lines === 0) return
    this.#received += lines
    if (this.#received > BATCH_LIMITS.linesMax) {
      throw new UploadTooLargeError(`the body has more than ${BATCH_LIMITS.linesMax} lines`)
    }
    if (this.#size === 0) {
      this.#firstLine = this.#lineNumber
    } else if (this.#blankLines > 0) {
      this.#gaps.push({ after: this.#linesBehindGap, blank: this.#blankLines })
      this.#size += GAP_BYTES
      this.#linesBehindGap = 0
    }
    this.#blankLines = 0
    this.#linesBehindGap += lines
    this.#lineNumber += lines
    this.#parts.push(run)
    this.#size += run.length
  }

  /** @throws UploadTooLargeError */
  end(): void {
    if (this.#partialSize > 0 || this.#skipping) this.#endLine(Buffer.alloc(0))
    this.#close()
  }

  #hold(bytes: Buffer): void {
    this.#blank.push(bytes)
    if (this.#skipping) return
    this.#partialSize += bytes.length
    if (this.#partialSize > BATCH_LIMITS.lineMaxBytes + 1) {
      this.#skipping = true
      this.#partial = []
      this.#partialSize = 0
      return
    }
    this.#partial.push(bytes)
    // A line that comes byte by byte must not take many times its size.
    if (this.#partial.length > PARTS_MAX) this.#partial = [Buffer.concat(this.#partial)]
  }

  /** @param rest the line's last bytes, with its line feed */
  #endLine(rest: Buffer): void {
    this.#blank.push(rest)
    const blank = this.#blank.isBlank
    const tooLong = this.#skipping || this.#partialSize + rest.length > BATCH_LIMITS.lineMaxBytes + 2
    if (blank) this.#passBlankLines(1)
    else if (tooLong) this.#add(TOO_LONG)
    else if (this.#partialSize === 0) this.#add(rest)
    else this.#add(Buffer.concat([...this.#partial, rest]))
    this.#partial = []
    this.#partialSize = 0
    this.#skipping = false
    this.#blank.clear()
  }

  #add(line: Buffer): void {
    if (line.length > this.#room()) this.#close()
    this.#take(line, 1)
  }

  #close(): void {
    if (this.#size === 0) return
    const bytes = this.#parts.length === 1 ? this.#parts[0]! : Buffer.concat(this.#parts)
    this.#emit({ firstLine: this.#firstLine, gaps: this.#gaps, bytes })
    this.#parts = []
    this.#gaps = []
    this.#linesBehindGap = 0
    this.#size = 0
  }
}

/** The lines from a place on that are blank, up to the first one that is not, or not there as a whole. */
function blankLines(bytes: Buffer, from: number): { readonly count: number; readonly end: number } {
  let end = from
  let count = 0
  let begun = 0
  for (let at = from; at < bytes.length; at++) {
    const byte = bytes[at]!
    begun = nextBlank(begun, byte)
    if (begun === NOT_BLANK) break
    if (byte === LINE_FEED) {
      count++
      end = at + 1
    }
  }
  return { count, end }
}
