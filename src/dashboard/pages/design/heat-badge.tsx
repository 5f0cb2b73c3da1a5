import './heat-badge.css'
import { Flame } from 'lucide-preact'
import type { HeatLevel } from '../lib/heat-level.ts'
import { TEXTS } from '../texts/texts.ts'
import { classes } from './classes.ts'
import { Icon } from './icon.tsx'
import { Tooltip } from './tooltip.tsx'

const texts = TEXTS.design.heatBadge

/** A part of a heat: its reason, and its points. */
export interface HeatPart {
  readonly label: string
  readonly points: number
}

interface HeatBadgeProps {
  /** 0 to 100. */
  readonly heat: number
  readonly level: HeatLevel
  /** The parts of the heat; undefined: no tooltip. */
  readonly why?: readonly HeatPart[]
  /** In the place of a number. */
  readonly isLarge?: boolean
}

const MEANINGS: Readonly<Record<HeatLevel, string>> = {
  low: texts.meanings.low,
  medium: texts.meanings.medium,
  top: texts.meanings.top,
}

/** How interested a company is, 0 to 100. Only the hottest have a flame, so that it says something. The tooltip gives the reasons. */
export function HeatBadge({ heat, level, why, isLarge }: HeatBadgeProps) {
  const name = classes('ui-heat', `is-${level}`, isLarge && 'is-large')
  const content = (
    <>
      {level === 'top' && <Icon of={Flame} size={isLarge ? 20 : 13} />}
      {Math.round(heat)}
    </>
  )
  if (why === undefined) return <span class={name}>{content}</span>
  return (
    <Tooltip
      text={
        <>
          {texts.ofHundred(Math.round(heat), MEANINGS[level])}
          <dl class="ui-heat-parts">
            {why.map(({ label, points }) => [
              <dt key={`${label} name`}>{label}</dt>,
              <dd key={`${label} points`}>+{Math.round(points)}</dd>,
            ])}
          </dl>
        </>
      }
    >
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard reads the reasons too */}
      <span class={name} tabIndex={0} role="note" aria-label={texts.heat(Math.round(heat))}>
        {content}
      </span>
    </Tooltip>
  )
}
