import { Random } from '../../run/random.ts'
import type { DemoOrganisation, DemoVisitors } from './organisations.ts'

/** Share of the sessions of an organisation whose visitor gives an e-mail address. */
const KNOWN = 0.15
/** Share of sessions whose visitor is a guest from another organisation. */
const GUESTS = 0.05
/** Share of visitors who give a private address. */
const PRIVATE = 0.05
/** More than the sessions of a year, so that seeds do not meet. */
const SESSIONS_MAX = 10_000_000

/** Chooses the visitors of the demo. The same seed gives the same session the same person. */
export interface DemoPeople {
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
