import { ATTRIBUTES, type Attribute, INGEST_ATTRIBUTES, LOCATION_ATTRIBUTES } from '../../../schemas/attributes.ts'
import { botReason } from '../../../schemas/bots.ts'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { Enrichment, EnrichmentData } from '../../pipeline/event/enrichment.ts'
import { enrichmentColumns, flatText } from '../../pipeline/event/row.ts'
import { BoundedCache, charactersIn } from '../bounded-cache.ts'
import type { Merged } from './merge.ts'
import { QUALITY_PARTS } from './quality.ts'

/** The only location attributes that rows keep. */
const COUNTRY: readonly Attribute[] = ['country', 'country_code']
/** Neither rows nor answers of ingest hold these. With them, nearly every network would need an answer of its own. */
const LOOKUP_ONLY: readonly Attribute[] = ['network', ...LOCATION_ATTRIBUTES.filter((name) => !COUNTRY.includes(name))]
/** Attributes of answers that are in no column. */
const UNSTORED = ATTRIBUTES.filter(
  (attribute) => !LOOKUP_ONLY.includes(attribute) && !(ENRICHMENT_COLUMNS as readonly string[]).includes(attribute),
)
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

/** Bytes of V8's heap that an answer takes without its long texts, measured with the default data. */
export const ANSWER_BYTES = 600

/** Bytes of memory that an answer takes. */
export function bytesOfAnswer({ answerJson, columns, accountColumns, data }: Enrichment): number {
  return ANSWER_BYTES + answerJson.length + columns.length + accountColumns.length + charactersIn(data)
}

/** Makes answers. Equal answers are the same object. */
export class Answers {
  /** By their content. */
  readonly #known: BoundedCache<string, Enrichment>

  /** @param bytesMax of memory */
  constructor(bytesMax: number) {
    this.#known = new BoundedCache(bytesMax, { entry: (content, answer) => content.length + bytesOfAnswer(answer) })
  }

  of(merged: Merged): Enrichment {
    const { noise, quality, companyId, decision, bot } = merged
    const data = keptOf(merged.data)
    const known = { noise, classification: decision.classification, quality, data, companyId }
    const columns = enrichmentColumns(known)
    // The columns hold all that tells answers apart, but for a few attributes.
    const content = flatText(
      columns.accountColumns,
      ...UNSTORED.map((name) => `\t${data[name] ?? ''}`),
      `\t${bot ?? ''}`,
    )
    let answer = this.#known.get(content)
    if (answer === undefined) {
      const named = bot === undefined ? {} : { bot, filteredAs: botReason(bot, 'verified') }
      answer = enrichmentOf({ ...known, ...named }, columns)
      this.#known.set(content, answer)
    }
    return answer
  }
}

/** The attributes that answers keep: the same object if these are all, as in the default data. */
function keptOf(all: Readonly<EnrichmentData>): Readonly<EnrichmentData> {
  if (LOOKUP_ONLY.every((attribute) => all[attribute] === undefined)) return all
  const data: EnrichmentData = {}
  for (const attribute of KEPT_ATTRIBUTES) {
    const value = all[attribute]
    if (value !== undefined) data[attribute] = value
  }
  return data
}

/** Completes an answer with its JSON and its columns. */
export function enrichmentOf(
  known: Omit<Enrichment, 'answerJson' | 'columns' | 'accountColumns'>,
  columns = enrichmentColumns(known),
): Enrichment {
  const answer: EnrichmentData = {}
  for (const attribute of INGEST_ATTRIBUTES) {
    const value = known.data[attribute]
    if (value !== undefined) answer[attribute] = value
  }
  return Object.freeze({
    ...known,
    data: Object.freeze(known.data),
    answerJson: flatText('"enrichment":', JSON.stringify(answer), ',"quality":', String(known.quality)),
    ...columns,
  })
}
