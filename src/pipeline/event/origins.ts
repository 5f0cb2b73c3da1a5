import type { Classification } from '../../../schemas/classification.ts'
import type { Enrichment } from './enrichment.ts'

/*
 * Visitors do not all come from one cloud, CDN or private network. When most events of a tenant do, the tenant probably sends the
 * address of its own proxy (schemas/README.md, Most events from one network).
 */

/** Most networks of a tally. Rare ones give way to others. */
const ORIGINS_MAX = 16
/** Characters. */
const NAME_MAX = 120
/** Line breaks and control characters. Names come from data files of third parties. */
const CONTROLS = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu
const SUSPECT: ReadonlySet<Classification | undefined> = new Set(['hosting', 'cloud', 'cdn', 'reserved'] as const)

/** Warn when a network has more than this share of at least this many events. */
const ORIGIN_WARNING = { share: 0.5, eventsMin: 100 } as const

/** A cache. Works because equal enrichments are the same object while they are cached. */
const known = new WeakMap<Enrichment, string>()

/** Class and network of infrastructure that visitors do not use; `''` for all others, and if a tenant's rule decides. */
export function originOf(enrichment: Enrichment): string {
  const { noise, classification, rule, data } = enrichment
  if (!noise || rule !== undefined || !SUSPECT.has(classification)) return ''
  let origin = known.get(enrichment)
  if (origin === undefined) {
    origin = originText(classification!, Number(data.asn ?? 0), String(data.as_name ?? data.org_name ?? ''))
    known.set(enrichment, origin)
  }
  return origin
}

/** As `originOf`, from the columns of a row. */
export function originText(classification: string, asn: number, name: string): string {
  if (!SUSPECT.has(classification as Classification)) return ''
  const text = [classification, ...(asn > 0 ? [`AS${asn}`] : []), name].join(' ').replace(CONTROLS, ' ').trim()
  return text.length <= NAME_MAX ? text : [...text].slice(0, NAME_MAX).join('')
}

/** Number of events, in total and by suspect network. */
export interface OriginCounts {
  readonly events: number
  readonly byOrigin: ReadonlyMap<string, number>
}

/** Counts events by network in bounded memory. The count of a network is too low by at most a 17th of all events. */
export class OriginTally implements OriginCounts {
  events = 0
  readonly byOrigin = new Map<string, number>()

  /** @param origin `''` when the network is not suspect */
  add(origin: string, events = 1): void {
    this.events += events
    if (origin !== '') this.#count(origin, events)
  }

  addAll({ events, byOrigin }: OriginCounts): void {
    this.events += events
    for (const [origin, count] of byOrigin) this.#count(origin, count)
  }

  /** The Misra-Gries algorithm: a network without room lowers the counts of all others. */
  #count(origin: string, events: number): void {
    const before = this.byOrigin.get(origin)
    if (before !== undefined || this.byOrigin.size < ORIGINS_MAX) {
      this.byOrigin.set(origin, (before ?? 0) + events)
      return
    }
    const least = Math.min(events, ...this.byOrigin.values())
    for (const [other, count] of this.byOrigin) {
      if (count === least) this.byOrigin.delete(other)
      else this.byOrigin.set(other, count - least)
    }
    if (events > least) this.byOrigin.set(origin, events - least)
  }
}

export interface OriginWarning {
  /** Class and network, as in `originOf`. */
  readonly origin: string
  readonly share: number
  /** A sentence for people. */
  readonly text: string
}

/** Undefined when no network is above the limit. */
export function originWarning({ events, byOrigin }: OriginCounts): OriginWarning | undefined {
  if (events < ORIGIN_WARNING.eventsMin) return undefined
  let most: readonly [string, number] = ['', 0]
  for (const entry of byOrigin) if (entry[1] > most[1]) most = entry
  const share = Math.min(1, most[1] / events)
  if (share <= ORIGIN_WARNING.share) return undefined
  const [origin] = most
  return { origin, share, text: `${Math.floor(share * 100)} % of ${events} events come from ${mistakeOf(origin)}` }
}

function mistakeOf(origin: string): string {
  const space = origin.indexOf(' ')
  const [classification, name] = space < 0 ? [origin, ''] : [origin.slice(0, space), origin.slice(space + 1)]
  const header = 'take the visitor’s from the header that it adds, such as X-Forwarded-For'
  if (classification === 'reserved') {
    return `private or reserved addresses: most likely the address of your own load balancer or proxy is sent; ${header}`
  }
  const network = name === '' ? `a network of class ${classification}` : `one network, ${name} (${classification})`
  if (classification === 'cdn') {
    return `${network}: most likely the address of the CDN in front of your site is sent; ${header} or CF-Connecting-IP`
  }
  return `${network}: most likely the address of a server or proxy of yours is sent; ${header}`
}

const COUNT_PREFIX = 'origin:'
/** Smallest share of a block to count. A network with a larger share of a job reaches it in some blocks. */
const BLOCK_SHARE = 0.1

/** The counts as a stage adds them to the progress of a batch job. */
export function* countsOf({ events, byOrigin }: OriginCounts): Generator<[name: string, events: number]> {
  for (const [origin, count] of byOrigin) if (count >= events * BLOCK_SHARE) yield [COUNT_PREFIX + origin, count]
}

/** The reverse of `countsOf`, for a whole job. @param events with a valid address */
export function originsOfCounts(counts: ReadonlyMap<string, number>, events: number): OriginCounts {
  const found = [...counts].filter(([name]) => name.startsWith(COUNT_PREFIX))
  return { events, byOrigin: new Map(found.map(([name, count]) => [name.slice(COUNT_PREFIX.length), count])) }
}
