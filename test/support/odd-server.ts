import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

/** A request as it came. */
export interface OddRequest {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
  readonly atMs: number
}

type Answer = (request: OddRequest, response: ServerResponse) => void

/** A server whose answers are those of a test: the next one of `answers`, and after them `usual`. */
export interface OddServer {
  readonly url: string
  readonly requests: OddRequest[]
  readonly answers: Answer[]
  usual: Answer
}

export async function startOddServer(t: TestContext): Promise<OddServer> {
  const odd: Omit<OddServer, 'url'> = { requests: [], answers: [], usual: takeEvents }
  const server = createServer(async (message, response) => {
    const atMs = Date.now()
    const body = await text(message).catch(() => undefined)
    if (body === undefined) return
    const request = { path: message.url!, headers: message.headers, body, atMs }
    odd.requests.push(request)
    const answer = odd.answers.shift() ?? odd.usual
    answer(request, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })
  return Object.assign(odd, { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })
}

/** The events of a request to `/v1/ingest`. */
export function eventsOf({ body }: OddRequest): { readonly event_id: string; readonly timestamp: string }[] {
  return JSON.parse(body).events
}

/** What ipid answers to events. */
export const takeEvents: Answer = (request, response) => {
  const results = eventsOf(request).map(({ event_id }) => {
    return { event_id, ip: '17.0.0.1', status: 'ok', enrichment: {}, quality: 90 }
  })
  response.setHeader('content-type', 'application/json').end(JSON.stringify({ stats: {}, results }))
}

/** An error as ipid sends it. */
export function refuse(
  status: number,
  code: string,
  { errors, headers = {} }: { errors?: object[]; headers?: Record<string, string> } = {},
): Answer {
  return (_, response) => {
    const body = JSON.stringify({ detail: `refused: ${code}`, code, ...(errors !== undefined && { errors }) })
    response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': 'r1', ...headers }).end(body)
  }
}
