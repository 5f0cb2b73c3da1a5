import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { EventDay, OutcomeCount, OverviewAnswer } from '../../../../schemas/dashboard/overview.ts'
import { Chart } from '../components/chart.tsx'
import { ClockChoice, type DayClock } from '../components/clock-choice.tsx'
import { companyPath } from '../components/company-table.tsx'
import { FirstEvent } from '../components/first-event.tsx'
import { Loading, Problem } from '../components/notes.tsx'
import { SpanChoice } from '../components/span-choice.tsx'
import { daysBetween } from '../lib/days.ts'
import { counted, number, percent } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { Usage } from './overview/usage.tsx'

const SPANS = ['7', '30', '90']
const REFRESH_MS = 30_000
/** Fast refresh while the user waits for the first event. */
const REFRESH_EMPTY_MS = 3_000

/** Received events, their outcomes, and the use of the plan. */
export function Overview({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const days = SPANS.find((span) => span === state.get('days')) ?? '30'
  const clock = state.get('by') === 'event' ? 'event' : 'received'
  const [everyMs, setEveryMs] = useState(REFRESH_MS)
  const { value, error, reload } = useData<OverviewAnswer>(`/api/tenants/${tenant}/overview`, { days }, everyMs)
  useEffect(() => setEveryMs(value?.outcomes.length === 0 ? REFRESH_EMPTY_MS : REFRESH_MS), [value])
  return (
    <>
      <div class="row between">
        <h1>Overview</h1>
        <div class="row">
          <ClockChoice clock={clock} onChange={(next) => set({ by: next === 'event' ? next : '' })} />
          <SpanChoice spans={SPANS} days={days} onChange={(next) => set({ days: next })} />
        </div>
      </div>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined ? (
        error === undefined && <Loading />
      ) : (
        <Whole tenant={tenant} answer={value} clock={clock} />
      )}
    </>
  )
}

interface WholeProps {
  readonly tenant: string
  readonly answer: OverviewAnswer
  readonly clock: DayClock
}

function Whole({ tenant, answer, clock }: WholeProps) {
  const { outcomes, event_days: eventDays, warning, usage } = answer
  return (
    <>
      {warning !== null && (
        <div class="note warning" role="alert">
          <p>{warning.text}</p>
        </div>
      )}
      {outcomes.length + eventDays.length === 0 ? (
        <FirstEvent tenant={tenant} title="No event was received on these days" />
      ) : (
        <Figures tenant={tenant} answer={answer} clock={clock} />
      )}
      <Usage usage={usage} />
    </>
  )
}

interface Kind {
  readonly name: string
  /** N of `--series-N` in the styles. */
  readonly colour: number
  readonly of: (row: OutcomeCount) => boolean
}

const isFiltered = ({ status }: OutcomeCount) => status === 'filtered'
/** Rules of the tenant filter events of any class. */
const filterOf = ({ reason, classification }: OutcomeCount) =>
  reason === '' || reason.startsWith(BOT) ? classification : 'by your rules'
const BOT = 'bot:'
const FILTERS = ['isp', 'hosting', 'cloud', 'cdn', 'reserved', 'by your rules', 'vpn', 'bot']
/** N of `--series-N` in the styles. */
const FILTER_COLOURS = [4, 5, 6, 7, 8, 9, 12, 13]

/** Labels of statuses. Some are always shown, others only when they occur. */
function kindsOf(outcomes: readonly OutcomeCount[]): Kind[] {
  const filters = FILTERS.map((filter, i) => ({
    name: filter === 'by your rules' ? `filtered ${filter}` : `filtered: ${filter}`,
    colour: FILTER_COLOURS[i]!,
    of: (row: OutcomeCount) => isFiltered(row) && filterOf(row) === filter,
  }))
  const others = [
    ...filters,
    {
      name: 'dead or dropped',
      colour: 11,
      of: ({ status }: OutcomeCount) => !KNOWN.has(status),
    },
  ]
  return [
    { name: 'kept', colour: 1, of: ({ status }) => status === 'stored' },
    { name: 'repeats', colour: 3, of: ({ status }) => status === 'duplicates' },
    { name: 'invalid', colour: 10, of: ({ status }) => status === 'invalid_ip' || status === 'rejected' },
    ...others.filter(({ of }) => outcomes.some(of)),
  ]
}

const KNOWN = new Set(['stored', 'duplicates', 'invalid_ip', 'rejected', 'filtered'])

