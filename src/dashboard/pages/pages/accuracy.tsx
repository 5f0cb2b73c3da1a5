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
import { number, percent } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { Corrections } from './accuracy/corrections.tsx'
import { Interval } from './accuracy/interval.tsx'
import { Named } from './accuracy/named.tsx'
import { Proposals } from './accuracy/proposals.tsx'

const texts = TEXTS.accuracy.page

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
      title={texts.title}
      description={texts.about}
      actions={
        <Segmented
          label={texts.span}
          value={days}
          options={SPANS.map((span) => ({ value: span, label: TEXTS.words.counts.days(span) }))}
          onChange={setDays}
        />
      }
    >
      <Named tenant={tenant} days={days} />
      <Precision tenant={tenant} days={days} />
      <Corrections tenant={tenant} days={days} />
      <Proposals tenant={tenant} />
      <Section title={texts.tryOther} description={texts.aboutOther}>
        <CodeLine text={`./ipid compare ${tenant} --with DIR`} label={texts.compareCommand} />
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
      <Section title={texts.where} description={texts.aboutWhere}>
        <Breakdown
          title={texts.byDataSet}
          name={texts.dataSet}
          rows={data_sets.map((set) => [set.name, set] as const)}
        />
        <Breakdown
          title={texts.byType}
          name={texts.type}
          rows={classifications.map((each) => [each.name, each] as const)}
        />
        <Breakdown
          title={texts.byScore}
          name={texts.score}
          rows={qualities.map((each) => [texts.scores(each.from, each.to), each] as const)}
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
      <p>{texts.leftOut(events)}</p>
    </Notice>
  )
}

function NoSignUps() {
  return (
    <EmptyState icon={Target} title={texts.none}>
      <p>{texts.sendEmail(<code>email</code>, <code>user_properties</code>, <code>session_id</code>)}</p>
      <CodeBlock text={EXAMPLE} label={texts.example} isPlain />
      <Text tone="soft" isSmall>
        {texts.demo(<code>./ipid demo</code>)}
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
      <Stat label={texts.rightOfAttributed} value={precision === null ? texts.unknown : percent(precision)}>
        {precision === null ? texts.noneAttributed : texts.precision(cases, percent(low!), percent(high!))}
      </Stat>
      <Stat label={texts.attributed} value={percent(cases / (cases + none))}>
        {texts.attributedOf(cases + none, events)}
      </Stat>
      <Stat label={texts.right} value={number(right)} unit={texts.of(number(cases))}>
        {texts.others(number(other), number(none))}
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
          label: texts.shareRight,
          inCard: 'whole',
          width: 340,
          render: ([, share]) => <Interval share={share} />,
        },
        { key: 'cases', label: texts.addresses, isNumber: true, width: 110, render: ([, { cases }]) => number(cases) },
        {
          key: 'right',
          label: texts.right,
          isNumber: true,
          width: 90,
          render: ([, share]) => number(partsOf(share).right),
        },
        {
          key: 'other',
          label: texts.otherCompany,
          isNumber: true,
          width: 130,
          render: ([, share]) => number(partsOf(share).other),
        },
        ...(hasNone
          ? [
              {
                key: 'none',
                label: texts.noCompany,
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
