import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { zipOf } from './zip.ts'

const HOUR_MS = 3_600_000

/** A fault of one answer. */
type Fault = 400 | 429 | 500 | 504 | 'ends early' | 'damaged' | 'late'

/** A server that behaves as the documentation of Amplitude's Export API says. */
export interface TestAmplitude {
  readonly endpoint: string
  readonly apiKey: string
  readonly secretKey: string
  /** Events by the hour of their upload, `YYYYMMDDTHH`. */
  readonly hours: Map<string, object[]>
  /** Faults of the next answers. */
  readonly faults: Fault[]
  /** The ranges that were asked for. */
  readonly asked: string[]
  /** A range of more hours is too large. */
  hoursMax: number
}

/** Starts one; it is stopped after the test. */
export async function startAmplitude(t: { after(hook: () => Promise<void>): void }): Promise<TestAmplitude> {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url!, 'http://x')
    const basic = Buffer.from(`${amplitude.apiKey}:${amplitude.secretKey}`).toString('base64')
    if (pathname !== '/api/2/export') return void response.writeHead(404).end()
    if (request.headers.authorization !== `Basic ${basic}`) return void response.writeHead(401).end('Unauthorized')
    answer(searchParams.get('start')!, searchParams.get('end')!, response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(async () => {
    server.closeAllConnections()
    server.close()
  })
  const amplitude: TestAmplitude = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    apiKey: 'amplitude-api-key',
    secretKey: 'amplitude-secret-key',
    hours: new Map(),
    faults: [],
    asked: [],
    hoursMax: 24,
  }
  return amplitude

  function answer(start: string, end: string, response: ServerResponse): void {
    amplitude.asked.push(`${start} ${end}`)
    const fault = amplitude.faults.shift()
    if (fault === 'late') return
    if (typeof fault === 'number') return void response.writeHead(fault).end()
    if ((timeOf(end) - timeOf(start)) / HOUR_MS + 1 > amplitude.hoursMax) return void response.writeHead(400).end()
    const found = [...amplitude.hours].filter(([hour]) => hour >= start && hour <= end)
    if (found.length === 0) return void response.writeHead(404).end()
    const files = found.map(([hour, events]) => {
      const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('')
      return [`100/100_${hour}#1.json.gz`, gzipSync(lines)] as const
    })
    const zip = zipOf(Object.fromEntries(files))
    if (fault === 'damaged') return void response.writeHead(200).end(zip.subarray(0, zip.length - 5))
    response.writeHead(200, { 'content-type': 'application/zip', 'content-length': zip.length })
    if (fault !== 'ends early') return void response.end(zip)
    response.write(zip.subarray(0, zip.length / 2), () => response.destroy())
  }
}

/** `YYYYMMDDTHH` of a time, milliseconds. */
export function hourOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13).replaceAll('-', '')
}

function timeOf(hour: string): number {
  return Date.parse(`${hour.slice(0, 4)}-${hour.slice(4, 6)}-${hour.slice(6, 8)}T${hour.slice(9)}:00:00Z`)
}
