import { ListFilter } from 'lucide-preact'
import { useState } from 'preact/hooks'
import { Button } from '../design/button.tsx'
import { segmentPath } from '../lib/segment-view.ts'
import { useSegments } from '../lib/segments.ts'
import { NavLink, NavSubLinks } from './nav.tsx'

const SHOWN_MAX = 8

interface SegmentLinksProps {
  readonly tenant: string
  /** Id of the segment that the list of companies shows, or null. */
  readonly current: string | null
}

/** Saved segments: each opens the list of companies with its filter. */
export function SegmentLinks({ tenant, current }: SegmentLinksProps) {
  const { segments = [] } = useSegments()
  const [isAll, setAll] = useState(false)
  if (segments.length === 0) return null
  const shown = isAll ? segments : segments.slice(0, SHOWN_MAX)
  return (
    <NavSubLinks label="Segments">
      {shown.map((segment) => (
        <NavLink
          key={segment.segment_id}
          href={segmentPath(tenant, segment)}
          icon={ListFilter}
          label={segment.name}
          isCurrent={segment.segment_id === current}
        />
      ))}
      {segments.length > SHOWN_MAX && (
        <li>
          <Button size="s" variant="quiet" onClick={() => setAll(!isAll)}>
            {isAll ? 'Show fewer' : `Show all ${segments.length}`}
          </Button>
        </li>
      )}
    </NavSubLinks>
  )
}
