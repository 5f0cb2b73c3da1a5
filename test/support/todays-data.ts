import type { Classification } from '../../schemas/classification.ts'
import type { TodaysData } from '../../src/operations/reenrich/ports.ts'
import type { Enrichment, EnrichmentData } from '../../src/pipeline/event/enrichment.ts'
import { enrichmentColumns } from '../../src/pipeline/event/row.ts'

/** The data about an address. */
export interface Known extends EnrichmentData {
  readonly companyId: string
  readonly noise?: boolean
  readonly classification?: Classification
}

/** Data returned by a function; a host name is passed on. */
export function todaysData(knownOf: (ip: string) => Known): TodaysData {
  return {
    enrich: ({ text }, hostname) => enrichmentOf(knownOf(text), hostname),
  }
}

function enrichmentOf({ companyId, noise = false, ...data }: Known, hostname: string): Enrichment {
  const known = {
    noise,
    classification: data.classification,
    quality: companyId === '' ? 0 : 70,
    data: { ...(hostname === '' ? {} : { hostname }), ...data },
    companyId,
  }
  return { ...known, answerJson: '', ...enrichmentColumns(known) }
}
