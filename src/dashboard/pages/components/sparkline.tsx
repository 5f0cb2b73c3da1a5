import { counted } from '../lib/format.ts'

const WIDTH = 3
const HEIGHT = 24

/** A bar for each day. Keeps its space while values load. */
export function Sparkline({ values, days }: { readonly values: readonly number[] | undefined; readonly days: number }) {
  const most = Math.max(1, ...(values ?? []))
  const sum = values?.reduce((total, value) => total + value, 0) ?? 0
  return (
    <svg
      class="sparkline"
      width={days * WIDTH}
      height={HEIGHT}
      viewBox={`0 0 ${days * WIDTH} ${HEIGHT}`}
      role="img"
      aria-label={
        values === undefined ? 'Visits of the last days: loading' : `${counted(sum, 'visit')} in ${days} days`
      }
    >
      {values?.map((value, i) => {
        const height = value === 0 ? 1 : Math.max(2, Math.round((value / most) * HEIGHT))
        return <rect key={i} x={i * WIDTH} y={HEIGHT - height} width={WIDTH - 1} height={height} />
      })}
    </svg>
  )
}
