import './sparkline.css'
import { Fragment } from 'preact'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.design.sparkline

const WIDTHS = { few: 8, many: 3 } as const
const FEW = 14
const HEIGHT = 24
/** Of a bar that is cut. */
const CAP = 2
const GAP = 2

interface SparklineProps {
  /** Value of each day, the oldest first. Undefined while they load, which keeps the space. */
  readonly values: readonly number[] | undefined
  readonly days: number
  /** `sharedScale` of the list that it is in, so that its lines compare. */
  readonly most: number
  /** Its content in words, for screen readers. */
  readonly label: string
}

/** A small bar for each day. A bar above the scale is cut: it fills the height, with a gap below its top. */
export function Sparkline({ values, days, most, label }: SparklineProps) {
  const width = days <= FEW ? WIDTHS.few : WIDTHS.many
  return (
    <svg
      class="ui-sparkline"
      width={days * width}
      height={HEIGHT}
      viewBox={`0 0 ${days * width} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      <title>{texts.oneScale}</title>
      {values?.map((value, i) => {
        const isCut = value > most
        const height = isCut ? HEIGHT - CAP - GAP : value === 0 ? 1 : Math.max(2, Math.round((value / most) * HEIGHT))
        return (
          <Fragment key={i}>
            <rect x={i * width} y={HEIGHT - height} width={width - 1} height={height} rx={1} />
            {isCut && <rect class="is-cap" x={i * width} y={0} width={width - 1} height={CAP} />}
          </Fragment>
        )
      })}
    </svg>
  )
}
