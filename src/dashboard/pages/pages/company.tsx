import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Redirect } from 'wouter-preact'
import { ACTIVITY_LIMITS, type ActivityAnswer, type InSessions } from '../../../../schemas/dashboard/activity.ts'
import type {
  CompanyAnswer,
  CompanyEvent,
  CompanyReason,
  CompanySource,
} from '../../../../schemas/dashboard/company.ts'
import type { CorrectionsStateAnswer } from '../../../../schemas/dashboard/corrections.ts'
import { CompanyAvatar } from '../components/company-avatar.tsx'
import { CompanyHeatBadge } from '../components/company-heat.tsx'
import { PastJob } from '../components/past-job.tsx'
import { Share } from '../components/share.tsx'
import { type Bar, BarList } from '../design/bar-list.tsx'
import { Chart } from '../design/chart.tsx'
import { CodeBlock } from '../design/code.tsx'
import { Disclosure } from '../design/details.tsx'
import { ExternalLink } from '../design/external-link.tsx'
import { Grid, List, Row, Split, Stack, Text } from '../design/layout.tsx'
import { EmptyState, Notice, Problem } from '../design/notice.tsx'
import { Card, Page, Section } from '../design/page.tsx'
import { Loading, LoadingCards } from '../design/skeleton.tsx'
import { Stat, Stats } from '../design/stat.tsx'
import { Table } from '../design/table.tsx'
import { Segmented } from '../design/tabs.tsx'
import { Time } from '../design/time.tsx'
import { companiesPath, linkedInSearch, siteUrl } from '../lib/company-links.ts'
import { listPath, shownColumns } from '../lib/company-view.ts'
import { country, dayOf, daysAgo, daysBetween, withZone } from '../lib/days.ts'
import { fitReason, fitWord } from '../lib/fit.ts'
import { day, number, percent } from '../lib/format.ts'
import { indentedJson } from '../lib/indented-json.ts'
import { onceADay } from '../lib/once-a-day.ts'
import { useOwnColumns } from '../lib/own-columns.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useTitle } from '../lib/title.ts'
import { touchesOf } from '../lib/touches.ts'
import { useUrlState } from '../lib/url-state.ts'
import { type Data, useData } from '../lib/use-data.ts'
import { usualWeek, usualWeekText } from '../lib/usual-week.ts'
import { pathOf } from '../lib/visitor-sessions.ts'
import { whySentence } from '../lib/why-sentence.ts'
import { wordNote } from '../lib/word-note.ts'
import { TEXTS } from '../texts/texts.ts'
import { CompanyActions, CorrectionHistory, CorrectionState } from './company/corrections.tsx'
import { CompanyFacts } from './company/facts.tsx'
import { SessionList } from './company/session-list.tsx'
import { CompanySteps } from './company/steps.tsx'

const texts = TEXTS.company.page

const SPANS = ['30', '90', '365']
const REFRESH_MS = 30_000

