import { andThen } from '../../run/and-then.ts'
import type { SlicedWork } from '../../run/slices.ts'
import { type Coding, decoderOf } from './decode.ts'
import type { BodyBuffer } from './request-body.ts'

/** Looks for something in a body, as its bytes come. */
export interface BodyScan {
  /** The result so far. */
  readonly found: string | undefined
  /** Reads the next bytes, as Latin-1. Returns whether the result is final. */
  read(text: string): boolean
}

/** Bytes that are searched at once, and the first search waits for them. */
const WINDOW_BYTES = 65_536

export interface BodySearch {
  /** How the body is compressed; undefined when it is not. @param start its first bytes */
  codingOf(start: Uint8Array): Coding | undefined
  /** Limit of the decoded bytes that are searched. */
  readonly bytesMax: number
  /** Whether to search only the first `WINDOW_BYTES`. */
  readonly onlyStart: boolean
  /** The text of a small compressed body; undefined: it is not small. */
  smallText(pieces: readonly Uint8Array[], coding: Coding): string | undefined
  inSlices<T>(work: SlicedWork<T>): T | Promise<T>
  /** Runs work that decodes in another thread, with others of the same owner waiting for it. */
  decoding<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Searches a body piece by piece, first its start and then the whole, without decoding or parsing it as a whole. It is decoded no
 * further than to the result. Answers without a promise for a small body that has arrived.
 * @param begin begins a scan of the body
 */
export function searchBody(
  body: BodyBuffer,
  search: BodySearch,
  begin: () => BodyScan,
): string | undefined | Promise<string | undefined> {
  return andThen(body.arrived(WINDOW_BYTES), () => {
    const pieces = body.pieces()
    const first = pieces[0]
    if (first === undefined) return undefined
    const coding = search.codingOf(first)
    if (coding !== undefined) {
      const text = body.isComplete ? search.smallText(pieces, coding) : undefined
      if (text !== undefined) return foundIn(text, begin())
      return searchTwice(body, search, begin, (all, scan) => scanCompressed(all, coding, search, scan))
    }
    if (!body.isComplete || body.heldBytes > WINDOW_BYTES) {
      return searchTwice(body, search, begin, async (all, scan) =>
        search.inSlices(scanPlain(all, search.onlyStart, scan)),
      )
    }
    return foundIn(latin1(pieces), begin())
  })
}

function foundIn(text: string, scan: BodyScan): string | undefined {
  scan.read(text)
  return scan.found
}

/**
 * Searches the bytes that have arrived, and the whole body when they do not decide.
 * @param read reads pieces into a scan; whether later bytes change nothing
 */
async function searchTwice(
  body: BodyBuffer,
  { onlyStart }: BodySearch,
  begin: () => BodyScan,
  read: (pieces: readonly Uint8Array[], scan: BodyScan) => Promise<boolean>,
): Promise<string | undefined> {
  // The memory of the last piece is lent until the turn ends.
  await undefined
  const wasComplete = body.isComplete
  const start = begin()
  if ((await read(body.pieces(), start)) || wasComplete || onlyStart) return start.found
  await body.arrived(Number.POSITIVE_INFINITY)
  const whole = begin()
  await read(body.pieces(), whole)
  return whole.found
}

function* scanPlain(pieces: readonly Uint8Array[], onlyStart: boolean, scan: BodyScan): SlicedWork<boolean> {
  let leftBytes = onlyStart ? WINDOW_BYTES : Number.POSITIVE_INFINITY
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += WINDOW_BYTES) {
      const window = piece.subarray(at, at + WINDOW_BYTES)
      leftBytes -= window.length
      if (scan.read(latin1([window])) || leftBytes <= 0) return true
      yield
    }
  }
  return false
}

function scanCompressed(
  pieces: readonly Uint8Array[],
  coding: Coding,
  { decoding, bytesMax: bodyMax, onlyStart }: BodySearch,
  scan: BodyScan,
): Promise<boolean> {
  const bytesMax = onlyStart ? Math.min(WINDOW_BYTES, bodyMax) - 1 : bodyMax
  return decoding(async () => {
    // The body may be its first part only.
    const decoder = decoderOf(coding, WINDOW_BYTES, true)
    for (const piece of pieces) decoder.write(piece)
    decoder.end()
    let bytes = 0
    try {
      for await (const piece of decoder as AsyncIterable<Buffer>) {
        bytes += piece.length
        if (scan.read(piece.toString('latin1')) || bytes > bytesMax) return true
      }
    } catch {
      // A broken body has no more text.
    }
    return false
  })
}

function latin1(pieces: readonly Uint8Array[]): string {
  return pieces
    .map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1'))
    .join('')
}
