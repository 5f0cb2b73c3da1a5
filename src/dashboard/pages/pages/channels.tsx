import { CompaniesByChannel } from '../components/companies-by-channel.tsx'
import { DateRange } from '../design/date-range.tsx'
import { Page } from '../design/page.tsx'
import { pageDays, pageDaysChange } from '../lib/page-days.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { PageTabs } from './read-pages/page-tabs.tsx'

/** What brought companies: the channel, campaign and source of their first and last touch. */
export function Channels({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const { range, days } = pageDays(state)
  return (
    <Page
      title="Pages"
      description="What brought the companies that visited on these days."
      actions={<DateRange value={range} onChange={(next) => next !== undefined && set(pageDaysChange(next))} />}
    >
      <PageTabs tenant={tenant} state={state} current="channels" />
      <CompaniesByChannel tenant={tenant} days={days} />
    </Page>
  )
}
