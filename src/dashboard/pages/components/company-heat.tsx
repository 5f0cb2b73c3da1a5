import { useContext } from 'preact/hooks'
import type { CompanyHeat } from '../../../../schemas/companies.ts'
import { HeatBadge } from '../design/heat-badge.tsx'
import { HeatLevelsContext, heatParts } from '../lib/heat.ts'
import { heatLevel } from '../lib/heat-level.ts'

interface CompanyHeatBadgeProps {
  /** null: no event in its days. */
  readonly heat: CompanyHeat | null
  readonly isLarge?: boolean
}

/** The heat of a company, beside that of the other companies of its tenant. */
export function CompanyHeatBadge({ heat, ...others }: CompanyHeatBadgeProps) {
  const points = heat?.heat ?? 0
  const level = heatLevel(points, useContext(HeatLevelsContext).levels)
  return <HeatBadge heat={points} level={level} why={heatParts(heat)} {...others} />
}
