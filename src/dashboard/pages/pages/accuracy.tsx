import { Target } from 'lucide-preact'
import type { AccuracyAnswer } from '../../../../schemas/dashboard/accuracy.ts'
import { CodeBlock, CodeLine } from '../design/code.tsx'
import { Text } from '../design/layout.tsx'
import { EmptyState, Notice, Problem } from '../design/notice.tsx'
import { Page, Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Stat, Stats } from '../design/stat.tsx'
import { Table } from '../design/table.tsx'
import { Segmented } from '../design/tabs.tsx'
import { counted, number, percent } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { Corrections } from './accuracy/corrections.tsx'
import { Interval } from './accuracy/interval.tsx'
import { Named } from './accuracy/named.tsx'
import { Proposals } from './accuracy/proposals.tsx'

const SPANS = ['7', '30', '90'] as const
const EXAMPLE = '"user_properties": {"email": EMAIL_OF_THE_PERSON}'

type Share = AccuracyAnswer['all']

/** How often the companies of a tenant's visits are right, by its own sign-ups. */
export function Accuracy({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [days, setDays] = useDays()
  return (
    <Page
      key={tenant}
      title="Accuracy"
      description="How often is the company right? The work e-mail domain of people who sign up is compared with the company that was found by the network address."
      actions={
        <Segmented
          label="Span"
          value={days}
          options={SPANS.map((span) => ({ value: span, label: `${span} days` }))}
          onChange={setDays}
        />
      }
    >
      <Named tenant={tenant} days={days} />
      <Precision tenant={tenant} days={days} />
      <Corrections tenant={tenant} days={days} />
      <Proposals tenant={tenant} />
      <Section
        title="Try other data"
        description="On the machine where ipid runs, this compares your data with another folder on the stored addresses: companies that only one knows, where they differ, and which is right. It changes nothing."
      >
        <CodeLine text={`./ipid compare ${tenant} --with DIR`} label="Command that compares data" />
      </Section>
    </Page>
  )
}

function Precision({ tenant, days }: { readonly tenant: string; readonly days: string }) {
  const { value, error, reload } = useData<AccuracyAnswer>(`/api/tenants/${tenant}/accuracy`, { days })
  if (value === undefined)
    return error === undefined ? <Loading rows={8} /> : <Problem error={error} onRetry={reload} />
  const { all, data_sets, classifications, qualities, left_out: leftOut } = value
  if (all.events === 0) {
    return (
      <>
        {error !== undefined && <Problem error={error} onRetry={reload} />}
        <LeftOut events={leftOut} />
        <NoSignUps />
      </>
    )
  }
  return (
    <>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <Summary all={all} />
      <LeftOut events={leftOut} />
      <Section
        title="Where it is right"
        description="All figures count network addresses, each once. An address with people of several companies counts in parts. Right: of those attributed to a company, the share attributed to the one of the e-mail address, with its 95% interval. Noise is not stored, so it is not counted."
      >
        <Breakdown title="By data set" name="Data set" rows={data_sets.map((set) => [set.name, set] as const)} />
        <Breakdown title="By type" name="Type" rows={classifications.map((each) => [each.name, each] as const)} />
        <Breakdown
          title="By quality score"
          name="Score"
          rows={qualities.map((each) => [`${each.from} to ${each.to}`, each] as const)}
        />
      </Section>
    </>
  )
}

/** Says how many events count nowhere here. */
function LeftOut({ events }: { readonly events: number }) {
  if (events === 0) return null
  return (
    <Notice>
      <p>
        {counted(events, 'event')} with a work e-mail address {events === 1 ? 'is' : 'are'} left out here and in the
        proposals: they came with a browser key, which everybody can read in your pages and use. Send sign-ups from a
        server, with a server key or an API key.
      </p>
    </Notice>
  )
}

function NoSignUps() {
  return (
    <EmptyState icon={Target} title="No event has a known company yet">
      <p>
        Send the e-mail address of people who sign up or sign in from your server, as <code>email</code> in{' '}
        <code>user_properties</code>. Only its domain is kept for this; free and disposable mail does not count. The
        other events of the same <code>session_id</code> then count too.
      </p>
      <CodeBlock text={EXAMPLE} label="Part of an event, a sample" isPlain />
      <Text tone="soft" isSmall>
        <code>./ipid demo</code> adds made-up events with work e-mail addresses.
      </Text>
    </EmptyState>
  )
}

function useDays(): [string, (days: string) => void] {
  const [state, set] = useUrlState()
  const days = SPANS.find((span) => span === state.get('days')) ?? '30'
  return [days, (next) => set({ days: next })]
}

function Summary({ all }: { readonly all: Share }) {
  const { events, cases, none_cases: none, precision, low, high } = all
  const { right, other } = partsOf(all)
  return (
    <Stats>
      <Stat label="Right when attributed" value={precision === null ? 'unknown' : percent(precision)}>
        {precision === null
          ? 'no address was attributed'
          : `of ${counted(cases, 'address', 'addresses')}; 95% interval: ${percent(low!)} to ${percent(high!)}`}
      </Stat>
      <Stat label="Attributed" value={percent(cases / (cases + none))}>
        of {counted(cases + none, 'address', 'addresses')} with a known company, which sent {counted(events, 'event')}
      </Stat>
      <Stat label="Right" value={number(right)} unit={`of ${number(cases)}`}>
        addresses; {number(other)} of another company, {number(none)} of none
      </Stat>
    </Stats>
  )
}

/** Addresses with one decimal, which add up to the attributed ones. */
function partsOf({ cases, right_cases }: Share): { readonly right: number; readonly other: number } {
  const right = Math.round(right_cases * 10)
  return { right: right / 10, other: (cases * 10 - right) / 10 }
}

interface BreakdownProps {
  readonly title: string
  readonly name: string
  readonly rows: readonly (readonly [name: string, share: Share])[]
}

function Breakdown({ title, name, rows }: BreakdownProps) {
  const hasNone = rows.some(([, { none_cases: none }]) => none > 0)
  return (
    <Table
      label={title}
      rows={rows}
      keyOf={([label]) => label}
      columns={[
        { key: 'name', label: name, width: 180, render: ([label]) => label },
        {
          key: 'share',
          label: 'Share right',
          inCard: 'whole',
          width: 340,
          render: ([, share]) => <Interval share={share} />,
        },
        { key: 'cases', label: 'Addresses', isNumber: true, width: 110, render: ([, { cases }]) => number(cases) },
        {
          key: 'right',
          label: 'Right',
          isNumber: true,
          width: 90,
          render: ([, share]) => number(partsOf(share).right),
        },
        {
          key: 'other',
          label: 'Other company',
          isNumber: true,
          width: 130,
          render: ([, share]) => number(partsOf(share).other),
        },
        ...(hasNone
          ? [
              {
                key: 'none',
                label: 'No company',
                isNumber: true,
                width: 120,
                render: ([, { none_cases: none }]: BreakdownProps['rows'][number]) => number(none),
              } as const,
            ]
          : []),
      ]}
    />
  )
}
