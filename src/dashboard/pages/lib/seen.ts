import type { LiveEvent } from '../../../../schemas/live-event.ts'
import { whyOf } from './live-tail.ts'

/** What was seen of a page view, and what ipid made of it. */
export interface Seen {
  /** A sentence. */
  readonly text: string
  /** What to do next, a sentence; undefined: nothing. */
  readonly next?: string
}

const NETWORKS: Readonly<Record<string, string>> = {
  isp: 'its address belongs to an access provider: people at home and on phones have no known company',
  hosting: 'its address belongs to a hosting provider, where no people work',
  cloud: 'its address belongs to a cloud, where no people work',
  cdn: 'its address belongs to a content delivery network',
  vpn: 'its address belongs to a VPN, private relay or security gateway',
}

const LOOPBACK = /^(?:127\.|::1$)/

/** "Your visit of example.com/pricing from 127.0.0.1 was received and left out, because 127.0.0.1 is your own machine." */
export function seenOf(event: LiveEvent): Seen {
  const { status, company, ip, page } = event
  const visit = `The visit${page === undefined ? '' : ` of ${page}`}${ip === null ? '' : ` from ${ip}`} was received`
  if (status === 'invalid_ip') {
    return { text: `${visit}, but without an address that can be read, so no company can be found.` }
  }
  if (status === 'filtered') {
    return { text: `${visit} and left out, because ${becauseOf(event)}.`, next: nextOf(event) }
  }
  if (company !== null) return { text: `${visit} and kept: ipid recognised ${company}.` }
  return { text: `${visit} and kept. Its network belongs to no company that ipid knows.` }
}

function becauseOf(event: LiveEvent): string {
  const { rule, filtered_as: by, classification, ip } = event
  if (rule !== null) return `a rule of yours says so: ${rule}`
  if (by !== null) return whyOf(event)
  if (classification === 'reserved') {
    return ip !== null && LOOPBACK.test(ip)
      ? `${ip} is your own machine, and not on the internet`
      : 'that address is inside a private network, and not on the internet'
  }
  return NETWORKS[classification ?? ''] ?? whyOf(event)
}

function nextOf({ classification }: LiveEvent): string {
  return classification === 'reserved'
    ? 'The script works. If visitors come through a proxy, it must pass on their addresses (X-Forwarded-For).'
    : 'The script works. Visits from the networks of companies are kept, and appear under Companies.'
}
