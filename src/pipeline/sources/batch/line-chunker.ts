import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { UploadTooLargeError } from '../../declaration/batch-jobs.ts'
import type { BlankGap, LineChunk } from '../../declaration/source.ts'

/** Largest size of a chunk. Redis' allocator has a class of 256 KiB; a little less leaves room for the fields around it. */
export const CHUNK_BYTES = 253_952

/** Replaces a line that is too long to store. No JSON starts with NUL. */
export const TOO_LONG = Buffer.from('\0too long\n')

export const LINE_FEED = 10
const PARTS_MAX = 4_096
/** Size of a gap in the chunk's entry. Gaps are stored as text. */
const GAP_BYTES = 16

/** Cuts an upload into chunks of whole lines, skips blank lines, and counts the others. Holds at most one line and a chunk. */
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
  /** Lines of the chunk after its last gap. */
  #linesAfterGap = 0
  /** Blank lines since the last line that is not blank. */
  #blankLines = 0
  #received = 0

  /** @param emit takes each chunk as soon as it is full */
  constructor(emit: (chunk: LineChunk) => void, bytesMax: number = BATCH_LIMITS.bodyMaxBytes) {
    this.#emit = emit
    this.#bytesMax = bytesMax
  }

  /** Lines so far that are not blank. */
  get received(): number {
    return this.#received
  }

  /**
   * @param bytes must not change afterwards: chunks may refer to them
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

  /** Adds runs of lines to chunks without copying. Returns the end of the last whole line. */
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

  /** Bytes of lines that still fit into the chunk. */
  #room(): number {
    const gapBytes = this.#blankLines > 0 ? GAP_BYTES : 0
    return CHUNK_BYTES - this.#size - gapBytes
  }

  #passBlankLines(count: number): void {
    this.#blankLines += count
    this.#lineNumber += count
  }

  /** Adds consecutive lines, none of them blank. */
  #take(run: Buffer, lines: number): void {
    if (lines === 0) return
    this.#received += lines
    if (this.#received > BATCH_LIMITS.linesMax) {
      throw new UploadTooLargeError(`the body has more than ${BATCH_LIMITS.linesMax} lines`)
    }
    if (this.#size === 0) {
      this.#firstLine = this.#lineNumber
    } else if (this.#blankLines > 0) {
      this.#gaps.push({ after: this.#linesAfterGap, blank: this.#blankLines })
      this.#size += GAP_BYTES
      this.#linesAfterGap = 0
    }
    this.#blankLines = 0
    this.#linesAfterGap += lines
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
    // A line that arrives byte by byte must not take many times its size.
    if (this.#partial.length > PARTS_MAX) this.#partial = [Buffer.concat(this.#partial)]
  }

  /** @param rest the line's last bytes, including the line feed */
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
    this.#linesAfterGap = 0
    this.#size = 0
  }
}

/** Counts the complete blank lines that start at `from`. */
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

/** White space of Unicode beyond ASCII, and the byte order mark, which is invisible too. */
const WIDE =
  '\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff'

/** UTF-8 bytes of those characters as numbers, and the prefixes of those bytes. */
const WHOLE = new Set<number>()
const BEGUN = new Set<number>()
for (const character of WIDE) {
  const bytes = Buffer.from(character)
  for (let length = 1; length < bytes.length; length++) BEGUN.add(bytes.readUIntBE(0, length))
  WHOLE.add(bytes.readUIntBE(0, bytes.length))
}

const SPACE = 32
const TAB = 9
const CARRIAGE_RETURN = 13

/** Result of `nextBlank` for a byte that is not part of white space. */
const NOT_BLANK = -1

/**
 * Reads UTF-8 byte by byte.
 * @param begun bytes of an unfinished character; 0 for none
 * @returns the next `begun`, or NOT_BLANK
 */
function nextBlank(begun: number, byte: number): number {
  // Line feed, vertical tab and form feed lie between tab and carriage return.
  if (begun === 0 && byte < 128) return byte === SPACE || (byte >= TAB && byte <= CARRIAGE_RETURN) ? 0 : NOT_BLANK
  const now = begun * 256 + byte
  if (WHOLE.has(now)) return 0
  return BEGUN.has(now) ? now : NOT_BLANK
}

/** Tells whether a text that arrives in pieces is white space so far. */
class BlankText {
  #begun = 0

  /** False also while the last character is incomplete. */
  get isBlank(): boolean {
    return this.#begun === 0
  }

  push(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && this.#begun !== NOT_BLANK; at++)
      this.#begun = nextBlank(this.#begun, bytes[at]!)
  }

  clear(): void {
    this.#begun = 0
  }
}
