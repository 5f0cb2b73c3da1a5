import type { Classification } from '../../../schemas/classification.ts'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { fromTsv } from '../../pipeline/event/row.ts'
import type { EnrichmentColumn, Group, TodaysData, Values } from './ports.ts'

/** What today's data say of stored events. */
export interface Judgement {
  readonly isNoise: boolean
  readonly classification: Classification | undefined
  /** Why a tenant's rule makes noise of it; undefined: the class does, if it is noise. */
  readonly filteredAs?: FilterReason | undefined
  readonly values: Values
  /** Whether that is anything else than what is stored. */
  readonly isChange: boolean
}

const HOSTNAME_AT = indexOf('hostname')

/** The value of a column. */
export function columnValue(values: Values, column: EnrichmentColumn): string {
  return values[indexOf(column)]!
}

/** Undefined for what is stored in place of an address: nobody can judge it. */
export function judge({ ip, values }: Pick<Group, 'ip' | 'values'>, data: TodaysData): Judgement | undefined {
  const address = parseAddress(ip)
  if (address === undefined) return undefined
  const enrichment = data.enrich(address, values[HOSTNAME_AT]!)
  const today = valuesOf(enrichment)
  return {
    isNoise: enrichment.noise,
    classification: enrichment.classification,
    ...(enrichment.filteredAs && { filteredAs: enrichment.filteredAs }),
    values: today,
    isChange: enrichment.noise || today.some((value, i) => value !== values[i]),
  }
}

/** Equal enrichments are one object as long as they are cached. */
const known = new WeakMap<Enrichment, Values>()

function valuesOf(enrichment: Enrichment): Values {
  let values = known.get(enrichment)
  if (values === undefined) {
    values = enrichment.columns.split('\t').map(fromTsv)
    known.set(enrichment, values)
  }
  return values
}

function indexOf(column: EnrichmentColumn): number {
  return ENRICHMENT_COLUMNS.indexOf(column)
}
