import type { HeatLevels } from '../../../../schemas/companies.ts'

/** How a heat compares with the others of its tenant. `top`: the highest tenth; `medium`: the higher half. */
export type HeatLevel = 'low' | 'medium' | 'top'

/** The level of a heat among those of the tenant. Where half of the companies have the highest heat, none is above the others. */
export function heatLevel(heat: number, levels: HeatLevels | undefined): HeatLevel {
  const { median, top } = levels ?? { median: null, top: null }
  if (median === null || top === null || heat < median) return 'low'
  return heat >= top && top > median ? 'top' : 'medium'
}
