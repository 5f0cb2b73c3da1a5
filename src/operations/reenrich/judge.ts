import type { Bot } from '../../../schemas/bots.ts'
import type { Classification } from '../../../schemas/classification.ts'
import { ENRICHMENT_COLUMNS } from '../../../schemas/row.ts'
import type { FilterReason } from '../../../schemas/tenant-rules.ts'
import { botOf } from '../../enrichment/bots/user-agent.ts'
import { parseAddress } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { fromTsv } from '../../pipeline/event/row.ts'
import type { EnrichmentColumn, Group, TodaysData, Values } from './ports.ts'

/** Result of today's data for stored events. */
export interface Judgement {
  readonly isNoise: boolean
  readonly classification: Classification | undefined
  /** The tenant's rule that makes it noise; undefined: its classification decides. */
  readonly filteredAs?: FilterReason | undefined
  readonly values: Values
  /** Whether it differs from the stored values. */
  readonly isChange: boolean
}

const HOSTNAME_AT = indexOf('hostname')

/** The value of a column. */
export function columnValue(values: Values, column: EnrichmentColumn): string {
  return values[indexOf(column)]!
}

/** Undefined when the stored address is masked: then it cannot be enriched. */
export function judge(
  { ip, values, agents }: Pick<Group, 'ip' | 'values' | 'agents'>,
  data: TodaysData,
): Judgement | undefined {
  const address = parseAddress(ip)
  if (address === undefined) return undefined
  const enrichment = data.enrich(address, values[HOSTNAME_AT]!, claimIn(agents))
  const today = valuesOf(enrichment)
  return {
    isNoise: enrichment.noise,
    classification: enrichment.classification,
    ...(enrichment.filteredAs && { filteredAs: enrichment.filteredAs }),
    values: today,
    isChange: enrichment.noise || today.some((value, i) => value !== values[i]),
  }
}

/** As `claimOf` for the event itself. */
function claimIn(agents: readonly string[]): Bot | undefined {
  for (const agent of agents) {
    const bot = agent === '' ? undefined : botOf(agent)
    if (bot !== undefined) return bot
  }
  return undefined
}

/** The engine's cache returns the same object for equal enrichments. */
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
