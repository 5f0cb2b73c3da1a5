import { constants, createGunzip } from 'node:zlib'
import { andThen } from '../../run/and-then.ts'
import type { SlicedWork } from '../../run/slices.ts'
import type { BodyBuffer } from './body-buffer.ts'
import { isGzip, isSmallGzip } from './decode.ts'

/**
 * Looks for something in a part of a body.
 * @param text bytes as Latin-1
 * @returns undefined: it is not there
 */
export type FindInBody = (
  text: string,
  place: { readonly isFirst: boolean; readonly isLast: boolean },
) => string | undefined

/** Bytes that are searched at once, and the first search waits for them. */
const WINDOW_BYTES = 65_536
/** Bytes that the next search repeats, because what is searched for may lie on the border. */
const OVERLAP_BYTES = 512

export interface BodySearch {
  readonly detectsGzip: boolean
  /** Limit of the decoded bytes that are searched. */
  readonly bytesMax: number
  /** Whether to search only the first `WINDOW_BYTES`. */
  readonly onlyStart: boolean
  /** Decodes a small body as a whole. */
  text(): string | Promise<string>
  inSlices<T>(work: SlicedWork<T>): T | Promise<T>
  /** Runs work that decodes in another thread, with others of the same owner waiting for it. */
  decoding<T>(work: () => Promise<T>): Promise<T>
}

/**
 * Searches a body piece by piece, first its start and then the whole, without decoding or parsing it as a whole. Gzip is decoded no
 * further than to what is found. Answers without a promise for a small body that has arrived.
 */
export function searchBody(
  body: BodyBuffer,
  search: BodySearch,
  find: FindInBody,
): string | undefined | Promise<string | undefined> {
  const { onlyStart } = search
  return andThen(body.arrived(WINDOW_BYTES), () => {
    const pieces = body.pieces()
    const first = pieces[0]
    if (first === undefined) return undefined
    if (search.detectsGzip && isGzip(first)) {
      if (!body.isComplete || !isSmallGzip(pieces)) {
        return searchTwice(body, onlyStart, (all) => searchGzip(all, search, find))
      }
      return andThen(search.text(), (text) => find(text, { isFirst: true, isLast: true }))
    }
    if (!body.isComplete || body.heldBytes > WINDOW_BYTES) {
      return searchTwice(body, onlyStart, async (all) => search.inSlices(searchPlain(all, onlyStart, find)))
    }
    return find(latin1(pieces), { isFirst: true, isLast: true })
  })
}

/** Searches what has arrived of a body, and the whole when it is not found there. */
async function searchTwice(
  body: BodyBuffer,
  onlyStart: boolean,
  search: (pieces: readonly Uint8Array[]) => Promise<string | undefined>,
): Promise<string | undefined> {
  // The memory of the last piece is lent until the turn ends.
  await undefined
  const wasComplete = body.isComplete
  const found = await search(body.pieces())
  if (found !== undefined || wasComplete || onlyStart) return found
  await body.arrived(Number.POSITIVE_INFINITY)
  return search(body.pieces())
}

function* searchPlain(
  pieces: readonly Uint8Array[],
  onlyStart: boolean,
  find: FindInBody,
): SlicedWork<string | undefined> {
  let leftBytes = onlyStart ? WINDOW_BYTES : Number.POSITIVE_INFINITY
  let before = ''
  let isFirst = true
  for (const [n, piece] of pieces.entries()) {
    for (let at = 0; at < piece.length; at += WINDOW_BYTES) {
      const end = Math.min(at + WINDOW_BYTES, piece.length)
      const text = before + latin1([piece.subarray(at, end)])
      const found = find(text, { isFirst, isLast: n === pieces.length - 1 && end === piece.length })
      leftBytes -= end - at
      if (found !== undefined || leftBytes <= 0) return found
      before = text.slice(-OVERLAP_BYTES)
      isFirst = false
      yield
    }
  }
  return undefined
}

function searchGzip(
  pieces: readonly Uint8Array[],
  { decoding, bytesMax: bodyMax, onlyStart }: BodySearch,
  find: FindInBody,
): Promise<string | undefined> {
  const bytesMax = onlyStart ? Math.min(WINDOW_BYTES, bodyMax) - 1 : bodyMax
  return decoding(async () => {
    // The body may be its first part only.
    const decoder = createGunzip({ chunkSize: WINDOW_BYTES, finishFlush: constants.Z_SYNC_FLUSH })
    for (const piece of pieces) decoder.write(piece)
    decoder.end()
    let before = ''
    let bytes = 0
    try {
      for await (const piece of decoder as AsyncIterable<Buffer>) {
        const text = before + piece.toString('latin1')
        const found = find(text, { isFirst: bytes === 0, isLast: false })
        bytes += piece.length
        if (found !== undefined || bytes > bytesMax) return found
        before = text.slice(-OVERLAP_BYTES)
      }
    } catch {
      // Broken gzip has no more text.
    }
    return find(before, { isFirst: false, isLast: true })
  })
}

function latin1(pieces: readonly Uint8Array[]): string {
  return pieces
    .map((piece) => Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('latin1'))
    .join('')
}
