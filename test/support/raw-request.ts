import { request } from 'node:http'

export interface Reply {
  readonly status: number
  readonly text: string
  readonly headers: Record<string, unknown>
}

/** A request to a port of this machine with exactly these headers: `fetch` sets Host and Sec-Fetch-Site by itself. */
export function sendRaw(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
  method?: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const options = { host: '127.0.0.1', port, path, headers, method: method ?? (body === undefined ? 'GET' : 'POST') }
    const call = request(options, async (res) => {
      let text = ''
      for await (const chunk of res) text += chunk
      resolve({ status: res.statusCode ?? 0, text, headers: res.headers })
    })
    call.once('error', reject)
    call.end(body)
  })
}
