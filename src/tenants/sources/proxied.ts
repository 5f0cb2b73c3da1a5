import type { FilteredBy, FilteredCounts } from '../../../schemas/filtered.ts'
import { countText } from '../../run/counted.ts'

/*
 * Visitors do not come from infrastructure. When nearly all events of a sender do, it most likely sends the address of its own proxy, CDN
 * or server. This is the rule for sources, API keys and batch jobs (schemas/README.md, Most events from infrastructure).
 */

const INFRASTRUCTURE = {
  reserved: 'a private network',
  hosting: 'a hosting provider',
  cloud: 'a cloud',
  cdn: 'a content delivery network',
  vpn: 'a VPN or security gateway',
} as const satisfies Partial<Record<FilteredBy, string>>
export type Infrastructure = keyof typeof INFRASTRUCTURE
export const INFRASTRUCTURES = Object.keys(INFRASTRUCTURE) as readonly Infrastructure[]

/** Fewer events prove nothing. */
export const EVENTS_MIN = 10
/** Least share of all classes together. */
export const PROXIED_SHARE = 0.8

/** Most events of a sender come from infrastructure. */
export interface Proxied {
  /** The class with most events. */
  readonly by: Infrastructure
  readonly by_events: number
  /** Of all classes. */
  readonly events: number
  readonly all: number
}

/** @param all events without repeats and without requests that are no page views */
export function proxiedOf(filtered: FilteredCounts, all: number): Proxied | undefined {
  const counts = INFRASTRUCTURES.map((name) => [name, filtered[name] ?? 0] as const)
  const events = counts.reduce((sum, [, n]) => sum + n, 0)
  if (events < Math.max(EVENTS_MIN, PROXIED_SHARE * all)) return undefined
  const [by, most] = counts.reduce((best, one) => (one[1] > best[1] ? one : best))
  return { by, by_events: most, events, all }
}

/** A sentence for people. @param when ends with a blank, such as `since yesterday ` */
export function proxiedText({ by, by_events: most, events, all }: Proxied, when = ''): string {
  const named = INFRASTRUCTURE[by]
  const network = most === events ? named : `infrastructure, ${countText(most)} of them of ${named}`
  return `${shareText(events, all)} ${when}came from addresses of ${network}, and were filtered as noise.`
}

/** The remedy for a program that sends with an API key, a sentence. */
export function proxiedRemedy({ by }: Proxied): string {
  const header = by === 'cdn' ? 'CF-Connecting-IP or X-Forwarded-For' : 'X-Forwarded-For'
  return `That is most likely your own proxy or server: send the address of the visitor, which a proxy adds as ${header}.`
}

/** `All 12 events`, `9 of 12 events` */
export function shareText(part: number, whole: number): string {
  return `${part === whole ? 'All' : `${countText(part)} of`} ${countText(whole)} events`
}
