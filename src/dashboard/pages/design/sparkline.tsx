import './sparkline.css'

const WIDTHS = { few: 8, many: 3 } as const
const FEW = 14
const HEIGHT = 24

interface SparklineProps {
  /** Value of each day, the oldest first. Undefined while they load, which keeps the space. */
  readonly values: readonly number[] | undefined
  readonly days: number
  /** The highest value of the list that it is in, so that its lines compare; default: of `values`. */
  readonly most?: number
  /** Its content in words, for screen readers. */
  readonly label: string
}

/** A small bar for each day. */
export function Sparkline({ values, days, most: ofAll = 0, label }: SparklineProps) {
  const width = days <= FEW ? WIDTHS.few : WIDTHS.many
  const most = Math.max(1, ofAll, ...(values ?? []))
  return (
    <svg
      class="ui-sparkline"
      width={days * width}
      height={HEIGHT}
      viewBox={`0 0 ${days * width} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      {values?.map((value, i) => {
        const height = value === 0 ? 1 : Math.max(2, Math.round((value / most) * HEIGHT))
        return <rect key={i} x={i * width} y={HEIGHT - height} width={width - 1} height={height} rx={1} />
      })}
    </svg>
  )
}
