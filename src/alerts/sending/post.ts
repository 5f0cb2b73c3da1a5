import type { LookupAddress } from 'node:dns'
import type { IncomingMessage } from 'node:http'
import { causeText } from '../../run/cause-text.ts'
import { timeLimit } from '../../run/time-limit.ts'
import { requestAt } from './request-at.ts'

/** A receiver has this long to answer. */
export const ANSWER_MS = 15_000
/** This much of an answer is read. */
export const ANSWER_BYTES_MAX = 1_024
/** The answer's text is of interest to people only, so a slow one is cut off. */
const TEXT_MS = 2_000

interface PostOptions {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  /** Addresses of the host, of `Destinations.addressesOf`: the connection goes to one of these. */
  readonly addresses: readonly LookupAddress[]
  readonly signal: AbortSignal
  /** Default: `ANSWER_MS`. */
  readonly timeoutMs?: number
}

/** The answer of a receiver. */
export interface PostAnswer {
  readonly status: number
  /** Its first bytes. */
  readonly text: string
  /** Where a redirect leads. */
  readonly location?: string
  /** The header `retry-after`. */
  readonly retryAfter?: string
}

/**
 * Sends a POST on a connection of its own, and follows no redirect.
 * @throws Error whose message says in a few words why there is no answer
 */
export async function post(url: URL, options: PostOptions): Promise<PostAnswer> {
  const { headers, body, addresses, timeoutMs = ANSWER_MS, signal } = options
  const limit = timeLimit(timeoutMs, signal)
  const sized = { ...headers, 'content-length': Buffer.byteLength(body) }
  try {
    return await requestAt(
      url,
      { method: 'POST', headers: sized, body, addresses, signal: limit },
      async (response): Promise<PostAnswer> => {
        const { statusCode: status = 0 } = response
        const { location, 'retry-after': retryAfter } = response.headers
        return {
          ...{ status, text: await beginOf(response) },
          ...(location !== undefined && { location }),
          ...(retryAfter !== undefined && { retryAfter }),
        }
      },
    )
  } catch (error) {
    if (signal.aborted) throw signal.reason
    throw new Error(limit.aborted ? `no answer within ${timeoutMs / 1_000} s` : causeText(error), { cause: error })
  }
}

async function beginOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  const timer = setTimeout(() => response.destroy(), TEXT_MS)
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      pieces.push(piece)
      bytes += piece.length
      if (bytes >= ANSWER_BYTES_MAX) break
    }
  } catch {
    // Only the status counts.
  } finally {
    clearTimeout(timer)
    response.destroy()
  }
  return Buffer.concat(pieces).subarray(0, ANSWER_BYTES_MAX).toString('utf8')
}
