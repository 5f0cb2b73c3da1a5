import { ChevronDown, ChevronUp } from 'lucide-preact'
import { useLayoutEffect } from 'preact/hooks'
import { navigate, useHistoryState } from 'wouter-preact/use-browser-location'
import type { CompaniesPage } from '../../../../../schemas/dashboard/companies.ts'
import type { PageCompaniesAnswer } from '../../../../../schemas/dashboard/pages.ts'
import { IconButton } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Text } from '../../design/layout.tsx'
import { pageKeyTarget } from '../../design/page-key.ts'
import { get } from '../../lib/api.ts'
import { companyPath } from '../../lib/company-links.ts'
import { type Step, stepsOf, trailInto, trailOf, trailState } from '../../lib/company-trail.ts'
import { PAGE_ROWS } from '../../lib/company-view.ts'
import { number } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.company.steps

interface StepsProps {
  readonly tenant: string
  /** Id of the shown company. */
  readonly id: string
}

/**
 * The next and the previous company of the list that this one was opened from, also by the keys `j` and `k`. At the end of a part of a list it
 * asks for the next part. Nothing without a list.
 */
export function CompanySteps({ tenant, id }: StepsProps) {
  const state = useHistoryState<unknown>()
  const { isBusy, error, run } = useAction()
  const steps = stepsOf(state, id, PAGE_ROWS)
  // Replaces the entry of the history, so that Back leads to the list.
  const show = (to: string, nextState: unknown) => {
    const days = new URLSearchParams(location.search).get('days')
    navigate(`${companyPath(tenant, to)}${days === null ? '' : `&days=${days}`}`, { replace: true, state: nextState })
    window.scrollTo(0, 0)
  }
  const go = (step: Step) => {
    if (step === undefined || isBusy) return
    if ('id' in step) return show(step.id, state)
    const trail = trailOf(state)!
    const { path, query: of } = trail.list!
    void run(async () => {
      const query = { ...of, limit: PAGE_ROWS, offset: step.offset }
      const { rows, total } = await get<CompaniesPage | PageCompaniesAnswer>(`/api/tenants/${tenant}/${path}`, query)
      const part = { ids: rows.map(({ company_id }) => company_id), offset: step.offset, total }
      const found = trailInto(trail, part)
      // The reader may have left meanwhile.
      if (found !== undefined && history.state === state) show(found.id, trailState(found.trail))
    })
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
  }, [tenant, id, state, isBusy])
  if (steps === undefined) return null
  const { position, total, previous, next } = steps
  return (
    <Row gap={1} isOneLine>
      <Text as="span" tone="soft" isSmall role="status">
        {texts.position(number(position), number(total))}
      </Text>
      <IconButton
        icon={ChevronUp}
        size="s"
        label={texts.previous}
        disabled={previous === undefined || isBusy}
        onClick={() => go(previous)}
      />
      <IconButton
        icon={ChevronDown}
        size="s"
        label={texts.next}
        disabled={next === undefined || isBusy}
        onClick={() => go(next)}
      />
      <FieldError error={error} />
    </Row>
  )
}
