import { Building2 } from 'lucide-preact'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { HOME, type HomeAnswer, type HomeCompany, type RisingCompany } from '../../../../schemas/dashboard/home.ts'
import type { PlanUsage } from '../../../../schemas/dashboard/overview.ts'
import type { PagesAnswer } from '../../../../schemas/dashboard/pages.ts'
import { CompanyHeatBadge } from '../components/company-heat.tsx'
import { CompanyLines } from '../components/company-lines.tsx'
import { DayZero } from '../components/day-zero.tsx'
import { BarList } from '../design/bar-list.tsx'
import { LinkButton } from '../design/button.tsx'
import { Chart } from '../design/chart.tsx'
import { Disclosure } from '../design/details.tsx'
import { Grid, Row, Stack, Text } from '../design/layout.tsx'
import { Notice, Problem } from '../design/notice.tsx'
import { Card, Page } from '../design/page.tsx'
import { Loading, LoadingCards } from '../design/skeleton.tsx'
import { Change, Stat, Stats } from '../design/stat.tsx'
import { companiesPath } from '../lib/company-links.ts'
import { daysBetween, isInUtc, withZone } from '../lib/days.ts'
import { capitalised, number, percent, shortDay } from '../lib/format.ts'
import { useMay } from '../lib/may.ts'
import { namedSentence } from '../lib/named-sentence.ts'
import type { PageProps } from '../lib/page-props.ts'
import { planSentences } from '../lib/plan-sentence.ts'
import { useSession } from '../lib/session.ts'
import { useData } from '../lib/use-data.ts'
import { pathOf } from '../lib/visitor-sessions.ts'
import { comparison, weekSentence } from '../lib/week-sentence.ts'
import { TEXTS } from '../texts/texts.ts'
import { FirstSteps } from './first-steps/first-steps.tsx'
import { isFiltered } from './received/kinds.ts'
import { Reasons, sumOf } from './received/reasons.tsx'

const texts = TEXTS.home.home

const REFRESH_MS = 30_000
/** Fast refresh while the user waits for the first event. */
const REFRESH_EMPTY_MS = 3_000

/** This week: the changes, and the companies to look at. */
export function Home({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const { sample } = useSession()
  const isAdmin = useMay('admin')
  const [everyMs, setEveryMs] = useState(REFRESH_MS)
  const { value, error, reload } = useData<HomeAnswer>(`/api/tenants/${tenant}/home`, {}, everyMs)
  const isEmpty = value !== undefined && !value.has_events && value.outcomes.length === 0
  useEffect(() => setEveryMs(isEmpty ? REFRESH_EMPTY_MS : REFRESH_MS), [isEmpty])
  return (
    <Page title={texts.title} description={value && !isEmpty ? weekSentence(value) : texts.about}>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && (
        <>
          <LoadingCards cards={2} min={480} rows={5} rowHeight={44} />
          <LoadingCards cards={4} min={160} rows={2} label="" />
        </>
      )}
      {value?.warning && (
        <Notice tone="warn" role="alert">
          <p>{value.warning.text}</p>
        </Notice>
      )}
      {value !== undefined && tenant !== sample && <Limits tenant={tenant} usage={value.usage} />}
      {value !== undefined && isAdmin && <FirstSteps key={tenant} tenant={tenant} isEmpty={!value.has_events} />}
      {value !== undefined && isEmpty && !isAdmin && (
        <DayZero tenant={tenant} icon={Building2} title={texts.dayZero} about={texts.aboutDayZero} />
      )}
      {value !== undefined && !isEmpty && <Week tenant={tenant} answer={value} />}
    </Page>
  )
}

/** The days of this page. They stay the last ones, also in a segment that is saved from there. */
const WEEK = { when: '7d' } as const

const STATS = [
  { name: 'companies', label: texts.companies, query: {} },
  { name: 'new_companies', label: texts.newCompanies, query: { newDays: HOME.weekDays } },
  { name: 'visits', label: texts.visits, query: { sort: 'visits' } },
  { name: 'events', label: texts.events, query: { sort: 'events' } },
] as const

interface WeekProps {
  readonly tenant: string
  readonly answer: HomeAnswer
}

