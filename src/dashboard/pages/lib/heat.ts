import { createContext } from 'preact'
import type { CompanyHeat, HeatLevels } from '../../../../schemas/companies.ts'
import type { HeatPart } from '../design/heat-badge.tsx'
import { TEXTS } from '../texts/texts.ts'
import { number } from './format.ts'

const texts = TEXTS.lib.heat

/** The parts of a heat, in words; empty when it is 0. */
export function heatParts(heat: CompanyHeat | null): HeatPart[] {
  if (heat === null) return []
  const { days_ago: ago } = heat
  return [
    { label: ago === 0 ? texts.seenToday : texts.seen(ago), points: heat.recency },
    { label: texts.onDays(number(heat.active_days)), points: heat.frequency },
    { label: texts.events(heat.events_per_day), points: heat.depth },
    { label: texts.intentPages(heat.intent_days), points: heat.intent },
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
