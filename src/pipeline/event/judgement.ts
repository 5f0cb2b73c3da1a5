import type { Judgement } from '../../../schemas/live-event.ts'
import { cutText } from '../../run/cut-text.ts'
import type { Enrichment } from './enrichment.ts'
import { statusOf } from './envelope.ts'

const TEXT_CHARS = 120

/** Status and main facts of an event for people. @param enrichment undefined: the address is invalid */
export function judgementOf(enrichment: Enrichment | undefined): Judgement {
  const { data = {}, classification, quality = 0, rule, filteredAs } = enrichment ?? {}
  return {
    status: statusOf(enrichment),
    company: shortText(data.business_name ?? data.org_name ?? data.as_name),
    domain: shortText(data.domain),
    country_code: shortText(data.country_code),
    classification: classification ?? null,
    quality,
    rule: shortText(rule),
    filtered_as: filteredAs ?? null,
  }
}

/** A value as text, shortened; null when it is empty. */
export function shortText(value: string | number | undefined): string | null {
  if (value === undefined || value === '') return null
  const text = String(value)
  return text.length > TEXT_CHARS ? `${cutText(text, TEXT_CHARS - 1)}…` : text
}