function Week({ tenant, answer }: WeekProps) {
  const { from, to, now, before, daily_visits, to_look_at } = answer
  const first = new Set(to_look_at.map(({ company_id: id }) => id))
  /** Each company is on the page once: the lists go on after those to look at first. */
  const others = <C extends HomeCompany>(rows: readonly C[]) => rows.filter(({ company_id: id }) => !first.has(id))
  return (
    <>
      <Grid min={480} gap={5} align="start">
        <Card title={texts.chart}>
          <Chart
            label={texts.chart}
            dayTitle={withZone(texts.chartDay)}
            days={daysBetween(from, to)}
            series={[{ name: texts.last7, colour: 1, values: daily_visits.slice(HOME.weekDays) }]}
            line={{ name: texts.weekBefore, values: daily_visits.slice(0, HOME.weekDays) }}
            height={260}
          />
        </Card>
        <ToLookAt tenant={tenant} answer={answer} />
      </Grid>
      <Stats>
        {STATS.map(({ name, label, query }) => {
          const { change, than } = comparison(now[name], before[name])
          return (
            <Stat
              key={name}
              label={label}
              value={number(now[name])}
              href={companiesPath(tenant, { ...WEEK, ...query })}
              change={
                <Change now={now[name]} before={before[name]} isMoreGood>
                  {change}
                </Change>
              }
            >
              {than}
            </Stat>
          )
        })}
      </Stats>
      <Named tenant={tenant} answer={answer} />
      <Filtered tenant={tenant} answer={answer} />
      <Grid min={480} gap={5} align="start">
        <Companies
          tenant={tenant}
          title={texts.alsoNew}
          rows={others(answer.newcomers)}
          noteOf={({ first_page }) => (first_page === '' ? '' : texts.began(pathOf(first_page)))}
          valueNoteOf={({ first_day }) => texts.since(shortDay(first_day))}
          all={{ href: companiesPath(tenant, { ...WEEK, newDays: HOME.weekDays }), count: now.new_companies }}
        />
        <Companies
          tenant={tenant}
          title={texts.alsoRising}
          rows={others(answer.rising)}
          noteOf={whyRising}
          valueFor={({ heat }) => <CompanyHeatBadge heat={heat} />}
          valueNoteOf={({ heat, heat_before, week_visits, usual_visits }) => {
            const rise = (heat?.heat ?? 0) - heat_before
            return rise >= HOME.risingHeat ? texts.rise(number(rise)) : texts.usually(week_visits, number(usual_visits))
          }}
        />
        <Companies
          tenant={tenant}
          title={texts.alsoBack}
          rows={others(answer.returned)}
          noteOf={({ last_page }) => (last_page === '' ? '' : texts.last(pathOf(last_page)))}
          valueNoteOf={({ last_day_before }) =>
            last_day_before === null ? texts.awayLong : texts.awaySince(shortDay(last_day_before))
          }
        />
        <ReadPages tenant={tenant} from={from} to={to} />
      </Grid>
    </>
  )
}

/** A few companies that are new, heating up or back, and one reason each. The lists below have the others. */
function ToLookAt({ tenant, answer: { to_look_at, rising, newcomers, returned } }: WeekProps) {
  const isAdmin = useMay('admin')
  const companies = new Map<string, HomeCompany | RisingCompany>(
    [...returned, ...newcomers, ...rising].map((company) => [company.company_id, company]),
  )
  return (
    <Card title={to_look_at.length === HOME.toLookAt ? texts.five : texts.toLookAt}>
      {to_look_at.length === 0 ? (
        <Text tone="soft">{texts.nothing}</Text>
      ) : (
        <CompanyLines
          tenant={tenant}
          lines={to_look_at.flatMap(({ company_id, why }) => {
            const company = companies.get(company_id)
            if (company === undefined) return []
            const visits = TEXTS.words.counts.visits(company.week_visits)
            const result =
              'heat' in company
                ? { value: <CompanyHeatBadge heat={company.heat} />, note: visits }
                : { value: visits, note: texts.in7Days }
            return { ...company, note: capitalised(why), result: { ...result, dailyVisits: company.daily_visits } }
          })}
        />
      )}
      {isAdmin && companies.size > 0 && [...companies.values()].every(({ fit }) => fit === '') && (
        <Text tone="soft" isSmall>
          {texts.sayFit((text) => (
            <Link href={`/t/${tenant}/settings/heat-and-fit`}>{text}</Link>
          ))}
        </Text>
      )}
    </Card>
  )
}

/** "3 days of 7, read /pricing" */
function whyRising({ week_days, intent_page, last_page }: RisingCompany): string {
  if (intent_page !== '') return texts.daysRead(week_days, pathOf(intent_page))
  return last_page === '' ? texts.days(week_days) : texts.daysLast(week_days, pathOf(last_page))
}

