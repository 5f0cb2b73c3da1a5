import { useEffect, useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { LIVE_STATUSES, type LiveReport } from '../../../../schemas/live-event.ts'
import { CodeLine } from '../components/code-line.tsx'
import { ClassName, CompanyName, STATUS_WORDS, StatusTag } from '../components/judgement.tsx'
import { Empty } from '../components/notes.tsx'
import { Scroll } from '../components/scroll.tsx'
import { number, utc } from '../lib/format.ts'
import { ingestLine } from '../lib/ingest-line.ts'
import { NO_TAIL, rateOf, type Tail, type TailEvent, whyOf, withFrame } from '../lib/live-tail.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useSession } from '../lib/session.ts'
import { useUrlState } from '../lib/url-state.ts'
import { type StreamState, useEvents } from '../lib/use-events.ts'

const ROWS_MAX = 100
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' })

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
    <>
      <h1>Live</h1>
      <div class="row live-bar">
        <label class="field">
          <span>Status</span>
          <select value={status} onChange={(event) => change({ status: event.currentTarget.value }, true)}>
            <option value="">all</option>
            {LIVE_STATUSES.map((name) => (
              <option key={name} value={name}>
                {STATUS_WORDS[name]}
              </option>
            ))}
          </select>
        </label>
        <label class="field live-text">
          <span>Company, class, address or reason</span>
          <input
            type="search"
            value={url.get('text') ?? ''}
            onInput={(event) => change({ text: event.currentTarget.value }, true)}
          />
        </label>
        <button type="button" onClick={pause}>
          {isPaused ? 'Resume' : 'Pause'}
        </button>
      </div>
      <p class="soft live-rate">{rateText(tail, nowMs, state, isPaused)}</p>
      {tail.events.length === 0 ? <Nothing /> : <Events events={shown.slice(0, ROWS_MAX)} />}
      <p class="soft">
        These are events of the API. A repeated event is shown as ok too, but counts once. Lines of uploads do not
        appear here: <Link href={`/t/${tenant}/uploads`}>Uploads</Link> shows their progress.
      </p>
    </>
  )
}

function rateText(tail: Tail, nowMs: number, state: StreamState, isPaused: boolean): string {
  if (isPaused) return `Paused; ${number(tail.missed)} came meanwhile.`
  if (state === 'lost')
    return 'The server does not answer or refuses the connection. Trying again; reload the page if this continues.'
  if (state !== 'open') return 'Connecting…'
  const { all, shown } = rateOf(tail, nowMs)
  if (all === 0) return 'No events right now.'
  const about = aboutOf(all)
  return shown < all && all > 10 ? `Showing ${number(Math.round(shown))} of ${about}.` : `All are shown: ${about}.`
}

function aboutOf(perSecond: number): string {
  return `about ${number(perSecond < 10 ? Math.round(perSecond * 10) / 10 : Math.round(perSecond))} a second`
}

function holds(event: TailEvent, text: string): boolean {
  if (text === '') return true
  const { company, domain, classification, ip, event_type, country_code } = event
  const all = [company, domain, classification, ip, event_type, country_code, whyOf(event)]
  return all.some((value) => value?.toLowerCase().includes(text))
}

function Nothing() {
  const { api_url } = useSession()
  return (
    <Empty title="Waiting for events">
      <p>Each event sent to the API appears here within a second. Send one, with your key instead of YOUR_KEY:</p>
      <CodeLine text={ingestLine(api_url, 'YOUR_KEY')} label="Command that sends an event" />
    </Empty>
  )
}

function Events({ events }: { readonly events: readonly TailEvent[] }) {
  if (events.length === 0) return <Empty title="No event matches the filter" />
  return (
    <Scroll label="Events" class="live-table">
      <table>
        <thead>
          <tr>
            <th>Time</th>
            <th>Status</th>
            <th>Company</th>
            <th>Class</th>
            <th>Why</th>
            <th>Event</th>
            <th>Address</th>
          </tr>
        </thead>
        <tbody>
          {events.map((event) => (
            <Row key={event.number} event={event} />
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function Row({ event }: { readonly event: TailEvent }) {
  const { received_at: at } = event
  return (
    <tr>
      <td>
        <time dateTime={at} title={utc(at)}>
          {clock.format(new Date(at))}
        </time>
      </td>
      <td>
        <StatusTag {...event} />
      </td>
      <td class="live-company">
        <CompanyName {...event} />
      </td>
      <td>
        <ClassName {...event} />
      </td>
      <td class="live-why">{whyOf(event)}</td>
      <td>{event.event_type}</td>
      <td>{event.ip ?? <span class="soft">not kept</span>}</td>
    </tr>
  )
}
