import './skeleton.css'
import { TEXTS } from '../texts/texts.ts'
import { Grid, Hidden } from './layout.tsx'
import { Card } from './page.tsx'

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
export function Loading({ rows = 4, rowHeight = 20, label = TEXTS.words.states.loading }: LoadingProps) {
  return (
    <div class="ui-skeletons" role="status">
      <Hidden>{label}</Hidden>
      <Rows rows={rows} rowHeight={rowHeight} />
    </div>
  )
}

interface LoadingCardsProps extends LoadingProps {
  readonly cards: number
  /** Least width of a card, pixels. */
  readonly min?: number
}

/** Cards beside each other that load, each with rows. */
export function LoadingCards({
  cards,
  min = 300,
  rows = 4,
  rowHeight = 20,
  label = TEXTS.words.states.loading,
}: LoadingCardsProps) {
  return (
    <div role="status">
      <Hidden>{label}</Hidden>
      <Grid min={min}>
        {Array.from({ length: cards }, (_, i) => (
          <Card key={i}>
            <div class="ui-skeletons">
              <Rows rows={rows} rowHeight={rowHeight} />
            </div>
          </Card>
        ))}
      </Grid>
    </div>
  )
}

function Rows({ rows, rowHeight }: { readonly rows: number; readonly rowHeight: number }) {
  return (
    <>
      {Array.from({ length: rows }, (_, i) => (
        <Skeleton key={i} height={`${rowHeight}px`} width={`${100 - ((i * 17) % 35)}%`} />
      ))}
    </>
  )
}
