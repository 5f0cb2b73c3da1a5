import type { LiveEvent } from '../../../../schemas/live-event.ts'
import { TEXTS } from '../texts/texts.ts'
import { whyOf } from './live-tail.ts'

const texts = TEXTS.lib.seen

/** What was seen of a page view, and what ipid made of it. */
export interface Seen {
  /** A sentence. */
  readonly text: string
  /** What to do next, a sentence; undefined: nothing. */
  readonly next?: string
}

const NETWORKS: Readonly<Record<string, string>> = texts.networks

const LOOPBACK = /^(?:127\.|::1$)/

/** "Your visit of example.com/pricing from 127.0.0.1 was received and left out, because 127.0.0.1 is your own machine." */
export function seenOf(event: LiveEvent): Seen {
  const { status, company, ip, page } = event
  const visit = texts.visit(page, ip)
  if (status === 'invalid_ip') return { text: texts.noAddress(visit) }
  if (status === 'filtered') return { text: texts.leftOut(visit, becauseOf(event)), next: nextOf(event) }
  return { text: company === null ? texts.kept(visit) : texts.recognised(visit, company) }
}

function becauseOf(event: LiveEvent): string {
  const { rule, filtered_as: by, classification, ip } = event
  if (rule !== null) return texts.byRule(rule)
  if (by !== null) return whyOf(event)
  if (classification === 'reserved') {
    return ip !== null && LOOPBACK.test(ip) ? texts.ownMachine(ip) : texts.privateNetwork
  }
  return NETWORKS[classification ?? ''] ?? whyOf(event)
}

function nextOf({ classification }: LiveEvent): string {
  return classification === 'reserved' ? texts.proxy : texts.works
}
