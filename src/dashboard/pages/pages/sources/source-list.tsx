import { Fragment } from 'preact'
import type { ListedSource, SourcesAnswer } from '../../../../../schemas/dashboard/sources.ts'
import { Time } from '../../components/time.tsx'
import { number } from '../../lib/format.ts'
import { Findings } from './findings.tsx'

type Fetches = SourcesAnswer['fetches']
type Act = (action: 'change' | 'revoke', source: ListedSource) => void

/** Active sources, newest first, and revoked ones below. */
export function SourceList({ sources, fetches, onAct }: SourceListProps) {
  const active = sources.filter(({ revoked_at: at }) => at === null)
  const revoked = sources.filter(({ revoked_at: at }) => at !== null)
  return (
    <>
      {active.length > 0 && <SourceTable label="Sources" sources={active} fetches={fetches} onAct={onAct} />}
      {revoked.length > 0 && (
        <details class="revoked-keys">
          <summary>{revoked.length === 1 ? '1 revoked source' : `${number(revoked.length)} revoked sources`}</summary>
          <SourceTable label="Revoked sources" sources={revoked} fetches={fetches} onAct={onAct} />
        </details>
      )}
    </>
  )
}

interface SourceListProps {
  readonly sources: readonly ListedSource[]
  readonly fetches: Fetches
  readonly onAct: Act
}

function SourceTable({ label, sources, fetches, onAct }: SourceListProps & { readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrolling needs the keyboard
    <div class="table stacked" tabIndex={0}>
      <table aria-label={label}>
        <thead>
          <tr>
            <th>Source</th>
            <th>State</th>
            <th class="number">Today (UTC)</th>
            <th class="number">No address</th>
            <th class="number">Rejected</th>
            <th class="number">Repeats</th>
            <th>Last event</th>
            <th>
              <span class="hidden-label">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {sources.map((source) => (
            <Fragment key={source.source_id}>
              <Row source={source} fetched={fetches.find((one) => one.source_id === source.source_id)} onAct={onAct} />
              {source.findings.length > 0 && (
                <tr class="of-source">
                  <td class="whole" colSpan={8}>
                    <Findings findings={source.findings} />
                    <Reasons source={source} />
                  </td>
                </tr>
              )}
            </Fragment>
          ))}
        </tbody>
      </table>
    </div>
  )
}

interface RowProps {
  readonly source: ListedSource
  /** Undefined: senders send it. */
  readonly fetched: Fetches[number] | undefined
  readonly onAct: Act
}

function Row({ source, fetched, onAct }: RowProps) {
  const { source_id: id, name, title, today, last_event: last, last_used: used, revoked_at, findings } = source
  const shown = name ?? title
  const count = (value: number | undefined) => (value === undefined ? <span class="soft">–</span> : number(value))
  return (
    <tr class={`${revoked_at === null ? '' : 'revoked'} ${findings.length > 0 ? 'has-findings' : ''}`}>
      <td class="whole source-name">
        <strong>{shown}</strong>
        <span class="soft">
          {name === null ? '' : `${title} · `}
          <code>{id}</code>
          {source.address === 'auto' || fetched ? '' : ` · addresses of the ${source.address}`}
        </span>
        {fetched && (
          <span class={fetched.status === 'failing' ? 'bad' : 'soft'}>
            {fetched.place}: {fetched.text}
          </span>
        )}
      </td>
      <td>
        <State source={source} />
      </td>
      <td class="number" data-label="Today">
        {count(today?.received)}
      </td>
      <td class="number" data-label="No address">
        {count(today?.without_address)}
      </td>
      <td class="number" data-label="Rejected">
        {count(today?.rejected)}
      </td>
      <td class="number" data-label="Repeats">
        {count(today?.repeats)}
      </td>
      <td data-label="Last event">
        {(last ?? used) === null ? <span class="soft">never</span> : <Time at={(last ?? used)!} isAgo />}
      </td>
      <td class="actions">
        {revoked_at === null && (
          <>
            <button type="button" aria-label={`Change ${shown} ${id}`} onClick={() => onAct('change', source)}>
              Change
            </button>{' '}
            <button type="button" aria-label={`Revoke ${shown} ${id}`} onClick={() => onAct('revoke', source)}>
              Revoke
            </button>
          </>
        )}
      </td>
    </tr>
  )
}

const TAGS = {
  good: ['good', 'receiving'],
  attention: ['warn', 'needs attention'],
  waiting: ['', 'waiting'],
  unknown: ['', 'unknown'],
} as const

function State({ source: { state, revoked_at } }: { readonly source: ListedSource }) {
  if (state === 'revoked') return <>revoked {revoked_at !== null && <Time at={revoked_at} />}</>
  const [colour, word] = TAGS[state]
  return <span class={`tag ${colour}`}>{word}</span>
}

/** All reasons for rejected events, when there are several. */
function Reasons({ source: { rejected_reasons: reasons } }: { readonly source: ListedSource }) {
  if (reasons.length < 2) return null
  return (
    <details>
      <summary>Why events were rejected since yesterday</summary>
      <ul>
        {reasons.map(({ reason, events }) => (
          <li key={reason}>
            {number(events)}: {reason}
          </li>
        ))}
      </ul>
    </details>
  )
}
