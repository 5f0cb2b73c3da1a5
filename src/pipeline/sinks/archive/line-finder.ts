import type { PayloadStatus } from '../../event/payload.ts'

/** A line of a part. */
export interface FoundLine {
  /** From 0. */
  readonly line: number
  /** ISO 8601, UTC. */
  readonly receivedAt: string
  readonly status: PayloadStatus
}

const LINE_FEED = 10
/** Start of every line, before time and id; see `payloadOf`. */
const RECEIVED = '{"_received_at":"'
const TIME_CHARS = '2026-11-22T01:02:03.004Z'.length
const STATUS = /^(ok|filtered|invalid_ip)"/
const STATUS_CHARS_MAX = 'invalid_ip"'.length

/** Finds the lines of an event in a part, which is read in pieces. */
export class LineFinder {
  readonly lines: FoundLine[] = []
  readonly #needle: Buffer
  #rest: Buffer = Buffer.alloc(0)
  #line = 0

  constructor(eventId: string) {
    this.#needle = Buffer.from(`","_event_id":${JSON.stringify(eventId)},"_status":"`)
  }

  /** @param piece the last one ends with a line feed */
  push(piece: Buffer): void {
    const text = this.#rest.length === 0 ? piece : Buffer.concat([this.#rest, piece])
    let start = 0
    for (;;) {
      const end = text.indexOf(LINE_FEED, start)
      if (end < 0) break
      this.#judge(text, start, end)
      this.#line++
      start = end + 1
    }
    this.#rest = text.subarray(start)
  }

  #judge(text: Buffer, start: number, end: number): void {
    const at = start + RECEIVED.length + TIME_CHARS
    const statusAt = at + this.#needle.length
    if (statusAt > end || text.compare(this.#needle, 0, this.#needle.length, at, statusAt) !== 0) return
    const status = STATUS.exec(text.toString('latin1', statusAt, statusAt + STATUS_CHARS_MAX))?.[1]
    if (status === undefined) return
    const receivedAt = text.toString('latin1', start + RECEIVED.length, at)
    this.lines.push({ line: this.#line, receivedAt, status: status as PayloadStatus })
  }
}
