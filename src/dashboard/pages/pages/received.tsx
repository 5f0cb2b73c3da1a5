import { useEffect, useState } from 'preact/hooks'
import type { EventDay, OutcomeCount, OverviewAnswer } from '../../../../schemas/dashboard/overview.ts'
import { BarList } from '../design/bar-list.tsx'
import { LinkButton } from '../design/button.tsx'
import { Chart } from '../design/chart.tsx'
import type { CategoryColour } from '../design/colours.ts'
import { Select } from '../design/field.tsx'
import { Grid, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Card, Page, Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Stat, Stats } from '../design/stat.tsx'
import { Segmented } from '../design/tabs.tsx'
import { companiesPath, companyPath } from '../lib/company-links.ts'
import { trailAmong } from '../lib/company-trail.ts'
import { DAY_CLOCKS, type DayClock, dayTitle } from '../lib/day-clock.ts'
import { daysBetween, isInUtc } from '../lib/days.ts'
import { counted, number, percent } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { isFiltered, kindsOf } from './received/kinds.ts'
import { Reasons, sumOf } from './received/reasons.tsx'

const SPANS = ['7', '30', '90']
const REFRESH_MS = 30_000
/** Fast refresh while the user waits for the first event. */
const REFRESH_EMPTY_MS = 3_000

/** Received events by day, and their outcomes. */
export function Received({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const days = SPANS.find((span) => span === state.get('days')) ?? '30'
  const clock = state.get('by') === 'event' ? 'event' : 'received'
  const [everyMs, setEveryMs] = useState(REFRESH_MS)
  const { value, error, reload } = useData<OverviewAnswer>(`/api/tenants/${tenant}/overview`, { days }, everyMs)
  useEffect(() => setEveryMs(value?.outcomes.length === 0 ? REFRESH_EMPTY_MS : REFRESH_MS), [value])
  return (
    <Page
      title="Received events"
      description="Received events, their results, and the reasons."
      back={{ href: `/t/${tenant}/home`, label: 'Home' }}
      actions={
        <>
          <Select
            label="Count events by"
            isLabelHidden
            value={clock}
            options={Object.entries(DAY_CLOCKS).map(([name, label]) => ({ value: name, label }))}
            onChange={(next) => set({ by: next === 'event' ? next : '' })}
          />
          <Segmented
            label="Days"
            value={days}
            options={SPANS.map((span) => ({ value: span, label: `${span} days` }))}
            onChange={(next) => set({ days: next })}
          />
        </>
      }
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined
        ? error === undefined && <Loading rows={8} rowHeight={32} />
        : value.outcomes.length + value.event_days.length === 0 && (
            <EmptyState title="No event was received on these days">
              <Text>Choose more days, or send events: Home says how.</Text>
            </EmptyState>
          )}
      {value !== undefined && value.outcomes.length + value.event_days.length > 0 && (
        <Figures tenant={tenant} answer={value} clock={clock} />
      )}
    </Page>
  )
}

interface FiguresProps {
  readonly tenant: string
  readonly answer: OverviewAnswer
  readonly clock: DayClock
}

function Figures({ tenant, answer, clock }: FiguresProps) {
  const { outcomes, event_days: eventDays, from, to, top } = answer
  const all = daysBetween(from, to)
  // Days here are UTC, as what is not kept is counted by them. Lists of companies have the days of the workspace.
  const hrefOf = (link: Parameters<typeof companiesPath>[1]) => (isInUtc() ? companiesPath(tenant, link) : undefined)
  const received = sumOf(outcomes)
  const filtered = sumOf(outcomes.filter(isFiltered))
  const kept = sumOf(outcomes.filter(({ status }) => status === 'stored'))
  const happened = eventDays.reduce((total, { known, unknown }) => total + known + unknown, 0)
  const perDay = (rows: readonly OutcomeCount[]) => {
    const sums = new Map<string, number>()
    for (const { day, events } of rows) sums.set(day, (sums.get(day) ?? 0) + events)
    return all.map((text) => sums.get(text) ?? 0)
  }
  const byDay = new Map(eventDays.map((entry) => [entry.day, entry]))
  const ofDay = (text: string, key: Exclude<keyof EventDay, 'day'>) => byDay.get(text)?.[key] ?? 0
  const ofDays = (name: string, colour: CategoryColour, key: Exclude<keyof EventDay, 'day'>) => {
    return { name, colour, values: all.map((text) => ofDay(text, key)) }
  }
  const events =
    clock === 'event'
      ? [ofDays('company known', 1, 'known'), ofDays('company not known', 2, 'unknown')]
      : kindsOf(outcomes).map(({ name, colour, of }) => ({ name, colour, values: perDay(outcomes.filter(of)) }))
  return (
    <>
      <Stats>
        {clock === 'event' ? (
          <Stat label="Events kept" value={number(happened)}>
            that happened on these days
          </Stat>
        ) : (
          <Stat label="Events received" value={number(received)}>
            on these days; {number(kept)} kept
          </Stat>
        )}
        <Stat label="Companies seen" value={number(answer.companies_seen)} href={hrefOf({ from, to })}>
          with an event of these days
        </Stat>
        <Stat label="New companies" value={number(answer.companies_new)} href={hrefOf({ newSince: from })}>
          whose first event is of these days
        </Stat>
        <Stat label="Filtered" value={received === 0 ? '–' : percent(filtered / received)}>
          of the events received on these days
        </Stat>
      </Stats>
      <Section
        title={clock === 'event' ? 'Events kept, by day of the event (UTC)' : 'Events by status, by day received (UTC)'}
        description={
          kept === happened ? undefined : (
            <>
              {counted(kept, 'kept event')} {kept === 1 ? 'was' : 'were'} received on these days, and {number(happened)}{' '}
              happened on them: files and late events bring events of other days.
            </>
          )
        }
      >
        <Chart
          label={clock === 'event' ? 'Events kept by day of the event' : 'Events by status and day received'}
          dayTitle={dayTitle(clock)}
          days={all}
          isUtc
          series={events}
        />
        {clock === 'event' && <Text tone="soft">Events that were not kept have only the day they were received.</Text>}
      </Section>
      <Section title="Companies, by day of the event (UTC)">
        <Chart
          label="Companies by day of the event"
          dayTitle={dayTitle('event')}
          days={all}
          isUtc
          series={[
            {
              name: 'seen before',
              colour: 1,
              values: all.map((text) => Math.max(0, ofDay(text, 'companies') - ofDay(text, 'new_companies'))),
            },
            ofDays('new', 6, 'new_companies'),
          ]}
        />
      </Section>
      <Grid min={420} gap={5}>
        <Card
          title="Top companies, by events of these days"
          actions={
            <LinkButton href={companiesPath(tenant, { from, to, sort: 'events' })} size="s" variant="quiet">
              All companies
            </LinkButton>
          }
        >
          {top.length === 0 ? (
            <Text tone="soft">No company has an event of these days.</Text>
          ) : (
            <BarList
              bars={top.map(({ company_id, name, events: count }) => ({
                key: company_id,
                name,
                href: companyPath(tenant, company_id),
                state: trailAmong(top.map(({ company_id: id }) => id)),
                value: count,
                text: counted(count, 'event'),
              }))}
            />
          )}
        </Card>
        <Card title="Received on these days and not kept">
          <Reasons rows={outcomes.filter(({ status }) => status !== 'stored')} received={received} />
        </Card>
      </Grid>
    </>
  )
}
