import { type Static, Type } from 'typebox'

/**
 * Why an event has no company, most useful to know first. `label` follows a number of events, `about` names the class. The data do not tell mobile networks
 * from lines at home: both are access providers.
 */
export const NOT_NAMED = {
  access: {
    label: 'from access providers (home offices, mobiles)',
    about: 'Home offices and mobiles (access providers)',
  },
  hosting: { label: 'from servers of hosting providers, clouds and CDNs', about: 'Hosting providers, clouds and CDNs' },
  vpn: { label: 'from VPNs and gateways', about: 'VPNs, Tor, relays and gateways' },
  bot: { label: 'from bots', about: 'Bots' },
  reserved: { label: 'from private addresses', about: 'Private addresses' },
  rules: { label: 'left out by your rules', about: 'Left out by your rules' },
  unknown: { label: 'from networks whose company is not known', about: 'Company not known' },
} as const

export type NotNamed = keyof typeof NOT_NAMED
export const NOT_NAMED_CLASSES = Object.keys(NOT_NAMED) as readonly NotNamed[]

const Counts = Object.fromEntries(NOT_NAMED_CLASSES.map((name) => [name, Type.Integer()])) as Record<
  NotNamed,
  ReturnType<typeof Type.Integer>
>

/** Events of some UTC days of receipt, by whether their company could be named. Repeats and invalid events are not counted. */
export const NamedCounts = Type.Object({
  /** First and last UTC day, `YYYY-MM-DD`. */
  from: Type.String(),
  to: Type.String(),
  /** Stored and filtered events: `named`, and all of `others`. */
  events: Type.Integer(),
  /** Stored with a company. People may have hidden it since. */
  named: Type.Integer(),
  /** `named` as a share of `events`, 0 to 1; null without an event. */
  share: Type.Union([Type.Number(), Type.Null()]),
  others: Type.Object(Counts),
})
export type NamedCounts = Static<typeof NamedCounts>

/** Two spans of as many days, one after the other. */
export const NamedSpans = Type.Object({ now: NamedCounts, before: NamedCounts })
export type NamedSpans = Static<typeof NamedSpans>

interface Shares {
  readonly now: Pick<NamedCounts, 'share'>
  readonly before: Pick<NamedCounts, 'share'>
}

/** Percentage points by which the share changed, rounded; undefined when a span has no event. */
export function pointsOf({ now, before }: Shares): number | undefined {
  if (now.share === null || before.share === null) return undefined
  return Math.round(100 * now.share) - Math.round(100 * before.share)
}

/** `+3 points`; `''` when a span has no event. */
export function pointsText(shares: Shares): string {
  const points = pointsOf(shares)
  if (points === undefined) return ''
  if (points === 0) return 'no change'
  return `${points > 0 ? '+' : '−'}${Math.abs(points)} ${Math.abs(points) === 1 ? 'point' : 'points'}`
}

/** Classes with events, the most frequent first. */
export function othersOf({ others }: Pick<NamedCounts, 'others'>): [NotNamed, number][] {
  return NOT_NAMED_CLASSES.map((name): [NotNamed, number] => [name, others[name]])
    .filter(([, events]) => events > 0)
    .sort((a, b) => b[1] - a[1])
}
