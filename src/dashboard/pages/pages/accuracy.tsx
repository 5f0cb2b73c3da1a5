import type { AccuracyAnswer } from '../../../../schemas/dashboard/accuracy.ts'
import { CodeLine } from '../components/code-line.tsx'
import { Empty, Loading, Problem } from '../components/notes.tsx'
import { SpanChoice } from '../components/span-choice.tsx'
import { counted, number, percent } from '../lib/format.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { Proposals } from './accuracy/proposals.tsx'

const SPANS = ['7', '30', '90'] as const
const EXAMPLE = '"user_properties": {"email": "jane@example.com"}'

type Share = AccuracyAnswer['all']

/** How often the companies of a tenant's visits are right, by its own sign-ups. */
export function Accuracy({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  return (
    <div key={tenant} class="accuracy">
      <h1>Accuracy</h1>
      <p class="soft">
        People who sign up tell where they work: the domain of a work e-mail address is compared with the company that
        was found by the address of the visit.
      </p>
      <Precision tenant={tenant} />
      <Proposals tenant={tenant} />
      <section>
        <h2>Try other data</h2>
        <p class="soft">
          On the machine where ipid runs, this compares your data with another folder on the stored addresses: what only
          one knows, where they differ, and who is right. It changes nothing.
        </p>
        <CodeLine text={`./ipid compare ${tenant} --with DIR`} label="Command that compares data" />
      </section>
    </div>
  )
}

function Precision({ tenant }: { readonly tenant: string }) {
  const [days, setDays] = useDays()
  const { value, error, reload } = useData<AccuracyAnswer>(`/api/tenants/${tenant}/accuracy`, { days })
  if (value === undefined) return error === undefined ? <Loading /> : <Problem error={error} onRetry={reload} />
  const { all, rules, data_sets, classifications, qualities } = value
  return (
    <section>
      <div class="row">
        <SpanChoice spans={SPANS} days={days} onChange={setDays} />
      </div>
      {error !== undefined && <Problem error={error} onRetry={reload} />}
      {all.events + rules.events === 0 ? (
        <Empty title="No visit has a known company yet">
          <p>
            Send the e-mail address of people who sign up or sign in, as <code>email</code> in{' '}
            <code>user_properties</code>. Only its domain is kept for this; free and disposable mail does not count. The
            other events of the same <code>session_id</code> then count too.
          </p>
          <CodeLine text={EXAMPLE} label="Part of an event" />
          <p class="soft">
            <code>./ipid demo</code> adds made-up visits with such addresses.
          </p>
        </Empty>
      ) : (
        <>
          <Summary all={all} />
          {rules.events > 0 && (
            <p class="note soft">
              Not counted here: {counted(rules.events, 'event')} from {counted(rules.cases, 'address', 'addresses')}{' '}
              that your rules <code>is</code> name. {number(rules.right)} of them are right, but a rule may have been
              made of the same people.
            </p>
          )}
          <Breakdown title="By data set" name="Data set" rows={data_sets.map((set) => [set.name, set] as const)} />
          <Breakdown title="By class" name="Class" rows={classifications.map((each) => [each.name, each] as const)} />
          <Breakdown
            title="By quality score"
            name="Score"
            rows={qualities.map((each) => [`${each.from} to ${each.to}`, each] as const)}
          />
          <p class="soft">
            Right: of the addresses whose visits were attributed to a company, the share attributed to the one of the
            e-mail address. Each address counts once, however many events it has. The bar and the numbers beside it are
            its 95 % interval. Noise is not stored, so it is not counted.
          </p>
        </>
      )}
    </section>
  )
}

function useDays(): [string, (days: string) => void] {
  const [state, set] = useUrlState()
  const days = SPANS.find((span) => span === state.get('days')) ?? '30'
  return [days, (next) => set({ days: next })]
}

function Summary({ all }: { readonly all: Share }) {
  const { events, right, other, none, precision, low, high } = all
  return (
    <div class="cards">
      <section class="card">
        <h3>Right when attributed</h3>
        <p class="figure">{precision === null ? 'unknown' : percent(precision)}</p>
        <p class="soft">
          {precision === null
            ? 'no visit was attributed'
            : `95 % interval: ${percent(low!)} to ${percent(high!)}, ${counted(all.cases, 'address', 'addresses')}`}
        </p>
      </section>
      <section class="card">
        <h3>Attributed</h3>
        <p class="figure">{events === 0 ? 'none' : percent((right + other) / events)}</p>
        <p class="soft">of {counted(events, 'event')} with a known company</p>
      </section>
      <section class="card">
        <h3>Events</h3>
        <p class="figure">{number(right)} right</p>
        <p class="soft">
          {number(other)} of another company, {number(none)} of none
        </p>
      </section>
    </div>
  )
}

function Breakdown({
  title,
  name,
  rows,
}: {
  readonly title: string
  readonly name: string
  readonly rows: readonly (readonly [name: string, share: Share])[]
}) {
  return (
    <section>
      <h2>{title}</h2>
      <div class="table">
        <table>
          <thead>
            <tr>
              <th>{name}</th>
              <th>Right</th>
              <th class="number">Events</th>
              <th class="number">Right</th>
              <th class="number">Other company</th>
              <th class="number">None</th>
            </tr>
          </thead>
          <tbody>
            {rows.map(([label, share]) => (
              <tr key={label}>
                <td>{label}</td>
                <td>
                  <Interval share={share} />
                </td>
                <td class="number">{number(share.events)}</td>
                <td class="number">{number(share.right)}</td>
                <td class="number">{number(share.other)}</td>
                <td class="number">{number(share.none)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  )
}

/** The share with its interval, as text and as a bar. */
function Interval({ share: { precision, low, high } }: { readonly share: Share }) {
  if (precision === null || low === null || high === null) return <span class="soft">no case</span>
  const [from, to] = [low, high].map((value) => Math.round(value * 100)) as [number, number]
  return (
    <span class="interval">
      <span class="interval-text">
        <strong>{Math.round(precision * 100)} %</strong>{' '}
        <span class="soft">
          {from} to {to}
        </span>
      </span>
      <span class="interval-bar" aria-hidden="true">
        <span class="interval-range" style={{ left: `${from}%`, width: `${Math.max(1, to - from)}%` }} />
        <span class="interval-point" style={{ left: `${precision * 100}%` }} />
      </span>
    </span>
  )
}
