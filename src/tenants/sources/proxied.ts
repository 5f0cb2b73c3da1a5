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
/** Least share of one class. */
export const PROXIED_SHARE = 0.8

/** Most events of a sender come from one class of infrastructure. */
export interface Proxied {
  readonly by: Infrastructure
  readonly events: number
  readonly all: number
}

/** @param all events without repeats */
export function proxiedOf(filtered: FilteredCounts, all: number): Proxied | undefined {
  const by = INFRASTRUCTURES.find((name) => (filtered[name] ?? 0) >= Math.max(EVENTS_MIN, PROXIED_SHARE * all))
  return by && { by, events: filtered[by]!, all }
}

/** A sentence for people. @param when ends with a blank, such as `since yesterday ` */
export function proxiedText({ by, events, all }: Proxied, when = ''): string {
  return `${shareText(events, all)} ${when}came from addresses of ${INFRASTRUCTURE[by]}, and were filtered as noise.`
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
