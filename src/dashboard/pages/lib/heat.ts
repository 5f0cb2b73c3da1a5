import { createContext } from 'preact'
import type { CompanyHeat, HeatLevels } from '../../../../schemas/companies.ts'
import type { HeatPart } from '../design/heat-badge.tsx'
import { counted, number } from './format.ts'

/** The parts of a heat, in words; empty when it is 0. */
export function heatParts(heat: CompanyHeat | null): HeatPart[] {
  if (heat === null) return []
  const { days_ago: ago } = heat
  return [
    { label: ago === 0 ? 'Seen today' : `Seen ${counted(ago, 'day')} ago`, points: heat.recency },
    { label: `On ${number(heat.active_days)} of 30 days`, points: heat.frequency },
    { label: `${counted(heat.events_per_day, 'event')} a day`, points: heat.depth },
    { label: `Intent pages on ${counted(heat.intent_days, 'day')}`, points: heat.intent },
  ]
}

/** The spread of the heat of the tenant that the page is about. */
export interface KnownHeatLevels {
  /** Undefined while they load. */
  readonly levels: HeatLevels | undefined
  /** Reads them again, after a change. */
  reload(): void
}

export const HeatLevelsContext = createContext<KnownHeatLevels>({ levels: undefined, reload: () => {} })
