import { ATTRIBUTES, type Attribute, INGEST_ATTRIBUTES, LOCATION_ATTRIBUTES } from '../../../schemas/attributes.ts'
import { botReason } from '../../../schemas/bots.ts'
import type { Enrichment, EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { enrichmentColumns, flatText } from '../../pipeline/event/row.ts'
import { BoundedCache } from '../bounded-cache.ts'
import type { Merged } from './merge.ts'
import { QUALITY_PARTS } from './quality.ts'

/** The only location attributes that rows keep. */
const COUNTRY: readonly Attribute[] = ['country', 'country_code']
/** Neither rows nor answers of ingest hold these. With them, nearly every network would need an answer of its own. */
const LOOKUP_ONLY: readonly Attribute[] = ['network', ...LOCATION_ATTRIBUTES.filter((name) => !COUNTRY.includes(name))]
const KEPT_ATTRIBUTES = ATTRIBUTES.filter((attribute) => !LOOKUP_ONLY.includes(attribute))

/** The answer for an address that no provider knows. */
export const NOTHING_KNOWN: Enrichment = enrichmentOf({
  noise: false,
  classification: undefined,
  quality: 0,
  data: {},
  companyId: '',
})

/** The answer for a reserved address. */
export const RESERVED: Enrichment = enrichmentOf({
  noise: true,
  classification: 'reserved',
  quality: QUALITY_PARTS.classification,
  data: { classification: 'reserved' },
  companyId: '',
})

/** Makes answers. Equal answers are the same object. */
export class Answers {
  readonly #known: BoundedCache<string, Enrichment>

  constructor(answersMax: number) {
    this.#known = new BoundedCache(answersMax)
  }

  of(merged: Merged): Enrichment {
    const { noise, quality, companyId, decision, bot } = merged
    const data: EnrichmentData = {}
    for (const attribute of KEPT_ATTRIBUTES) {
      const value = merged.data[attribute]
      if (value !== undefined) data[attribute] = value
    }
    const content = JSON.stringify([noise, quality, companyId, data, bot])
    let answer = this.#known.get(content)
    if (answer === undefined) {
      const named = bot === undefined ? {} : { bot, filteredAs: botReason(bot, 'verified') }
      answer = enrichmentOf({ noise, classification: decision.classification, quality, data, companyId, ...named })
      this.#known.set(content, answer)
    }
    return answer
  }
}

/** Completes an answer with its JSON and its columns. */
export function enrichmentOf(known: Omit<Enrichment, 'answerJson' | 'columns' | 'accountColumns'>): Enrichment {
  const answer: EnrichmentData = {}
  for (const attribute of INGEST_ATTRIBUTES) {
    const value = known.data[attribute]
    if (value !== undefined) answer[attribute] = value
  }
  return Object.freeze({
    ...known,
    data: Object.freeze(known.data),
    answerJson: flatText('"enrichment":', JSON.stringify(answer), ',"quality":', String(known.quality)),
    ...enrichmentColumns(known),
  })
}