function Figures({ tenant, answer, clock }: WholeProps) {
  const { outcomes, event_days: eventDays, from, to, top } = answer
  const all = daysBetween(from, to)
  const received = sum(outcomes)
  const filtered = outcomes.filter(isFiltered)
  const kept = sum(outcomes.filter(({ status }) => status === 'stored'))
  const happened = eventDays.reduce((total, { known, unknown }) => total + known + unknown, 0)
  const perDay = (rows: readonly OutcomeCount[]) => {
    const sums = new Map<string, number>()
    for (const { day, events } of rows) sums.set(day, (sums.get(day) ?? 0) + events)
    return all.map((text) => sums.get(text) ?? 0)
  }
  const byDay = new Map(eventDays.map((entry) => [entry.day, entry]))
  const ofDays = (name: string, colour: number, key: Exclude<keyof EventDay, 'day'>) => {
    return { name, colour, values: all.map((text) => byDay.get(text)?.[key] ?? 0) }
  }
  const events =
    clock === 'event'
      ? [ofDays('company known', 1, 'known'), ofDays('company not known', 4, 'unknown')]
      : kindsOf(outcomes).map(({ name, colour, of }) => ({ name, colour, values: perDay(outcomes.filter(of)) }))
  return (
    <>
      <div class="cards figures">
        {clock === 'event' ? (
          <Figure title="Events kept" value={number(happened)}>
            that happened on these days
          </Figure>
        ) : (
          <Figure title="Events received" value={number(received)}>
            on these days; {number(kept)} kept
          </Figure>
        )}
        <Figure title="Companies seen" value={number(answer.companies_seen)}>
          with an event of these days
        </Figure>
        <Figure title="New companies" value={number(answer.companies_new)}>
          whose first event is of these days
        </Figure>
        <Figure title="Filtered" value={received === 0 ? '–' : percent(sum(filtered) / received)}>
          of the events received on these days
        </Figure>
      </div>
      <section class="card">
        <h2>
          {clock === 'event' ? 'Events kept, by day of the event (UTC)' : 'Events by status, by day received (UTC)'}
        </h2>
        {kept !== happened && <Difference kept={kept} happened={happened} />}
        <Chart
          label={clock === 'event' ? 'Events kept by day of the event' : 'Events by status and day received'}
          clock={clock}
          days={all}
          series={events}
          kind="stack"
        />
        {clock === 'event' && <p class="soft">Events that were not kept have only the day they were received.</p>}
      </section>
      <section class="card">
        <h2>Companies, by day of the event (UTC)</h2>
        <Chart
          label="Companies seen and new by day of the event"
          clock="event"
          days={all}
          series={[ofDays('seen', 1, 'companies'), ofDays('new', 2, 'new_companies')]}
          kind="lines"
        />
      </section>
      <div class="cards wide">
        <section class="card">
          <h2>Top companies, by events of these days</h2>
          {top.length === 0 ? (
            <p class="soft">No company has an event of these days.</p>
          ) : (
            <ol class="ranking">
              {top.map(({ company_id, name, events }) => (
                <li key={company_id}>
                  <Link href={companyPath(tenant, company_id)}>{name}</Link>
                  <span class="soft">{counted(events, 'event')}</span>
                </li>
              ))}
            </ol>
          )}
          <Link href={`/t/${tenant}/companies`}>All companies</Link>
        </section>
        <section class="card">
          <h2>Received on these days and not kept</h2>
          <Reasons rows={outcomes.filter((row) => row.status !== 'stored')} received={received} />
        </section>
      </div>
    </>
  )
}

interface FigureProps {
  readonly title: string
  readonly value: string
  /** Meaning of the number, with its clock. */
  readonly children: preact.ComponentChildren
}

function Figure({ title, value, children }: FigureProps) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <p class="figure">{value}</p>
      <p class="soft">{children}</p>
    </section>
  )
}

/** Explains a difference between the two clocks. */
function Difference({ kept, happened }: { readonly kept: number; readonly happened: number }) {
  return (
    <p class="soft">
      {counted(kept, 'kept event')} {kept === 1 ? 'was' : 'were'} received on these days, and {number(happened)}{' '}
      happened on them: files and late events bring events of other days.
    </p>
  )
}

/** The reason in plain words. */
const WHY: Readonly<Record<string, string>> = {
  'filtered isp': 'Filtered: visitors of an internet provider, not of a company',
  'filtered hosting': 'Filtered: servers of a hosting company',
  'filtered cloud': 'Filtered: servers of a cloud',
  'filtered cdn': 'Filtered: a content delivery network',
  'filtered vpn': 'Filtered: VPNs, Tor, private relays and security gateways',
  'filtered bot': 'Filtered: bots',
  'filtered reserved': 'Filtered: private or reserved addresses',
  duplicates: 'Repeats of an event_id within 7 days',
  invalid_ip: 'Invalid: no IP address',
  rejected: 'Invalid: lines of uploads that are not events',
  dead: 'Dead letters: could not be processed',
}
const RULES: Readonly<Record<string, string>> = {
  own: 'Filtered by your rule: your own traffic',
  always_noise: 'Filtered by your rule: always noise',
  unclassified: 'Filtered by your rule: unknown class',
}

/** @param reason `bot:chatgpt-user:assistant:verified` */
function botText(reason: string): string {
  const [, name, ...marks] = reason.split(':')
  const kind = marks.includes('assistant') ? 'an AI assistant for a person' : 'a bot'
  const proof = marks.at(-1) === 'verified' ? 'by its address' : 'by its user agent alone'
  return `Filtered: ${name === 'other' ? kind : `${name}, ${kind}`}, ${proof}`
}

function Reasons({ rows, received }: { readonly rows: readonly OutcomeCount[]; readonly received: number }) {
  const sums = new Map<string, number>()
  for (const { status, reason, classification, events } of rows) {
    const why =
      (status === 'filtered' && reason !== ''
        ? reason.startsWith(BOT)
          ? botText(reason)
          : (RULES[reason] ?? `Filtered: ${reason}`)
        : undefined) ??
      WHY[status === 'filtered' ? `filtered ${classification}` : status] ??
      `Dropped: ${status}`
    sums.set(why, (sums.get(why) ?? 0) + events)
  }
  if (sums.size === 0) return <p class="soft">None: every event received was kept.</p>
  return (
    <ul class="ranking">
      {[...sums]
        .sort((a, b) => b[1] - a[1])
        .map(([why, events]) => (
          <li key={why}>
            {why}
            <span class="soft" title={counted(events, 'event')}>
              {percent(events / received)}
            </span>
          </li>
        ))}
    </ul>
  )
}

function sum(rows: readonly OutcomeCount[]): number {
  return rows.reduce((total, { events }) => total + events, 0)
}
