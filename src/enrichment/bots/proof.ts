import { type Bot, botReason } from '../../../schemas/bots.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { enrichmentOf } from '../answers/answer.ts'
import { SIGNS } from './signs.ts'

/** Answers for claims by the answer for the address, so that equal answers are one object. At most one for each bot. */
const variants = new WeakMap<Enrichment, Map<Bot, Enrichment>>()

/**
 * The answer for an event whose user agent names a bot. The claim is verified when the address is published for the operator of the
 * bot. An address of another operator's bot keeps its own, and a reserved address stays reserved.
 */
export function withClaim(enrichment: Enrichment, claimed: Bot): Enrichment {
  const { classification, bot } = enrichment
  if (classification === 'reserved' || bot === claimed) return enrichment
  const isProven = isVerified(enrichment, claimed)
  if (bot !== undefined && !isProven) return enrichment
  let known = variants.get(enrichment)
  if (known === undefined) {
    known = new Map()
    variants.set(enrichment, known)
  }
  let variant = known.get(claimed)
  if (variant === undefined) {
    variant = asBot(enrichment, claimed, isProven)
    known.set(claimed, variant)
  }
  return variant
}

function isVerified({ bot, data }: Enrichment, claimed: Bot): boolean {
  const { operator, verifiedIn } = SIGNS[claimed]
  return (
    (bot !== undefined && operator !== '' && SIGNS[bot].operator === operator) ||
    !!verifiedIn?.includes(Number(data.asn))
  )
}

function asBot({ quality, data }: Enrichment, bot: Bot, isProven: boolean): Enrichment {
  return enrichmentOf({
    noise: true,
    classification: 'bot',
    quality,
    data: { ...data, classification: 'bot' },
    companyId: '',
    filteredAs: botReason(bot, isProven ? 'verified' : 'claimed'),
    bot,
  })
}
