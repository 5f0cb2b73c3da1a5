import { REQUEST_NUMBER } from '../loader/loader.ts'

/** Number of different bodies, so that no cache has all of them. */
const VARIANTS = 100

/** A known address that is not noise. */
export function knownAddress(n: number): string {
  return `17.${n % 200}.${Math.floor(n / 200) % 250}.${(n * 13) % 250}`
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
}

/** Number of events of a request that are kept. */
export function keptOf({ perRequest, noise = 0 }: EventBodies): number {
  return perRequest - Math.round(perRequest * noise)
}

/** Requests of several events each, as web pages send them. */
export function eventBodies(options: EventBodies): string[] {
  const { tag, perRequest } = options
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
    return JSON.stringify({ events })
  })
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
