import './skeleton.css'
import { Hidden } from './layout.tsx'

interface SkeletonProps {
  /** CSS lengths. */
  readonly width?: string
  readonly height?: string
}

/** The shape of something that loads, so that nothing jumps when it arrives. Put one `Loading` beside several. */
export function Skeleton({ width, height }: SkeletonProps) {
  return <span class="ui-skeleton" style={{ '--width': width, '--height': height }} aria-hidden="true" />
}

interface LoadingProps {
  /** Rows that the content will have, about. */
  readonly rows?: number
  /** Height of a row, pixels. */
  readonly rowHeight?: number
  readonly label?: string
}

/** Rows that load. Screen readers hear it. */
export function Loading({ rows = 4, rowHeight = 20, label = 'Loading…' }: LoadingProps) {
  return (
    <div class="ui-skeletons" role="status">
      <Hidden>{label}</Hidden>
      {Array.from({ length: rows }, (_, i) => (
        <Skeleton key={i} height={`${rowHeight}px`} width={`${100 - ((i * 17) % 35)}%`} />
      ))}
    </div>
  )
}
