import { Pause, Play, Radio } from 'lucide-preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { LiveReport } from '../../../../schemas/live-event.ts'
import { ClassName, CompanyName, Soft, STATUS_WORDS, StatusBadge } from '../components/judgement.tsx'
import { Button } from '../design/button.tsx'
import { CodeLine } from '../design/code.tsx'
import { TextInput } from '../design/field.tsx'
import { Grow, Row, Stack, Text } from '../design/layout.tsx'
import { EmptyState } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Pulse } from '../design/pulse.tsx'
import { Table } from '../design/table.tsx'
import { Segmented } from '../design/tabs.tsx'
import { companyPath } from '../lib/company-links.ts'
import { capitalised, clockTime, number, utc } from '../lib/format.ts'
import { ingestLine } from '../lib/ingest-line.ts'
import { NO_TAIL, rateOf, type Tail, type TailEvent, whyOf, withFrame } from '../lib/live-tail.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useSession } from '../lib/session.ts'
import { useUrlState } from '../lib/url-state.ts'
import { type StreamState, useEvents } from '../lib/use-events.ts'

const ROWS_MAX = 100
const STATUSES = [
  { value: '', label: 'All' },
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
  const shown = tail.events.filter((event) => (status === '' || event.status === status) && holds(event, text))
  return (
    <Page
      title="Live"
      description={
        <>
          Events that arrive now, and their results. A repeat shows as kept too, but counts once. Files are on{' '}
          <Link href={`/t/${tenant}/uploads`}>Uploads</Link>.
        </>
      }
      actions={
        <Button icon={isPaused ? Play : Pause} onClick={pause}>
          {isPaused ? 'Resume' : 'Pause'}
        </Button>
      }
    >
      <Stack>
        <Row>
          <Segmented
            label="Status"
            value={status}
            options={STATUSES}
            onChange={(next) => change({ status: next }, true)}
          />
          <Grow>
            <TextInput
              type="search"
              label="Company, page, type, address or reason"
              isLabelHidden
              placeholder="Company, page, type, address or reason"
              value={url.get('text') ?? ''}
              onInput={(next) => change({ text: next }, true)}
            />
          </Grow>
        </Row>
        <Pulse state={pulseOf(state, isPaused)}>{rateText(tail, nowMs, state, isPaused)}</Pulse>
      </Stack>
      {tail.events.length === 0 ? <Nothing /> : <Events tenant={tenant} events={shown.slice(0, ROWS_MAX)} />}
    </Page>
  )
}

function pulseOf(state: StreamState, isPaused: boolean) {
  if (isPaused) return 'idle'
  if (state === 'lost') return 'bad'
  return state === 'open' ? 'good' : 'waiting'
}

function rateText(tail: Tail, nowMs: number, state: StreamState, isPaused: boolean): string {
  if (isPaused) return `Paused; ${number(tail.missed)} came meanwhile.`
  if (state === 'lost')
    return 'The server does not answer or refuses the connection. Trying again; reload the page if this continues.'
  if (state !== 'open') return 'Connecting…'
  const { all, shown } = rateOf(tail, nowMs)
  if (all === 0) return 'Connected. No events right now.'
  const about = aboutOf(all)
  return shown < all && all > 10 ? `Showing ${number(Math.round(shown))} of ${about}.` : `All are shown: ${about}.`
}

function aboutOf(perSecond: number): string {
  return `about ${number(perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond))} a second`
}

function holds(event: TailEvent, text: string): boolean {
  if (text === '') return true
  const { company, domain, classification, ip, event_type, country_code, page, title } = event
  const all = [company, domain, classification, ip, event_type, country_code, page, title, whyOf(event)]
  return all.some((value) => value?.toLowerCase().includes(text))
}

function Nothing() {
  const { api_url } = useSession()
  return (
    <EmptyState icon={Radio} title="Waiting for events">
      <p>Each event sent to the API appears here within a second. Send one, with your key instead of YOUR_KEY:</p>
      <CodeLine text={ingestLine(api_url, 'YOUR_KEY')} label="Command that sends an event" />
    </EmptyState>
  )
}

function Events({ tenant, events }: { readonly tenant: string; readonly events: readonly TailEvent[] }) {
  if (events.length === 0) {
    return (
      <EmptyState title="No event matches the filter">
        <p>Choose another status, or type a shorter part of the name.</p>
      </EmptyState>
    )
  }
  return (
    <Table
      label="Events"
      rows={events}
      keyOf={(event) => String(event.number)}
      columns={[
        {
          key: 'company',
          label: 'Company',
          text: 320,
          render: ({ company_id: id, ...event }) => (
            <CompanyName {...event} {...(id !== undefined && { href: companyPath(tenant, id) })} />
          ),
        },
        { key: 'page', label: 'Page', text: 300, inCard: 'whole', render: (event) => <ReadPage {...event} /> },
        { key: 'status', label: 'Status', inCard: 'plain', render: (event) => <StatusBadge {...event} /> },
        { key: 'class', label: 'Type', inCard: 'plain', render: (event) => <ClassName {...event} /> },
        {
          key: 'why',
          label: 'Why',
          text: 300,
          inCard: 'plain',
          leaves: 1,
          render: (event) => <Soft>{whyOf(event)}</Soft>,
        },
        { key: 'event', label: 'Event', leaves: 3, render: ({ event_type: type }) => type },
        { key: 'address', label: 'Address', leaves: 2, render: ({ ip }) => ip ?? <Soft>not kept</Soft> },
        { key: 'time', label: 'Time', isNumber: true, render: ({ received_at: at }) => <Clock at={at} /> },
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
