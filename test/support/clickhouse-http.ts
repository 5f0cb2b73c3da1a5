import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect } from 'node:net'

/** Requests to ClickHouse's HTTP interface, as text. */
export interface ClickHouseHttp {
  call(params: Record<string, string>, init?: RequestInit): Promise<Response>
  /** The body of an answer; fails when its status is not 200. */
  text(params: Record<string, string>, body?: string | Buffer): Promise<string>
  /** Creates a table of the database `ipid`. */
  table(name: string, columns?: string): Promise<void>
}

export function clickHouseHttp(url: string): ClickHouseHttp {
  const call = (params: Record<string, string>, init: RequestInit = {}) =>
    fetch(`${url}/?${new URLSearchParams(params)}`, { method: 'POST', ...init })
  const text = async (params: Record<string, string>, body?: string | Buffer) => {
    const response = await call(params, { body: body ?? null })
    const answer = await response.text()
    assert.equal(response.status, 200, answer)
    return answer
  }
  return {
    call,
    text,
    async table(name, columns = 'a UInt32, s String') {
      await text({ database: 'ipid' }, `CREATE TABLE ${name} (${columns}) ENGINE = MergeTree ORDER BY tuple()`)
    },
  }
}

/** Checks that an answer is an exception in ClickHouse's form. */
export async function refused(response: Response, status: number, code: number, pattern: RegExp): Promise<void> {
  const answer = await response.text()
  assert.equal(response.status, status, answer)
  assert.equal(response.headers.get('x-clickhouse-exception-code'), String(code))
  assert.match(answer, new RegExp(`^Code: ${code}\\. DB::Exception: `))
  assert.match(answer, pattern)
}

/** The header `X-ClickHouse-Summary`. */
export function summaryOf(response: Response): Record<string, string> {
  return JSON.parse(response.headers.get('x-clickhouse-summary') ?? '{}')
}

/** An answer as raw lines. The connection must work for a second request after it. */
export interface RawAnswer {
  /** Lines, the status line first. */
  readonly head: string[]
  readonly body: string
  /** How long before the end of its body the first bytes came. */
  readonly firstAheadMs: number
}

/** Sends a statement over its own socket. Fails when the connection does not work for another request after it. */
export async function rawAnswer(url: string, params: Record<string, string>, sql: string): Promise<RawAnswer> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  let received = ''
  let firstMs: number | undefined
  socket.setEncoding('latin1').on('data', (data: string) => {
    firstMs ??= performance.now()
    received += data
  })
  const answerOf = async (request: string): Promise<[string[], string]> => {
    received = ''
    socket.write(request)
    while (!received.endsWith('\r\n0\r\n\r\n')) await once(socket, 'data')
    const at = received.indexOf('\r\n\r\n')
    return [received.slice(0, at).split('\r\n'), unchunked(received.slice(at + 4))]
  }
  try {
    const target = `/?${new URLSearchParams(params)}`
    const head = `POST ${target} HTTP/1.1\r\nHost: ${hostname}\r\nContent-Length: ${Buffer.byteLength(sql)}\r\n\r\n`
    const [lines, body] = await answerOf(head + sql)
    const firstAheadMs = performance.now() - firstMs!
    const [, second] = await answerOf(`GET /?query=SELECT+7 HTTP/1.1\r\nHost: ${hostname}\r\n\r\n`)
    assert.equal(second, '7\n')
    return { head: lines, body, firstAheadMs }
  } finally {
    socket.destroy()
  }
}

function unchunked(text: string): string {
  let body = ''
  for (let at = 0; ; ) {
    const end = text.indexOf('\r\n', at)
    const size = Number.parseInt(text.slice(at, end), 16)
    if (size === 0) return body
    body += text.slice(end + 2, end + 2 + size)
    at = end + 2 + size + 2
  }
}
