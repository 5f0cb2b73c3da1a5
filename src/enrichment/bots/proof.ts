import { BOTS_MAX, type Bot, botReason } from '../../../schemas/bots.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { enrichmentOf } from '../answers/answer.ts'
import { Variants } from '../answers/variants.ts'
import { SIGNS } from './signs.ts'

/** By claimed bot. */
const variants = new Variants<Enrichment>(BOTS_MAX)

/**
 * The answer for an event whose user agent names a bot. The claim is verified when the address is published for the operator of the
 * bot. An address of another operator's bot keeps its own, and a reserved address stays reserved.
 */
export function withClaim(enrichment: Enrichment, claimed: Bot): Enrichment {
  const { classification, bot } = enrichment
  if (classification === 'reserved' || bot === claimed) return enrichment
  const isProven = isVerified(enrichment, claimed)
  if (bot !== undefined && !isProven) return enrichment
  return variants.of(enrichment, claimed, () => asBot(enrichment, claimed, isProven))
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
