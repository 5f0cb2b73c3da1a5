import { Pause, Play, Radio } from 'lucide-preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { CompaniesVersion } from '../../../../schemas/dashboard/companies.ts'
import type { LiveReport } from '../../../../schemas/live-event.ts'
import { DayZero } from '../components/day-zero.tsx'
import { ClassName, CompanyName, Soft, STATUS_WORDS, StatusBadge } from '../components/judgement.tsx'
import { NoMatch } from '../components/no-match.tsx'
import { Button } from '../design/button.tsx'
import { TextInput } from '../design/field.tsx'
import { Fold } from '../design/fold.tsx'
import { Grow, Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Pulse } from '../design/pulse.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Table } from '../design/table.tsx'
import { Segmented } from '../design/tabs.tsx'
import { companyPath } from '../lib/company-links.ts'
import { capitalised, clockTime, number, utc } from '../lib/format.ts'
import { NO_TAIL, rateOf, type Tail, type TailEvent, whyOf, withFrame } from '../lib/live-tail.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { NO_EVENTS } from '../lib/use-companies.ts'
import { useData } from '../lib/use-data.ts'
import { type StreamState, useEvents } from '../lib/use-events.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.live.live

const ROWS_MAX = 100
const STATUSES = [
  { value: '', label: texts.all },
  ...Object.entries(STATUS_WORDS).map(([value, word]) => ({ value, label: capitalised(word) })),
]

/** Arriving events of the API. */
export function Live({ parameters }: PageProps) {
  const { tenant } = parameters
  return <Following key={tenant} tenant={tenant!} />
}

function Following({ tenant }: { readonly tenant: string }) {
  const [url, change] = useUrlState()
  const [tail, setTail] = useState<Tail>(NO_TAIL)
  const [isPaused, setPaused] = useState(false)
  const paused = useRef(isPaused)
  paused.current = isPaused
  const [nowMs, setNow] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000)
    return () => clearInterval(timer)
  }, [])
  const pause = () => {
    setPaused(!isPaused)
    setTail((last) => ({ ...last, missed: 0 }))
  }
  const path = `/api/tenants/${encodeURIComponent(tenant)}/live`
  const state = useEvents<LiveReport>(path, 'frame', (frame) => {
    setTail((last) => withFrame(last, frame, Date.now(), paused.current))
  })
  const status = url.get('status') ?? ''
  const text = (url.get('text') ?? '').trim().toLowerCase()
  /** Without an event there is nothing to filter or to pause. */
  const isShown = tail.events.length > 0 || isPaused
  const shown = tail.events.filter((event) => (status === '' || event.status === status) && holds(event, text))
  return (
    <Page
      title={texts.title}
      description={texts.about((text) => <Link href={`/t/${tenant}/uploads`}>{text}</Link>)}
      actions={
        isShown && (
          <Button icon={isPaused ? Play : Pause} onClick={pause}>
            {isPaused ? texts.resume : texts.pause}
          </Button>
        )
      }
    >
      <Stack>
        {isShown && (
          <Row>
            <Grow>
              <TextInput
                type="search"
                label={texts.search}
                isLabelHidden
                placeholder={texts.search}
                value={url.get('text') ?? ''}
                onInput={(next) => change({ text: next }, true)}
              />
            </Grow>
            <Fold label={TEXTS.words.fields.status} count={status === '' ? 0 : 1}>
              <Segmented
                label={TEXTS.words.fields.status}
                value={status}
                options={STATUSES}
                onChange={(next) => change({ status: next }, true)}
              />
            </Fold>
          </Row>
        )}
        <Pulse state={pulseOf(state, isPaused)}>{rateText(tail, nowMs, state, isPaused)}</Pulse>
      </Stack>
      {!isShown && <Nothing tenant={tenant} />}
      {isShown && shown.length > 0 && <Events tenant={tenant} events={shown.slice(0, ROWS_MAX)} />}
      {isShown && shown.length === 0 && (
        <NoMatch
          title={texts.noMatch}
          filters={[
            ...(text === ''
              ? []
              : [{ name: 'text', label: texts.text, words: text, onRemove: () => change({ text: '' }, true) }]),
            ...STATUSES.filter(({ value }) => value !== '' && value === status).map(({ label }) => ({
              name: 'status',
              label: TEXTS.words.fields.status,
              words: label,
              onRemove: () => change({ status: '' }, true),
            })),
          ]}
        />
      )}
    </Page>
  )
}

