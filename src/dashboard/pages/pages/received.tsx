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
import { DAY_CLOCKS, type DayClock, dayTitle, withUtc } from '../lib/day-clock.ts'
import { daysBetween, isInUtc } from '../lib/days.ts'
import { number, percent } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { isFiltered, kindsOf } from './received/kinds.ts'
import { Reasons, sumOf } from './received/reasons.tsx'

const texts = TEXTS.received.page

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
      title={texts.title}
      description={texts.about}
      back={{ href: `/t/${tenant}/home`, label: texts.home }}
      actions={
        <>
          <Select
            label={texts.countBy}
            isLabelHidden
            value={clock}
            options={Object.entries(DAY_CLOCKS).map(([name, label]) => ({ value: name, label }))}
            onChange={(next) => set({ by: next === 'event' ? next : '' })}
          />
          <Segmented
            label={texts.days}
            value={days}
            options={SPANS.map((span) => ({ value: span, label: TEXTS.words.counts.days(span) }))}
            onChange={(next) => set({ days: next })}
          />
        </>
      }
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined
        ? error === undefined && <Loading rows={8} rowHeight={32} />
        : value.outcomes.length + value.event_days.length === 0 && (
            <EmptyState title={texts.none}>
              <Text>{texts.moreDays}</Text>
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
      ? [ofDays(texts.known, 1, 'known'), ofDays(texts.unknown, 2, 'unknown')]
      : kindsOf(outcomes).map(({ name, colour, of }) => ({ name, colour, values: perDay(outcomes.filter(of)) }))
  return (
    <>
      <Stats>
        {clock === 'event' ? (
          <Stat label={texts.kept} value={number(happened)}>
            {texts.happened}
          </Stat>
        ) : (
          <Stat label={texts.received} value={number(received)}>
            {texts.receivedKept(number(kept))}
          </Stat>
        )}
        <Stat label={texts.seen} value={number(answer.companies_seen)} href={hrefOf({ from, to })}>
          {texts.ofDays}
        </Stat>
        <Stat label={texts.new} value={number(answer.companies_new)} href={hrefOf({ newSince: from })}>
          {texts.newOnDays}
        </Stat>
        <Stat label={texts.filtered} value={received === 0 ? '–' : percent(filtered / received)}>
          {texts.filteredOfReceived}
        </Stat>
      </Stats>
      <Section
        title={withUtc(clock === 'event' ? texts.byEventDay : texts.byReceivedDay)}
        description={kept === happened ? undefined : texts.otherDays(kept, happened)}
      >
        <Chart
          label={clock === 'event' ? texts.chartKept : texts.chartStatus}
          dayTitle={dayTitle(clock)}
          days={all}
          isUtc
          series={events}
        />
        {clock === 'event' && <Text tone="soft">{texts.onlyReceived}</Text>}
      </Section>
      <Section title={withUtc(texts.companies)}>
        <Chart
          label={texts.chartCompanies}
          dayTitle={dayTitle('event')}
          days={all}
          isUtc
          series={[
            {
              name: texts.seenBefore,
              colour: 1,
              values: all.map((text) => Math.max(0, ofDay(text, 'companies') - ofDay(text, 'new_companies'))),
            },
            ofDays(texts.isNew, 6, 'new_companies'),
          ]}
        />
      </Section>
      <Grid min={420} gap={5}>
        <Card
          title={texts.top}
          actions={
            // In another zone, the list of these days has other events.
            isInUtc() && (
              <LinkButton href={companiesPath(tenant, { from, to, sort: 'events' })} size="s" variant="quiet">
                {texts.all}
              </LinkButton>
            )
          }
        >
          {top.length === 0 ? (
            <Text tone="soft">{texts.noCompany}</Text>
          ) : (
            <BarList
              bars={top.map(({ company_id, name, events: count }) => ({
                key: company_id,
                name,
                href: companyPath(tenant, company_id),
                state: trailAmong(top.map(({ company_id: id }) => id)),
                value: count,
                text: TEXTS.words.counts.events(count),
              }))}
            />
          )}
        </Card>
        <Card title={texts.notKept}>
          <Reasons rows={outcomes.filter(({ status }) => status !== 'stored')} received={received} />
        </Card>
      </Grid>
    </>
  )
}
