/**
 * Why events are filtered: the class of their address, their bot, a rule of the tenant, or a request that read no page. `label` follows a number of events, `about`
 * says more.
 */
export const FILTERED = {
  reserved: { label: 'from private addresses', about: 'private or reserved addresses' },
  isp: { label: 'from access providers', about: 'visitors of an access provider, not of a company' },
  hosting: { label: 'from hosting providers', about: 'servers of a hosting provider' },
  cloud: { label: 'from clouds', about: 'servers of a cloud' },
  cdn: { label: 'from CDNs', about: 'a content delivery network' },
  vpn: { label: 'from VPNs', about: 'VPNs, Tor, private relays and security gateways' },
  bot: { label: 'from bots', about: 'bots' },
  own: { label: 'by your rule own', about: 'your own traffic' },
  always_noise: { label: 'by your rule always-noise', about: 'always noise' },
  unclassified: { label: 'by your rule unclassified', about: 'unknown class' },
  no_page: { label: 'that read no page', about: 'requests that are no page views' },
  /** Reasons of a stage of your own, or of a later version. */
  other: { label: 'for other reasons', about: 'other reasons' },
} as const

/** Requests that read no page: see `isPageView`. They have a status of their own in `outcomes`. */
export const NO_PAGE = 'no_page'

/** Starts the reasons of bots in `outcomes`. */
export const BOT = 'bot:'

export type FilteredBy = keyof typeof FILTERED
/** Numbers of filtered events. Bounded: there are only these reasons. */
export type FilteredCounts = Readonly<Partial<Record<FilteredBy, number>>>

/** The reason of filtered events. @param reason, classification as in `outcomes` */
export function filteredBy(reason: string, classification: string): FilteredBy {
  const name = reason.startsWith(BOT) ? 'bot' : reason || classification
  return Object.hasOwn(FILTERED, name) ? (name as FilteredBy) : 'other'
}

/** Adds to counts in place. */
export function addFiltered(counts: Partial<Record<FilteredBy, number>>, by: FilteredBy, events = 1): void {
  counts[by] = (counts[by] ?? 0) + events
}

/** The number of events of all reasons. */
export function filteredSum(counts: FilteredCounts): number {
  return Object.values(counts).reduce((sum, events) => sum + events, 0)
}

/** The counts, with `other` for the events of `all` that have no reason: earlier versions count none. */
export function withOthers(counts: FilteredCounts, all: number): FilteredCounts {
  const rest = all - filteredSum(counts)
  return rest > 0 ? { ...counts, other: (counts.other ?? 0) + rest } : counts
}

/** `20 from private addresses, 5 from bots`: the most frequent reason first; `''` when there is none. */
export function filteredText(counts: FilteredCounts): string {
  return (
    mostFirst(counts)
      // A later version may have sent them.
      .map(([by, events]) => `${events.toLocaleString('en-US')} ${(FILTERED[by] ?? FILTERED.other).label}`)
      .join(', ')
  )
}

/** Reasons with events, the most frequent first. */
export function mostFirst(counts: FilteredCounts): [by: FilteredBy, events: number][] {
  return (Object.entries(counts) as [FilteredBy, number][]).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1])
}
