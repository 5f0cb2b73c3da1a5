import { Building2 } from 'lucide-preact'
import { useEffect, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { HOME, type HomeAnswer, type HomeCompany, type RisingCompany } from '../../../../schemas/dashboard/home.ts'
import type { PlanUsage } from '../../../../schemas/dashboard/overview.ts'
import type { PagesAnswer } from '../../../../schemas/dashboard/pages.ts'
import { CompanyHeatBadge } from '../components/company-heat.tsx'
import { type CompanyLine, CompanyLines } from '../components/company-lines.tsx'
import { DayZero } from '../components/day-zero.tsx'
import { BarList } from '../design/bar-list.tsx'
import { LinkButton } from '../design/button.tsx'
import { Chart } from '../design/chart.tsx'
import { Disclosure } from '../design/details.tsx'
import { Grid, Row, Stack, Text } from '../design/layout.tsx'
import { Notice, Problem } from '../design/notice.tsx'
import { Card, Page } from '../design/page.tsx'
import { Loading, LoadingCards } from '../design/skeleton.tsx'
import { companiesPath } from '../lib/company-links.ts'
import { daysBetween, withZone } from '../lib/days.ts'
import { capitalised, number, shortDay } from '../lib/format.ts'
import { type OtherCompany, otherCompanies } from '../lib/home-companies.ts'
import { useMay } from '../lib/may.ts'
import { namedSentence, othersSentence } from '../lib/named-sentence.ts'
import type { PageProps } from '../lib/page-props.ts'
import { planSentences } from '../lib/plan-sentence.ts'
import { useSession } from '../lib/session.ts'
import { useData } from '../lib/use-data.ts'
import { pathOf } from '../lib/visitor-sessions.ts'
import { weekSentence } from '../lib/week-sentence.ts'
import { TEXTS } from '../texts/texts.ts'
import { FirstSteps } from './first-steps/first-steps.tsx'

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
  const isBegun = value !== undefined && !isEmpty
  useEffect(() => setEveryMs(isEmpty ? REFRESH_EMPTY_MS : REFRESH_MS), [isEmpty])
  return (
    <Page
      title={texts.title}
      description={value && !isEmpty ? <WeekSentence tenant={tenant} answer={value} /> : texts.about}
    >
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {value === undefined && error === undefined && (
        <>
          <LoadingCards cards={2} min={480} rows={5} rowHeight={44} />
          <LoadingCards cards={2} min={480} rows={5} rowHeight={44} label="" />
        </>
      )}
      {value?.warning && (
        <Notice tone="warn" role="alert">
          <p>{value.warning.text}</p>
        </Notice>
      )}
      {value !== undefined && tenant !== sample && <Limits tenant={tenant} usage={value.usage} />}
      {isBegun && <Week tenant={tenant} answer={value} />}
      {value !== undefined && isAdmin && <FirstSteps key={tenant} tenant={tenant} isEmpty={!value.has_events} />}
      {isEmpty && !isAdmin && (
        <DayZero tenant={tenant} icon={Building2} title={texts.dayZero} about={texts.aboutDayZero} />
      )}
      {isBegun && <Rest tenant={tenant} answer={value} />}
    </Page>
  )
}

/** The days of this page. They stay the last ones, also in a segment that is saved from there. */
const WEEK = { when: '7d' } as const

/** Links of the numbers. */
function WeekSentence({ tenant, answer }: WeekProps) {
  const to = (query: Parameters<typeof companiesPath>[1]) => (text: string) => (
    <Link href={companiesPath(tenant, { ...WEEK, ...query })}>{text}</Link>
  )
  const links = {
    visits: to({ sort: 'visits' }),
    companies: to({}),
    newCompanies: to({ newDays: HOME.weekDays }),
  }
  return <>{weekSentence(answer, links)}</>
}

interface WeekProps {
  readonly tenant: string
  readonly answer: HomeAnswer
}

function Week({ tenant, answer }: WeekProps) {
  const { from, to, daily_visits } = answer
  return (
    <Grid min={480} gap={5}>
      <Card title={texts.chart}>
        <Chart
          label={texts.chart}
          dayTitle={withZone(texts.chartDay)}
          days={daysBetween(from, to)}
          series={[{ name: texts.last7, colour: 1, values: daily_visits.slice(HOME.weekDays) }]}
          line={{ name: texts.weekBefore, values: daily_visits.slice(0, HOME.weekDays) }}
          height={320}
        />
      </Card>
      <ToLookAt tenant={tenant} answer={answer} />
    </Grid>
  )
}

/** The other companies of the week, the pages that companies read, and what could be named. */
function Rest({ tenant, answer }: WeekProps) {
  return (
    <>
      <Grid min={480} gap={5} align="start">
        <Others tenant={tenant} answer={answer} />
        <ReadPages tenant={tenant} from={answer.from} to={answer.to} />
      </Grid>
      <Named tenant={tenant} answer={answer} />
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

/** The companies that are not among those to look at, and one reason each; nothing without any. */
function Others({ tenant, answer }: WeekProps) {
  const others = otherCompanies(answer)
  if (others.length === 0) return null
  return (
    <Card title={texts.others}>
      <CompanyLines
        tenant={tenant}
        lines={others.map((other) => {
          const { company, kind } = other
          // The best fits come first.
          const notes = [company.fit === 'good' ? texts.goodFit : '', whyOf(other)].filter((part) => part !== '')
          return { ...company, note: texts.noted(texts.kinds[kind], notes), result: resultOf(other) }
        })}
      />
    </Card>
  )
}

/** "began on /pricing" */
function whyOf({ kind, company }: OtherCompany): string {
  if (kind === 'rising') return whyRising(company)
  if (kind === 'newcomer') return company.first_page === '' ? '' : texts.began(pathOf(company.first_page))
  return company.last_page === '' ? '' : texts.last(pathOf(company.last_page))
}

function resultOf({ kind, company }: OtherCompany): CompanyLine['result'] {
  const { week_visits, usual_visits, first_day, last_day_before, daily_visits: dailyVisits } = company
  if (kind === 'rising') {
    const rise = (company.heat?.heat ?? 0) - company.heat_before
    return {
      value: <CompanyHeatBadge heat={company.heat} />,
      note: rise >= HOME.risingHeat ? texts.rise(number(rise)) : texts.usually(week_visits, number(usual_visits)),
      dailyVisits,
    }
  }
  const value = TEXTS.words.counts.visits(week_visits)
  if (kind === 'newcomer') return { value, note: texts.since(shortDay(first_day)), dailyVisits }
  const away = last_day_before === null ? texts.awayLong : texts.awaySince(shortDay(last_day_before))
  return { value, note: away, dailyVisits }
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

/** How many events could be named, in one line; why the others could not opens below it. */
function Named({ tenant, answer: { named } }: WeekProps) {
  if (named.now.events === 0) return null
  const others = othersSentence(named.now)
  return (
    <Disclosure summary={namedSentence(named)}>
      <Stack gap={3}>
        {others !== undefined && <Text isMeasured>{others}</Text>}
        <Row>
          <LinkButton href={`/t/${tenant}/home/received`} size="s">
            {texts.received}
          </LinkButton>
          <LinkButton href={`/t/${tenant}/accuracy`} size="s">
            {texts.byWeek}
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
