import type { Classification } from '../../../schemas/classification.ts'
import type { EnrichmentData } from '../../pipeline/event/enrichment.ts'

/**
 * The parts of the quality score. An answer gets the points of every known part; the maximum is 100. A score measures how much is known.
 * How often answers with a score are right depends on the data: `ipid quality` measures it (src/operations/accuracy/README.md).
 *
 * | part | points |
 * |---|---|
 * | the organisation, named by a source about the address itself | 40 |
 * | or only by the name of the network or its autonomous system | 20 |
 * | domain | 15 |
 * | industry or its category, from a source | 15 |
 * | or only from a word of the organisation's name | 5 |
 * | classification with evidence | 10 |
 * | or only by a vote of the model | 5 |
 * | country | 5 |
 * | city | 5 |
 * | autonomous system | 5 |
 * | host name | 5 |
 */
export const QUALITY_PARTS = {
  organisation: 40,
  networkName: 20,
  domain: 15,
  industry: 15,
  derivedCategory: 5,
  classification: 10,
  vote: 5,
  country: 5,
  city: 5,
  asn: 5,
  hostname: 5,
} as const

/** How an answer was found. */
interface Grounds {
  /** A source about the address itself names the organisation. */
  readonly named: boolean
  /** The classification rests on the model alone. */
  readonly voted?: boolean
  /** A word of the name states the category. */
  readonly derived?: boolean
}

/** @returns 0 to 100 */
export function qualityOf(
  data: Readonly<EnrichmentData>,
  classification: Classification | undefined,
  { named, voted = false, derived = false }: Grounds,
): number {
  let quality = 0
  if (named) quality += QUALITY_PARTS.organisation
  else if (data.org_name !== undefined || data.as_name !== undefined) quality += QUALITY_PARTS.networkName
  if (data.domain !== undefined) quality += QUALITY_PARTS.domain
  if (derived) quality += QUALITY_PARTS.derivedCategory
  else if (data.industry !== undefined || data.industry_category !== undefined) quality += QUALITY_PARTS.industry
  if (classification !== undefined) quality += voted ? QUALITY_PARTS.vote : QUALITY_PARTS.classification
  if (data.country !== undefined || data.country_code !== undefined) quality += QUALITY_PARTS.country
  if (data.city !== undefined) quality += QUALITY_PARTS.city
  if (data.asn !== undefined) quality += QUALITY_PARTS.asn
  if (data.hostname !== undefined) quality += QUALITY_PARTS.hostname
  return quality
}
