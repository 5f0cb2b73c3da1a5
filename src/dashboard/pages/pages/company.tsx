import { Link, Redirect } from 'wouter-preact'
import type {
  CompanyAnswer,
  CompanyEvent,
  CompanyReason,
  CompanySource,
} from '../../../../schemas/dashboard/company.ts'
import { Chart } from '../components/chart.tsx'
import { Counts } from '../components/counts.tsx'
import { Empty, Loading, Problem } from '../components/notes.tsx'
import { Scroll } from '../components/scroll.tsx'
import { SpanChoice } from '../components/span-choice.tsx'
import { Time } from '../components/time.tsx'
import { listPath } from '../lib/company-view.ts'
import { country, daysBetween } from '../lib/days.ts'
import { counted, day, number, percent } from '../lib/format.ts'
import { indentedJson } from '../lib/indented-json.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useTitle } from '../lib/title.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { wordNote } from '../lib/word-note.ts'

const SPANS = ['30', '90', '365']
const REFRESH_MS = 30_000

/** A company: its visits, networks and events, and why it was recognised. */
export function Company({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  const [state, set] = useUrlState()
  const id = state.get('id') ?? ''
  const days = SPANS.find((span) => span === state.get('days')) ?? '90'
  const path = `/api/tenants/${tenant}/companies/of/${encodeURIComponent(id)}`
  const { value, error, reload } = useData<CompanyAnswer>(id === '' ? undefined : path, { days }, REFRESH_MS)
  const isKnown = value?.company.company_id === id
  useTitle(isKnown ? value.company.name : 'Company', tenant)
  // The user chose another tenant.
  if (id === '') return <Redirect to={`/t/${tenant}/companies`} replace />
  const back = (
    <p>
      <Link href={listPath(tenant)}>Companies</Link>
    </p>
  )
  if (error !== undefined && !isKnown) {
    return (
      <>
        {back}
        <h1>{id}</h1>
        {error.status === 404 ? (
          <Empty title="No event of this company is stored">
            <p>Its events were erased, expired, or now belong to another company.</p>
          </Empty>
        ) : (
          <Problem error={error} onRetry={reload} />
        )}
      </>
    )
  }
  if (value === undefined || !isKnown) {
    return (
      <>
        {back}
        <Loading />
      </>
    )
  }
  const { company } = value
  return (
    <>
      {back}
      <h1>{company.name}</h1>
      <Facts {...value} />
      <div class="row between">
        <p class="soft">
          {day(value.from)} to {day(value.to)}: {counted(value.all_events, 'event')}, by day of the event (UTC)
        </p>
        <SpanChoice spans={SPANS} days={days} onChange={(next) => set({ days: next })} />
      </div>
      <section class="card">
        <h2>Visits and events, by day of the event (UTC)</h2>
        <DaysChart {...value} />
      </section>
      <Sources {...value} />
      <section class="card">
        <h2>Why it is this company</h2>
        {value.reason === null ? <NoReason addresses={value.addresses} /> : <Reason {...value.reason} />}
      </section>
      <section class="card">
        <h2>Recent events</h2>
        {value.events.length === 0 ? <p class="soft">None in these days.</p> : null}
        <ul class="events">
          {value.events.map((event) => (
            <Event key={`${event.event_id} ${event.received_at}`} {...event} />
          ))}
        </ul>
      </section>
    </>
  )
}

function Facts({ company, accounts }: CompanyAnswer) {
  const own = accounts.length === 1 && accounts[0]!.value === company.company_id
  const facts: readonly (readonly [string, preact.ComponentChildren])[] = [
    ['Domain', company.domain],
    ['Industry', [company.industry, company.industry_category].filter((text) => text !== '').join(' · ')],
    ['Visits from', country(company.country_code)],
    ['Class', company.classification],
    ['Events', number(company.events)],
    ['Visits', number(company.visits)],
    ['Unique IPs', number(company.unique_ips)],
    ['First seen', <Time key="first" at={company.first_seen} />],
    ['Last seen', <Time key="last" at={company.last_seen} />],
    ['Quality', `${company.quality} of 100`],
    ['Id', company.company_id],
    [
      'Accounts',
      own ? '' : accounts.map(({ value, events }) => `${value || 'none'} (${counted(events, 'event')})`).join(', '),
    ],
  ]
  return (
    <dl class="company-facts card">
      {facts
        .filter(([, value]) => value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}

function DaysChart({ from, to, days }: CompanyAnswer) {
  const all = daysBetween(from, to)
  const byDay = new Map(days.map((entry) => [entry.day, entry]))
  const series = [
    { name: 'Events', colour: 2, values: all.map((text) => byDay.get(text)?.events ?? 0) },
    { name: 'Visits', colour: 1, values: all.map((text) => byDay.get(text)?.visits ?? 0) },
  ]
  return <Chart label="Visits and events by day of the event" clock="event" days={all} series={series} kind="lines" />
}

function Sources(answer: CompanyAnswer) {
  const { addresses, located_events: located, all_events: all } = answer
  const note = addresses === 'full' ? ofAddresses(located, all) : 'Addresses of these events are not kept.'
  return (
    <div class="cards wide">
      <Counts title="Networks" rows={answer.networks} all={located} note={note} />
      <Counts title="Cities" rows={answer.cities.map(named)} all={located} note={note} />
      <Counts title="Autonomous systems" rows={answer.as} all={all} />
      <Counts title="Event types" rows={answer.event_types} all={all} />
      <Counts title="Platforms" rows={answer.platforms} all={all} />
    </div>
  )
}

/** Omits the city when only the country is known. */
function named({ value, events }: CompanySource): CompanySource {
  return { value: /^[A-Z]{2}$/.test(value) ? `somewhere in ${country(value)}` : value, events }
}

function ofAddresses(located: number, all: number): string | undefined {
  if (located >= all) return undefined
  return `Of the addresses with the most events: ${percent(located / Math.max(1, all))} of all events.`
}

function NoReason({ addresses }: Pick<CompanyAnswer, 'addresses'>) {
  if (addresses === 'masked') {
    return (
      <p>
        This tenant keeps no addresses, so they cannot be looked up again. The data found when the events arrived are
        shown above.
      </p>
    )
  }
  return <p>There are no events with an address in these days.</p>
}

function Reason({ ip, events, is_same, values, rule, answered, asked }: CompanyReason) {
  return (
    <>
      <p>
        What today’s data says of <code>{ip}</code>, its most frequent address ({counted(events, 'event')}). Classified
        by <code>{rule}</code>; of {number(asked.length)} data sets that were asked, {number(answered.length)} know it.
      </p>
      {!is_same && (
        <p class="note warning">
          Today’s data does not name this company any more. Events that are stored keep what was found out when they
          came; <code>ipid replay --reenrich</code> judges them again.
        </p>
      )}
      <Scroll label="Where each value comes from">
        <table>
          <thead>
            <tr>
              <th scope="col">Attribute</th>
              <th scope="col">Value</th>
              <th scope="col">Data set</th>
              <th scope="col">Network</th>
            </tr>
          </thead>
          <tbody>
            {values.map(({ attribute, value, provider, network, word, precision }) => (
              <tr key={attribute}>
                <th scope="row">{attribute}</th>
                <td>{value}</td>
                <td>{provider}</td>
                <td>{word === null ? (network ?? '') : wordNote(word, precision)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  )
}

function Event(event: CompanyEvent) {
  const parts = [
    ['properties', event.properties],
    ['user_properties', event.user_properties],
    ['other keys', event.extra],
  ].filter(([, json]) => json !== '' && json !== '{}')
  return (
    <li>
      <details>
        <summary>
          <Time at={event.timestamp} /> <strong>{event.event_type || 'no type'}</strong>{' '}
          <span class="soft">{[event.platform, event.ip].filter((text) => text !== '').join(' · ')}</span>
        </summary>
        <p class="soft">
          Event {event.event_id}, account {event.account_id || 'none'}, received <Time at={event.received_at} />
        </p>
        {event.is_cut && <p class="soft">The JSON is long, and cut here.</p>}
        {parts.length === 0 && <p class="soft">It has no properties.</p>}
        {parts.map(([name, json]) => (
          <div key={name}>
            <h3>{name}</h3>
            <Scroll label={`${name} of event ${event.event_id}`}>
              <pre>{indentedJson(json!)}</pre>
            </Scroll>
          </div>
        ))}
      </details>
    </li>
  )
}