interface CompaniesProps<C extends HomeCompany> {
  readonly tenant: string
  readonly title: string
  readonly rows: readonly C[]
  readonly noteOf: (row: C) => string
  /** Default: the visits of this week. */
  readonly valueFor?: (row: C) => ComponentChildren
  readonly valueNoteOf: (row: C) => string
  readonly all?: { readonly href: string; readonly count: number }
}

/** More companies of one kind; nothing without any. */
function Companies<C extends HomeCompany>(props: CompaniesProps<C>) {
  const { tenant, title, rows, noteOf, valueNoteOf, all } = props
  if (rows.length === 0) return null
  const valueFor = props.valueFor ?? (({ week_visits }: C) => TEXTS.words.counts.visits(week_visits))
  const hasMore = all !== undefined
  return (
    <Card
      title={title}
      actions={
        hasMore && (
          <LinkButton href={all.href} size="s" variant="quiet">
            {TEXTS.words.counts.all(number(all.count))}
          </LinkButton>
        )
      }
    >
      <CompanyLines
        tenant={tenant}
        lines={rows.map((row) => ({
          ...row,
          // The best fits come first in each list.
          note: [row.fit === 'good' ? texts.goodFit : '', noteOf(row)].filter((part) => part !== '').join(', '),
          result: { value: valueFor(row), note: valueNoteOf(row), dailyVisits: row.daily_visits },
        }))}
      />
    </Card>
  )
}

const PAGES_SHOWN = 8

function ReadPages({ tenant, from, to }: { readonly tenant: string; readonly from: string; readonly to: string }) {
  const query = { from, to, limit: PAGES_SHOWN }
  const { value, error, reload } = useData<PagesAnswer>(`/api/tenants/${tenant}/pages`, query)
  const rows = value?.rows ?? []
  const hosts = new Set(rows.map(({ host }) => host))
  return (
    <Card
      title={texts.pages}
      actions={
        value !== undefined &&
        value.total > rows.length && (
          <LinkButton href={`/t/${tenant}/pages`} size="s" variant="quiet">
            {TEXTS.words.counts.all(number(value.total))}
          </LinkButton>
        )
      }
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && <Loading rows={6} rowHeight={28} />}
      {value !== undefined && rows.length === 0 && <Text tone="soft">{texts.noPage}</Text>}
      {rows.length > 0 && (
        <BarList
          bars={rows.map(({ host, path, companies }) => ({
            key: `${host} ${path}`,
            name: hosts.size > 1 ? `${host}${path}` : path,
            href: companiesPath(tenant, { ...WEEK, page: { host, path } }),
            value: companies,
            text: TEXTS.words.counts.companies(companies),
          }))}
        />
      )}
    </Card>
  )
}

/** How many events could be named, and why the others could not. */
function Named({ tenant, answer: { named } }: WeekProps) {
  if (named.now.events === 0) return null
  return (
    <Text isMeasured>
      {namedSentence(named)} <Link href={`/t/${tenant}/accuracy`}>{texts.byWeek}</Link>
    </Text>
  )
}

/** The number of events that were not kept, in one line; the reasons open below it. */
function Filtered({ tenant, answer: { outcomes } }: WeekProps) {
  const received = sumOf(outcomes)
  if (received === 0) return null
  const filtered = sumOf(outcomes.filter(isFiltered))
  const dropped = outcomes.filter(({ status }) => status !== 'stored')
  const summary =
    filtered === 0
      ? texts.noneFiltered(received, isInUtc())
      : texts.filtered(filtered, received, percent(filtered / received), isInUtc())
  return (
    <Disclosure summary={summary}>
      <Stack gap={3}>
        <Reasons rows={dropped} received={received} />
        <Row>
          <LinkButton href={`/t/${tenant}/home/received`} size="s">
            {texts.otherSpans}
          </LinkButton>
        </Row>
      </Stack>
    </Disclosure>
  )
}

/** The limits of the plan that are near or passed. Settings show the numbers of the plan. */
function Limits({ tenant, usage }: { readonly tenant: string; readonly usage: PlanUsage }) {
  const sentences = planSentences(usage)
  if (sentences.length === 0) return null
  return (
    <Notice tone="warn" title={texts.limit}>
      <p>
        {sentences.join(' ')} <Link href={`/t/${tenant}/settings`}>{texts.seePlan}</Link>
      </p>
    </Notice>
  )
}
