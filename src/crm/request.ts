import type { IncomingMessage } from 'node:http'
import { DestinationRefusedError, type Destinations } from '../alerts/sending/destinations.ts'
import { requestAt } from '../alerts/sending/request-at.ts'
import { causeText } from '../run/cause-text.ts'
import { timeLimit } from '../run/time-limit.ts'
import type { SendWire } from './hubspot/wire.ts'

const ANSWER_MS = 30_000
/** 50 companies with the history of two properties. */
const ANSWER_BYTES_MAX = 16_777_216

/**
 * Sends requests to a CRM, to public addresses only (`Destinations`).
 * @throws Error whose message says in a few words why there is no answer
 */
export function wireTo(destinations: Pick<Destinations, 'addressesOf'>, userAgent: string): SendWire {
  return async (url, { method, headers, body, signal }) => {
    const limit = timeLimit(ANSWER_MS, signal)
    try {
      const addresses = await destinations.addressesOf(url, limit)
      const sized = {
        ...headers,
        'user-agent': userAgent,
        'accept-encoding': 'identity',
        ...(body !== undefined && { 'content-length': Buffer.byteLength(body) }),
      }
      const request = { method, headers: sized, ...(body !== undefined && { body }), addresses, signal: limit }
      return await requestAt(url, request, async (response) => ({
        status: response.statusCode ?? 0,
        headers: response.headers,
        text: await textOf(response),
      }))
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof DestinationRefusedError) throw error
      const reason = limit.aborted ? `it does not answer within ${ANSWER_MS / 1_000} s` : causeText(error)
      throw new Error(`HubSpot is not reached: ${reason}`, { cause: error })
    }
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > ANSWER_BYTES_MAX) throw new Error(`its answer is longer than ${ANSWER_BYTES_MAX} bytes`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString('utf8')
}
