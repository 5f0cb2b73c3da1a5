import { Random } from '../../run/random.ts'
import type { DemoOrganisation, DemoVisitors } from './organisations.ts'

/** An event of the demo, in the form of `EventEnvelope`. */
export interface DemoEvent {
  readonly ip: string
  /** `demo-SEED-NUMBER`: the same for the same seed, days and UTC day. */
  readonly event_id: string
  /** RFC 3339, UTC. */
  readonly timestamp: string
  readonly event_type: string
  readonly session_id: number
  readonly platform: 'web'
  readonly url: string
  readonly referrer?: string
  readonly utm_source?: string
  readonly utm_medium?: string
  readonly utm_campaign?: string
  /** `demo` marks the event as made up. */
  readonly properties: Readonly<Record<string, string | boolean>>
  readonly user_properties?: Readonly<Record<string, string>>
}

export interface DemoOptions extends DemoVisitors {
  readonly seed: number
  /** Days up to now. */
  readonly days: number
  /** Milliseconds since the epoch: the end of the visits. */
  readonly nowMs: number
}

const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
const SITE = 'https://www.example.com'
/** Sessions of the most frequent visitor on a working day. */
const SESSIONS_MOST = 14
/** Noise is a third of the sessions. */
const NOISE_SHARE = 0.5
/** Share of sessions on a Saturday or Sunday. */
const WEEKEND = 0.15
/** Share of organisations whose first visit is within the month. */
const NEWCOMERS = 0.4

const PAGES: readonly (readonly [path: string, title: string, weight: number])[] = [
  ['/', 'Example: widgets for teams', 30],
  ['/product', 'Product', 18],
  ['/pricing', 'Pricing', 14],
  ['/docs', 'Documentation', 12],
  ['/docs/api', 'API reference', 8],
  ['/blog', 'Blog', 6],
  ['/blog/how-we-cut-build-times', 'How we cut build times', 6],
  ['/customers', 'Customers', 5],
  ['/security', 'Security', 4],
  ['/about', 'About us', 3],
  ['/careers', 'Careers', 3],
  ['/contact', 'Contact sales', 3],
]

interface Entry {
  readonly weight: number
  readonly path?: string
  readonly referrer?: string
  readonly utm?: { readonly utm_source: string; readonly utm_medium: string; readonly utm_campaign: string }
}

/** The sources of sessions. */
const ENTRIES: readonly Entry[] = [
  { weight: 40 },
  { weight: 28, referrer: 'https://www.google.com/' },
  { weight: 6, referrer: 'https://www.bing.com/' },
  { weight: 6, referrer: 'https://github.com/', path: '/docs' },
  { weight: 4, referrer: 'https://chatgpt.com/', path: '/product' },
  {
    weight: 8,
    referrer: 'https://www.linkedin.com/',
    path: '/pricing',
    utm: { utm_source: 'linkedin', utm_medium: 'paid_social', utm_campaign: 'autumn' },
  },
  {
    weight: 8,
    path: '/blog/how-we-cut-build-times',
    utm: { utm_source: 'newsletter', utm_medium: 'email', utm_campaign: 'november' },
  },
]

/** Hours from UTC of the business day of a country; all others have that of Western Europe. */
const OFFSETS: Readonly<Record<string, number>> = {
  ...{
    US: -6,
    CA: -5,
    MX: -6,
    BR: -3,
    AR: -3,
    CL: -4,
    CO: -5,
    GB: 0,
    IE: 0,
    PT: 0,
    FI: 2,
    GR: 2,
    UA: 2,
    RO: 2,
    TR: 3,
    RU: 3,
  },
  ...{
    SA: 3,
    ZA: 2,
    EG: 2,
    IL: 2,
    AE: 4,
    IN: 5.5,
    TH: 7,
    VN: 7,
    ID: 7,
    CN: 8,
    SG: 8,
    HK: 8,
    TW: 8,
    MY: 8,
    PH: 8,
    JP: 9,
    KR: 9,
    AU: 10,
    NZ: 12,
  },
}

/**
 * Makes plausible visits of a website: some organisations often, most of them seldom, in their business hours, with pages, campaigns,
 * sign-ups, and access providers between them. The same options make the same events,
 * and a later time of the same day the same ones and more.
 * @returns ordered by time within a day of a visitor, not over all
 */
export function* demoVisits({ organisations, noise, seed, days, nowMs }: DemoOptions): Generator<DemoEvent> {
  const random = new Random(seed)
  const people = demoPeople(organisations, seed)
  let events = 0
  let sessions = 0
  for (const [visitors, factor] of [[organisations, 1] as const, [noise, NOISE_SHARE] as const]) {
    for (const [rank, visitor] of visitors.entries()) {
      const perDay = (SESSIONS_MOST * factor) / (rank + 1) ** 0.75
      const firstDay = random.next() < NEWCOMERS ? Math.floor(random.between(0, days)) : 0
      for (let day = firstDay; day < days; day++) {
        const startMs = Math.floor(nowMs / DAY_MS - days + 1 + day) * DAY_MS
        const isWeekend = [0, 6].includes(new Date(startMs).getUTCDay())
        const count = poisson(random, perDay * (isWeekend ? WEEKEND : 1))
        for (let i = 0; i < count; i++) {
          const session = { people, seed, id: ++sessions, startMs, visitor }
          for (const event of sessionEvents(random, session)) {
            events++
            // Visits after now are made too, so that a run later the same day makes the same ones.
            if (Date.parse(event.timestamp) <= nowMs) yield { ...event, event_id: `demo-${seed}-${events}` }
          }
        }
      }
    }
  }
}

