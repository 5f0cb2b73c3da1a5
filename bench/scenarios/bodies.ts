import { REQUEST_NUMBER } from '../loader/loader.ts'

/** Number of different bodies, so that no cache has all of them. */
const VARIANTS = 100

/** A known address that is not noise: 17.166.0.0/16 has networks of a published bot. */
export function knownAddress(n: number): string {
  return `17.${n % 160}.${Math.floor(n / 160) % 200}.${(n * 13) % 250}`
}

/** A reserved address, which is noise. */
function noiseAddress(n: number): string {
  return `10.${n % 200}.${Math.floor(n / 200) % 250}.${(n * 13) % 250}`
}

export interface EventBodies {
  /** Prefix of the event ids. The number of the request follows. */
  readonly tag: string
  readonly perRequest: number
  /** Share of the events of each request that are noise, 0 to 1. */
  readonly noise?: number
  /** How the events are written: as `/v1/ingest` takes them (default), or as Segment's libraries send them. */
  readonly form?: 'segment'
}

/** Number of events of a request that are kept. */
export function keptOf({ perRequest, noise = 0 }: EventBodies): number {
  return perRequest - Math.round(perRequest * noise)
}

/** Requests of several events each, as web pages send them. */
export function eventBodies(options: EventBodies): string[] {
  const { tag, perRequest, form } = options
  const kept = keptOf(options)
  return Array.from({ length: VARIANTS }, (_, variant) => {
    const events = Array.from({ length: perRequest }, (_, i) => ({
      ip: (i < kept ? knownAddress : noiseAddress)(variant * perRequest + i),
      event_id: `${tag}-${REQUEST_NUMBER}-${i}`,
      timestamp: '2026-11-21T10:00:00Z',
      event_type: 'page_view',
      session_id: variant * perRequest + i,
      platform: 'web',
      properties: { url: `https://example.com/page/${i}`, referrer: 'https://search.example/', duration: 12.5 },
    }))
    return JSON.stringify(form === 'segment' ? { batch: events.map(segmentCall) } : { events })
  })
}

interface BenchEvent {
  readonly ip: string
  readonly event_id: string
  readonly timestamp: string
  readonly event_type: string
  readonly session_id: number
  readonly properties: object
}

function segmentCall({ ip, event_id, timestamp, event_type, session_id, properties }: BenchEvent): object {
  const library = { name: '@segment/analytics-node', version: '3.1.0' }
  const context = { ip, sessionId: session_id, library }
  return { type: 'track', messageId: event_id, timestamp, event: event_type, userId: 'user', context, properties }
}

/** @param count number of different addresses */
export function lookupBodies(count: number): string[] {
  return Array.from({ length: count }, (_, i) => JSON.stringify({ ip: knownAddress(i) }))
}

/** @param size addresses per request */
export function bulkBodies(size: number): string[] {
  return Array.from({ length: VARIANTS }, (_, variant) =>
    JSON.stringify({ ips: Array.from({ length: size }, (_, i) => knownAddress(variant * size + i)) }),
  )
}
