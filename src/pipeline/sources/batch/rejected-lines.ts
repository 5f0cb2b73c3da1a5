import { StringDecoder } from 'node:string_decoder'
import { BATCH_LIMITS, type RejectedCode, type RejectedLine } from '../../../../schemas/api/batch.ts'
import type { RejectedPart } from '../../declaration/source.ts'

/** Start of the detail of a line that is not JSON. The position of the error follows, and a character of the line. */
export const NOT_JSON = 'is not JSON'

/** A detail without a quote of its line. */
export function withoutQuote(detail: string): string {
  return detail.startsWith(NOT_JSON) ? NOT_JSON : detail
}

/** Size at which a part is closed. A reader holds one part at a time. */
const PART_CHARS = 262_144

/** Collects the rejected lines of a chunk as `GET /v1/ingest/batch/{job_id}/rejected` answers them. Holds no more of them than a job keeps. */
export class RejectedLines {
  readonly #keepsText: boolean
  readonly #parts: RejectedPart[] = []
  #open: string[] = []
  #openChars = 0
  #lines = 0

  /** @param keepsText false: a line may hold an address that must not be stored */
  constructor(keepsText: boolean) {
    this.#keepsText = keepsText
  }

  /** @param text the line, or its bytes when they are not UTF-8; undefined: there is none. Its first `rejectedTextMaxBytes` are kept */
  add(line: number, code: RejectedCode, detail: string, text: string | Buffer | undefined): void {
    if (++this.#lines > BATCH_LIMITS.rejectedLinesMax) return
    const rejected: RejectedLine = { line, code, detail, ...(this.#keepsText && text !== undefined && keptText(text)) }
    const json = `${JSON.stringify(rejected)}\n`
    this.#open.push(json)
    this.#openChars += json.length
    if (this.#openChars >= PART_CHARS) this.#close()
  }

  /** Call it once, after the last line. */
  end(): readonly RejectedPart[] {
    this.#close()
    return this.#parts
  }

  #close(): void {
    if (this.#open.length > 0) this.#parts.push({ lines: this.#open.length, text: this.#open.join('') })
    this.#open = []
    this.#openChars = 0
  }
}

/** A line of 1 MiB may take 6 MB as JSON: too much for each of many slow readers. */
function keptText(text: string | Buffer): Pick<RejectedLine, 'text' | 'text_base64' | 'text_cut'> {
  const { rejectedTextMaxBytes: maxBytes } = BATCH_LIMITS
  if (typeof text !== 'string') {
    const text_base64 = text.subarray(0, maxBytes).toString('base64')
    return { text_base64, ...(text.length > maxBytes && { text_cut: true }) }
  }
  if (3 * text.length <= maxBytes) return { text }
  const bytes = Buffer.from(text)
  if (bytes.length <= maxBytes) return { text }
  // The decoder leaves a broken last character out.
  return { text: new StringDecoder('utf8').write(bytes.subarray(0, maxBytes)), text_cut: true }
}

/** Removes the lines themselves from NDJSON of `RejectedLine`: their numbers and faults stay. */
export function withoutTexts(part: string): string {
  return part.replace(/[^\n]+/g, (json) => {
    const { line, code, detail } = JSON.parse(json) as RejectedLine
    return JSON.stringify({ line, code, detail: withoutQuote(detail) } satisfies RejectedLine)
  })
}
