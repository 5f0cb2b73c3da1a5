import { connect } from 'node:net'

interface LoadResult {
  readonly requests: number
  /** Answers by status. */
  readonly statuses: ReadonlyMap<number, number>
  readonly seconds: number
  /** Milliseconds from the request's last byte to the answer's last byte, ascending. */
  readonly latencies: readonly number[]
}

/**
 * Sends requests over keep-alive connections, one at a time on each, and waits for all responses. The bodies are prepared, so
 * that the client costs little.
 * @param bodies each is sent once
 */
export async function sendLoad(
  url: string,
  path: string,
  apiKey: string,
  bodies: readonly string[],
  connections: number,
): Promise<LoadResult> {
  const { hostname, port } = new URL(url)
  const statuses = new Map<number, number>()
  const latencies: number[] = []
  let next = 0
  const run = () =>
    new Promise<void>((resolve, reject) => {
      const socket = connect(Number(port), hostname)
      socket.setNoDelay(true)
      let sentAt = 0
      let pending = ''
      const send = () => {
        const body = bodies[next++]
        if (body === undefined) {
          socket.end()
          resolve()
          return
        }
        sentAt = performance.now()
        socket.write(
          `POST ${path} HTTP/1.1\r\nhost: ${hostname}\r\nx-api-key: ${apiKey}\r\n` +
            `content-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
        )
      }
      socket.on('connect', send)
      socket.on('error', reject)
      socket.setEncoding('latin1')
      socket.on('data', (data: string) => {
        pending += data
        const head = pending.indexOf('\r\n\r\n')
        if (head < 0) return
        const length = Number(/content-length: (\d+)/i.exec(pending.slice(0, head))?.[1] ?? 0)
        if (pending.length < head + 4 + length) return
        const status = Number(pending.slice(9, 12))
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
        latencies.push(performance.now() - sentAt)
        pending = ''
        send()
      })
    })
  const startedAt = performance.now()
  await Promise.all(Array.from({ length: connections }, run))
  const seconds = (performance.now() - startedAt) / 1_000
  latencies.sort((a, b) => a - b)
  return { requests: latencies.length, statuses, seconds, latencies }
}

/** @param share 0 to 1 of ascending values */
export function percentile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))] ?? Number.NaN
}