/** A company: its attributes, its visits, where they came from, and why it was recognised. */
export function Company({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const id = state.get('id') ?? ''
  const days = SPANS.find((span) => span === state.get('days')) ?? '30'
  const path = `/api/tenants/${tenant}/companies/of/${encodeURIComponent(id)}`
  const { value, error, reload } = useData<CompanyAnswer>(id === '' ? undefined : path, { days }, REFRESH_MS)
  const read = useData<ActivityAnswer>(id === '' ? undefined : `${path}/activity`, { days }, REFRESH_MS)
  // Not that of the company before, while this one's is loading.
  const activity = { ...read, value: read.of?.startsWith(`${path}/activity?`) ? read.value : undefined }
  const held = useData<CorrectionsStateAnswer>(
    id === '' ? undefined : `/api/tenants/${tenant}/corrections/state`,
    { company: [id] },
    REFRESH_MS,
  )
  const { columns } = useOwnColumns(tenant)
  const [turn, setTurn] = useState(0)
  const changed = () => {
    setTurn((last) => last + 1)
    for (const each of [held, activity]) each.reload()
    reload()
  }
  const isKnown = value?.company.company_id === id
  useTitle(isKnown ? value.company.name : TEXTS.words.fields.company, tenant)
  // The user chose another tenant.
  if (id === '') return <Redirect to={`/t/${tenant}/companies`} replace />
  const correction = held.value?.companies.find(({ company_id }) => company_id === id)
  const above = {
    back: { href: listPath(tenant), label: TEXTS.words.fields.companies },
    beside: <CompanySteps tenant={tenant} id={id} />,
  }
  const facts = { tenant, correction, isKnown: held.value !== undefined, columns, changed }
  // Its last visit may have left it while it was shown.
  if (value === undefined || !isKnown || error?.status === 404) {
    return (
      <Page title={id} {...above}>
        <PastJob tenant={tenant} ended={changed} />
        {error === undefined ? (
          <Split aside={<Loading rows={6} />}>
            <LoadingCards cards={4} min={140} rows={2} label="" />
            <LoadingCards cards={1} rows={1} rowHeight={180} label="" />
            <Loading rows={6} rowHeight={32} label="" />
          </Split>
        ) : error.status === 404 ? (
          <>
            {correction !== undefined && <CorrectionState tenant={tenant} correction={correction} />}
            <EmptyState title={texts.notShown}>
              <Text>{texts.whyNotShown}</Text>
            </EmptyState>
            {correction !== undefined && (
              <CompanyFacts
                key={id}
                {...facts}
                answer={undefined}
                touches={undefined}
                company={{ company_id: id, name: id }}
              />
            )}
            <CorrectionHistory tenant={tenant} companyId={id} changed={changed} turn={turn} />
          </>
        ) : (
          <Problem error={error} onRetry={reload} />
        )}
      </Page>
    )
  }
  const { company, from, to, all_events: all } = value
  return (
    <Page
      title={
        <>
          <CompanyAvatar tenant={tenant} company={company} size={36} />
          {company.name}
        </>
      }
      {...above}
      actions={
        <>
          <CompanyActions key={id} tenant={tenant} answer={value} correction={correction} changed={changed} />
          <Share
            key={`share ${id}`}
            tenant={tenant}
            shared={{ company_id: id }}
            name={company.name}
            columns={shownColumns(new URLSearchParams())}
          />
        </>
      }
    >
      <PastJob tenant={tenant} ended={changed} />
      {correction !== undefined && <CorrectionState tenant={tenant} correction={correction} />}
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      <Split
        aside={<CompanyFacts key={id} {...facts} answer={value} touches={touchesOf(activity)} company={company} />}
      >
        <Figures {...value} />
        <Section title={texts.why}>
          {value.reason === null ? (
            <NoReason addresses={value.addresses} />
          ) : (
            <Reason reason={value.reason} name={company.name} />
          )}
        </Section>
        <Section
          title={texts.chartTitle}
          description={texts.span(day(from), day(to), all)}
          actions={
            <Segmented
              label={texts.days}
              value={days}
              options={SPANS.map((span) => ({ value: span, label: texts.daysCount(span) }))}
              onChange={(next) => set({ days: next })}
            />
          }
        >
          <DaysChart {...value} />
        </Section>
        <SessionList key={path} path={path} />
        <Activity tenant={tenant} answer={value} activity={activity} />
        <Sources {...value} />
        <CorrectionHistory tenant={tenant} companyId={id} changed={changed} turn={turn} />
        <Disclosure summary={texts.raw}>
          {value.events.length === 0 ? <Text tone="soft">{texts.noneInDays}</Text> : null}
          <List label={texts.rawLabel} gap={1}>
            {value.events.map((event) => (
              <Event key={`${event.event_id} ${event.received_at}`} {...event} />
            ))}
          </List>
        </Disclosure>
      </Split>
    </Page>
  )
}

function Figures({ company, heat, from, to, days }: CompanyAnswer) {
  const firstDay = dayOf(company.first_seen)
  // The days of a company that has not come for long end with its last event.
  const isCurrent = to >= daysAgo(0)
  const week = usualWeek(firstDay > from ? firstDay : from, to, days)
  return (
    <Stats>
      <Stat label={TEXTS.words.fields.heat} value={<CompanyHeatBadge heat={heat} isLarge />}>
        {texts.ofHundred}
      </Stat>
      {company.fit !== '' && (
        <Stat label={TEXTS.words.fields.fit} value={fitWord(company.fit)}>
          {fitReason(company)}
        </Stat>
      )}
      {week !== undefined && (
        <Stat label={isCurrent ? texts.last7 : texts.lastWeek} value={number(week.visits)}>
          {usualWeekText(week)}
        </Stat>
      )}
      <Stat label={TEXTS.words.fields.visits} value={number(company.visits)}>
        {texts.addresses(company.unique_ips)}
      </Stat>
      <Stat label={TEXTS.words.fields.events} value={number(company.events)}>
        {texts.inAll}
      </Stat>
      <Stat label={TEXTS.words.fields.lastSeen} value={<Time at={company.last_seen} isAgo />}>
        {texts.firstSeen(<Time at={company.first_seen} />)}
      </Stat>
    </Stats>
  )
}

const MEASURES = { visits: TEXTS.words.fields.visits, events: TEXTS.words.fields.events } as const

/** Visits by day, or events on request: a company has many times as many events, so one scale would hide its visits. */
function DaysChart({ from, to, days }: CompanyAnswer) {
  const [measure, setMeasure] = useState<keyof typeof MEASURES>('visits')
  const all = daysBetween(from, to)
  const byDay = new Map(days.map((entry) => [entry.day, entry]))
  const name = MEASURES[measure]
  const values = all.map((day) => byDay.get(day)?.[measure] ?? 0)
  const once = onceADay(values)
  return (
    <Stack gap={2}>
      <Row justify="right">
        <Segmented
          label={texts.counts}
          value={measure}
          options={Object.entries(MEASURES).map(([value, label]) => ({ value, label }))}
          onChange={(value) => setMeasure(value as keyof typeof MEASURES)}
        />
      </Row>
      <Chart
        label={texts.byDay(name)}
        dayTitle={withZone(texts.chartDay)}
        days={all}
        series={[{ name, colour: measure === 'visits' ? 1 : 4, values }]}
        height={180}
        marks={once === undefined ? undefined : texts.once[measure](once, all.length)}
      />
    </Stack>
  )
}

interface ActivityProps {
  readonly tenant: string
  readonly answer: CompanyAnswer
  readonly activity: Data<ActivityAnswer>
}

/** Its pages, where its visits came from, and its visitors. */
function Activity({ tenant, answer, activity: { value, error, reload } }: ActivityProps) {
  if (error !== undefined) return <Problem error={error} onRetry={reload} />
  if (value === undefined) return <Loading rows={5} />
  const { company, from, to } = answer
  const { sessions: all, direct_sessions: direct } = value
  const shown = new Set(['', company.company_id, ...value.people.map((person) => person.value)])
  const hosts = new Set(value.pages.map(({ value: page }) => page.slice(0, page.indexOf('/'))))
  return (
    <Stack gap={4}>
      <Text tone="soft" isSmall>
        {value.is_cut ? texts.sharesOfNewest(all, ACTIVITY_LIMITS.summedEvents) : texts.shares(all)}
      </Text>
      <Grid min={300}>
        <Ranking
          title={texts.topPages}
          rows={value.pages.map(inSessions)}
          all={all}
          nameOf={(page) => (hosts.size > 1 ? page : pathOf(page))}
          hrefOf={(page) => companiesPath(tenant, { from, to, page })}
          none={texts.noPage}
        />
        <Ranking
          title={texts.referrers}
          rows={[...value.referrers, ...(direct > 0 ? [{ value: DIRECT, sessions: direct }] : [])]
            .sort((a, b) => b.sessions - a.sessions)
            .map(inSessions)}
          all={all}
          none={texts.noReferrer}
        />
        <Ranking title={texts.campaigns} rows={value.campaigns.map(inSessions)} all={all} none={texts.noCampaign} />
        <Ranking
          title={texts.people}
          rows={[...value.people, ...value.accounts.filter((account) => !shown.has(account.value))].map(inSessions)}
          all={all}
          none={texts.noPerson}
        >
          <FindPeople {...company} />
        </Ranking>
      </Grid>
    </Stack>
  )
}

/** Where a person can find people of a company. ipid looks none up. */
function FindPeople({ name, domain }: CompanyAnswer['company']) {
  const site = siteUrl(domain)
  return (
    <Stack gap={2}>
      <Row gap={3}>
        {site !== undefined && <ExternalLink href={site}>{texts.site}</ExternalLink>}
        <ExternalLink href={linkedInSearch('companies', name)}>{texts.linkedInCompany}</ExternalLink>
        <ExternalLink href={linkedInSearch('people', name)}>{texts.linkedInPeople}</ExternalLink>
      </Row>
      <Text tone="soft" isSmall>
        {texts.onlyNamed}
      </Text>
    </Stack>
  )
}

const DIRECT = texts.direct

interface Ranked {
  readonly value: string
  readonly count: number
}

const inSessions = ({ value, sessions }: InSessions): Ranked => ({ value, count: sessions })
const inEvents = ({ value, events }: CompanySource): Ranked => ({ value, count: events })

interface RankingProps {
  readonly title: string
  readonly rows: readonly Ranked[]
  readonly all: number
  readonly none: string
  readonly note?: string | undefined
  readonly nameOf?: (value: string) => string
  readonly hrefOf?: (value: string) => string
  readonly children?: ComponentChildren
}

function Ranking(props: RankingProps) {
  const { title, rows, all, none, note, nameOf = (value) => value, hrefOf, children } = props
  const bars = rows.map(({ value, count }): Bar => {
    const bar = {
      key: value,
      name: value === '' ? texts.notKnown : nameOf(value),
      value: count,
      text: percent(count / Math.max(1, all)),
    }
    return hrefOf === undefined ? bar : { ...bar, href: hrefOf(value) }
  })
  return (
    <Card title={title} isTight>
      {note !== undefined && (
        <Text tone="soft" isSmall>
          {note}
        </Text>
      )}
      {bars.length === 0 ? <Text tone="soft">{none}</Text> : <BarList bars={bars} whole={all} />}
      {children}
    </Card>
  )
}

function Sources(answer: CompanyAnswer) {
  const { addresses, located_events: located, all_events: all } = answer
  const note = addresses === 'full' ? addressNote(located, all) : texts.noAddresses
  const none = texts.none
  return (
    <Disclosure summary={texts.sources}>
      <Grid min={300} gap={4}>
        <Ranking title={texts.networks} rows={answer.networks.map(inEvents)} all={located} note={note} none={none} />
        <Ranking
          title={texts.cities}
          rows={answer.cities.map(named).map(inEvents)}
          all={located}
          note={note}
          none={none}
        />
        <Ranking title={texts.systems} rows={answer.as.map(inEvents)} all={all} none={none} />
        <Ranking title={texts.types} rows={answer.event_types.map(inEvents)} all={all} none={none} />
        <Ranking title={texts.platforms} rows={answer.platforms.map(inEvents)} all={all} none={none} />
      </Grid>
    </Disclosure>
  )
}

/** Omits the city when only the country is known. */
function named({ value, events }: CompanySource): CompanySource {
  return { value: /^[A-Z]{2}$/.test(value) ? texts.somewhereIn(country(value)) : value, events }
}

function addressNote(located: number, all: number): string | undefined {
  if (located >= all) return undefined
  return texts.ofAddresses(percent(located / Math.max(1, all)))
}

function NoReason({ addresses }: Pick<CompanyAnswer, 'addresses'>) {
  if (addresses === 'masked') {
    return <Text isMeasured>{texts.keepsNone}</Text>
  }
  return <Text>{texts.noAddress}</Text>
}

interface ReasonProps {
  readonly reason: CompanyReason
  readonly name: string
}

/** Why it was recognised, in a sentence, with the proof on request. */
function Reason({ reason, name }: ReasonProps) {
  const { ip, events, is_same, values, rule, answered, asked } = reason
  return (
    <Stack gap={3}>
      <Text isMeasured>{whySentence(reason, name)}</Text>
      {!is_same && (
        <Notice tone="warn">
          <p>{texts.judgedAgain(<code>ipid replay --reenrich</code>)}</p>
        </Notice>
      )}
      <Disclosure summary={texts.proof}>
        <Stack gap={3}>
          <Text tone="soft" isMeasured>
            {texts.todaysData(<code>{ip}</code>, events, <code>{rule}</code>, answered.length, asked.length)}
          </Text>
          {values.length > 0 && (
            <Table
              label={texts.values}
              rows={values}
              keyOf={({ attribute }) => attribute}
              columns={[
                { key: 'attribute', label: texts.attribute, render: ({ attribute }) => attribute },
                { key: 'value', label: texts.value, text: 'wrap', render: ({ value }) => value },
                { key: 'provider', label: texts.dataSet, render: ({ provider }) => provider },
                {
                  key: 'network',
                  label: texts.network,
                  render: ({ network, word, precision }) =>
                    word === null ? (network ?? '') : wordNote(word, precision),
                },
              ]}
            />
          )}
        </Stack>
      </Disclosure>
    </Stack>
  )
}

function Event(event: CompanyEvent) {
  const parts = [
    [texts.parts.properties, event.properties],
    [texts.parts.userProperties, event.user_properties],
    [texts.parts.otherKeys, event.extra],
  ].filter(([, json]) => json !== '' && json !== '{}')
  return (
    <li>
      <Disclosure
        summary={
          <span>
            <Time at={event.timestamp} /> <strong>{event.event_type || texts.noType}</strong>{' '}
            {[event.platform, event.ip].filter((text) => text !== '').join(' · ')}
          </span>
        }
      >
        <Stack gap={2}>
          <Text tone="soft">{texts.event(event.event_id, event.account_id, <Time at={event.received_at} />)}</Text>
          {event.is_cut && <Text tone="soft">{texts.cut}</Text>}
          {parts.length === 0 && <Text tone="soft">{texts.noProperties}</Text>}
          {parts.map(([name, json]) => (
            <CodeBlock key={name} label={texts.partOf(name!, event.event_id)} text={indentedJson(json!)} />
          ))}
        </Stack>
      </Disclosure>
    </li>
  )
}