function pulseOf(state: StreamState, isPaused: boolean) {
  if (isPaused) return 'idle'
  if (state === 'lost') return 'bad'
  return state === 'open' ? 'good' : 'waiting'
}

function rateText(tail: Tail, nowMs: number, state: StreamState, isPaused: boolean): string {
  if (isPaused) return texts.paused(number(tail.missed))
  if (state === 'lost') return texts.lost
  if (state !== 'open') return texts.connecting
  const { all, shown } = rateOf(tail, nowMs)
  if (all === 0) return texts.noEvents
  const about = aboutOf(all)
  return shown < all && all > 10 ? texts.showing(number(Math.round(shown)), about) : texts.allShown(about)
}

function aboutOf(perSecond: number): string {
  return texts.perSecond(number(perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond)))
}

function holds(event: TailEvent, text: string): boolean {
  if (text === '') return true
  const { company, domain, classification, ip, event_type, country_code, page, title } = event
  const all = [company, domain, classification, ip, event_type, country_code, page, title, whyOf(event)]
  return all.some((value) => value?.toLowerCase().includes(text))
}

/** Says what comes here, to a workspace without an event also the next step. */
function Nothing({ tenant }: { readonly tenant: string }) {
  const { value, error, reload } = useData<CompaniesVersion>(`/api/tenants/${tenant}/companies/version`)
  if (value === undefined) return error === undefined ? <Loading /> : <Problem error={error} onRetry={reload} />
  if (value.version === NO_EVENTS) {
    return <DayZero tenant={tenant} icon={Radio} title={texts.dayZero} about={texts.aboutDayZero} />
  }
  return (
    <EmptyState icon={Radio} title={texts.waiting}>
      <p>{texts.aboutWaiting}</p>
    </EmptyState>
  )
}

function Events({ tenant, events }: { readonly tenant: string; readonly events: readonly TailEvent[] }) {
  return (
    <Table
      label={TEXTS.words.fields.events}
      rows={events}
      keyOf={(event) => String(event.number)}
      columns={[
        {
          key: 'company',
          label: TEXTS.words.fields.company,
          text: 320,
          render: ({ company_id: id, ...event }) => (
            <CompanyName {...event} {...(id !== undefined && { href: companyPath(tenant, id) })} />
          ),
        },
        { key: 'page', label: texts.page, text: 300, inCard: 'whole', render: (event) => <ReadPage {...event} /> },
        {
          key: 'status',
          label: TEXTS.words.fields.status,
          inCard: 'plain',
          render: (event) => <StatusBadge {...event} />,
        },
        { key: 'class', label: TEXTS.words.fields.type, inCard: 'plain', render: (event) => <ClassName {...event} /> },
        {
          key: 'why',
          label: texts.why,
          text: 300,
          inCard: 'plain',
          leaves: 1,
          render: (event) => <Soft>{whyOf(event)}</Soft>,
        },
        { key: 'event', label: texts.event, leaves: 3, render: ({ event_type: type }) => type },
        { key: 'address', label: texts.address, leaves: 2, render: ({ ip }) => ip ?? <Soft>{texts.notKept}</Soft> },
        { key: 'time', label: texts.time, isNumber: true, render: ({ received_at: at }) => <Clock at={at} /> },
      ]}
    />
  )
}

/** The title of a page, and its address. */
function ReadPage({ page, title }: TailEvent) {
  if (page === undefined && title === undefined) return <Soft>–</Soft>
  return (
    <Text as="div" isCut>
      {title ?? page}
      {title !== undefined && page !== undefined && (
        <>
          {' '}
          <Soft>{page}</Soft>
        </>
      )}
    </Text>
  )
}

function Clock({ at }: { readonly at: string }) {
  return (
    <time dateTime={at} title={utc(at)}>
      {clockTime(at)}
    </time>
  )
}