interface Session {
  readonly people: DemoPeople
  readonly seed: number
  readonly id: number
  /** Start of its UTC day. */
  readonly startMs: number
  readonly visitor: DemoOrganisation
}

function* sessionEvents(
  random: Random,
  { people, seed, id, startMs, visitor }: Session,
): Generator<Omit<DemoEvent, 'event_id'>> {
  const entry = weighted(random, ENTRIES, ({ weight }) => weight)
  const ip = random.pick(visitor.addresses)
  const hour = (random.next() + random.next()) * 5 + 8
  let atMs = startMs + (hour - (OFFSETS[visitor.country ?? ''] ?? 1)) * HOUR_MS
  const email = people.emailOf(id, visitor)
  let referrer = entry.referrer
  const pages = 1 + Math.floor(random.next() ** 3 * 9)
  const shared = { ip, session_id: seed * 10_000_000 + id, platform: 'web' as const }
  for (let page = 0; page < pages; page++) {
    const [path, title] =
      page === 0 && entry.path ? [entry.path, titleOf(entry.path)] : weighted(random, PAGES, (each) => each[2])
    const timestamp = new Date(atMs).toISOString()
    const url = SITE + path
    const common = { ...shared, timestamp, url, ...(referrer && { referrer }), ...(page === 0 && entry.utm) }
    const known = page === 0 && email !== undefined && { user_properties: { email } }
    yield { ...common, event_type: 'page', properties: { title, demo: true }, ...known }
    if (path === '/pricing' && visitor.domain !== undefined && random.next() < 0.04) {
      yield {
        ...common,
        event_type: 'Signed up',
        properties: { plan: 'trial', demo: true },
        user_properties: { email: email ?? `visitor${id}@${people.domainOf(id, visitor) ?? visitor.domain}` },
      }
    }
    referrer = url
    atMs += random.between(8, 150) * 1_000
  }
}

function titleOf(path: string): string {
  return PAGES.find(([known]) => known === path)![1]
}

function weighted<T>(random: Random, from: readonly T[], weightOf: (each: T) => number): T {
  let left = random.next() * from.reduce((sum, each) => sum + weightOf(each), 0)
  for (const each of from) {
    left -= weightOf(each)
    if (left < 0) return each
  }
  return from.at(-1)!
}

/** A number of independent occurrences, by Knuth's method, which is fast for small means. */
function poisson(random: Random, mean: number): number {
  const limit = Math.exp(-mean)
  let count = 0
  for (let product = random.next(); product > limit; product *= random.next()) count++
  return count
}

/** Share of the sessions of an organisation whose visitor gives an e-mail address. */
const KNOWN = 0.15
/** Share of sessions whose visitor is a guest from another organisation. */
const GUESTS = 0.05
/** Share of visitors who give a private address. */
const PRIVATE = 0.05
/** More than the sessions of a year, so that seeds do not meet. */
const SESSIONS_MAX = 10_000_000

/** Chooses the visitors of the demo. The same seed gives the same session the same person. */
interface DemoPeople {
  /** The organisation whose network meets only people of `officeOf`: the data mistake it for another one. */
  readonly office: DemoOrganisation | undefined
  readonly officeOf: string | undefined
  /** The organisation whose network meets people of all others. */
  readonly cafe: DemoOrganisation | undefined
  /** The domain of the visitor's employer; undefined for noise and for organisations without a domain. */
  domainOf(session: number, visitor: DemoOrganisation): string | undefined
  /** The e-mail address that the visitor gives, if any. */
  emailOf(session: number, visitor: DemoOrganisation): string | undefined
}

export function demoPeople(organisations: DemoVisitors['organisations'], seed: number): DemoPeople {
  const known = organisations.filter(({ domain }) => domain !== undefined)
  const domains = known.map(({ domain }) => domain!)
  const [first, , office, cafe] = known
  const drawn = (session: number) => new Random(seed * SESSIONS_MAX + session)
  const employer = (random: Random, visitor: DemoOrganisation): string => {
    if (visitor === office) return first!.domain!
    return random.next() < GUESTS || visitor === cafe ? random.pick(domains) : visitor.domain!
  }
  const isPerson = ({ companyId, domain }: DemoOrganisation) => companyId !== undefined && domain !== undefined
  return {
    office,
    officeOf: office && first!.domain,
    cafe,
    domainOf: (session, visitor) => (isPerson(visitor) ? employer(drawn(session), visitor) : undefined),
    emailOf(session, visitor) {
      if (!isPerson(visitor)) return undefined
      const random = drawn(session)
      const domain = employer(random, visitor)
      if (random.next() >= KNOWN) return undefined
      const isPrivate = visitor !== office && random.next() < PRIVATE
      return `visitor${session}@${isPrivate ? 'gmail.com' : domain}`
    },
  }
}
