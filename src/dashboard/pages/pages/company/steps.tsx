import { ChevronDown, ChevronUp } from 'lucide-preact'
import { useLayoutEffect } from 'preact/hooks'
import { navigate, useHistoryState } from 'wouter-preact/use-browser-location'
import { IconButton } from '../../design/button.tsx'
import { Row, Text } from '../../design/layout.tsx'
import { pageKeyTarget } from '../../design/page-key.ts'
import { companyPath } from '../../lib/company-links.ts'
import { stepsOf } from '../../lib/company-trail.ts'
import { number } from '../../lib/format.ts'

interface StepsProps {
  readonly tenant: string
  /** Id of the shown company. */
  readonly id: string
}

/** The next and the previous company of the list that this one was opened from, also by the keys `j` and `k`. Nothing without a list. */
export function CompanySteps({ tenant, id }: StepsProps) {
  const state = useHistoryState<unknown>()
  const steps = stepsOf(state, id)
  // Replaces the entry of the history, so that Back leads to the list.
  const go = (to: string | undefined) => {
    if (to === undefined) return
    const days = new URLSearchParams(location.search).get('days')
    navigate(`${companyPath(tenant, to)}${days === null ? '' : `&days=${days}`}`, { replace: true, state })
    window.scrollTo(0, 0)
  }
  useLayoutEffect(() => {
    if (steps === undefined) return
    const press = (event: KeyboardEvent) => {
      const target = pageKeyTarget(event)
      // In a table they move between its rows.
      if (target === undefined || target.closest('table') !== null) return
      if (event.key === 'j') go(steps.next)
      else if (event.key === 'k') go(steps.previous)
    }
    document.addEventListener('keydown', press)
    return () => document.removeEventListener('keydown', press)
  }, [tenant, id, state])
  if (steps === undefined) return null
  const { position, total, previous, next } = steps
  return (
    <Row gap={1} isOneLine>
      <Text as="span" tone="soft" isSmall role="status">
        {number(position)} of {number(total)}
      </Text>
      <IconButton
        icon={ChevronUp}
        size="s"
        label="Previous company (k)"
        disabled={previous === undefined}
        onClick={() => go(previous)}
      />
      <IconButton
        icon={ChevronDown}
        size="s"
        label="Next company (j)"
        disabled={next === undefined}
        onClick={() => go(next)}
      />
    </Row>
  )
}
