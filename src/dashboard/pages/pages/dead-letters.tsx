import { Link } from 'wouter-preact'
import type { DeadLettersAnswer } from '../../../../schemas/dashboard/dead-letters.ts'
import { Empty, Loading, Problem } from '../components/notes.tsx'
import { Scroll } from '../components/scroll.tsx'
import { Time } from '../components/time.tsx'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'
import { ChangeMany } from './dead-letters/change-many.tsx'

/** Dead letters, newest first. */
export function DeadLetters() {
  const [url, change] = useUrlState()
  const after = url.get('after') ?? ''
  const reason = url.get('reason') ?? ''
  const { value, error, reload } = useData<DeadLettersAnswer>('/api/dead-letters', { after, reason }, 5_000)
  const newest = after === '' ? value?.letters[0]?.id : undefined
  return (
    <>
      <p>
        <Link href="/system">System</Link>
      </p>
      <h1>Dead letters</h1>
      <label class="field letter-search">
        <span>Part of the reason</span>
        <input
          type="search"
          value={reason}
          maxLength={200}
          onInput={(event) => change({ reason: event.currentTarget.value, after: '' }, true)}
        />
      </label>
      {error && <Problem error={error} onRetry={reload} />}
      {value === undefined ? (
        !error && <Loading />
      ) : (
        <Letters answer={value} isFirst={after === ''} isFiltered={reason !== ''} />
      )}
      {/* Stays visible to show the result of the last change. */}
      {value !== undefined && <ChangeMany key={reason} reason={reason} newest={newest} onChange={reload} />}
      {value !== undefined && (
        <div class="row">
          {after !== '' && (
            <button type="button" onClick={() => change({ after: '' })}>
              Newest
            </button>
          )}
          {value.next !== null && (
            <button type="button" onClick={() => change({ after: value.next! })}>
              Older
            </button>
          )}
        </div>
      )}
    </>
  )
}

interface LettersProps {
  readonly answer: DeadLettersAnswer
  readonly isFirst: boolean
  readonly isFiltered: boolean
}

function Letters({ answer, isFirst, isFiltered }: LettersProps) {
  if (answer.letters.length === 0 && answer.next !== null) {
    return <Empty title="No recent dead letter matches this reason">Look at older ones.</Empty>
  }
  if (answer.letters.length === 0 && isFiltered) return <Empty title="No dead letter matches this reason" />
  if (answer.letters.length === 0) {
    return (
      <Empty title={isFirst ? 'No dead letters: every event was processed' : 'No older dead letters'}>
        <p>An event that cannot be processed waits here until you retry or discard it.</p>
      </Empty>
    )
  }
  return (
    <Scroll label="Dead letters">
      <table>
        <thead>
          <tr>
            <th>Given up</th>
            <th>Received</th>
            <th>Tenant</th>
            <th>Event</th>
            <th>By</th>
            <th>Lane</th>
            <th>Reason</th>
          </tr>
        </thead>
        <tbody>
          {answer.letters.map((letter) => (
            <tr key={letter.id}>
              <td>
                <Link href={`/system/dead-letters/${encodeURIComponent(letter.id)}`}>
                  <Time at={letter.given_up_at} />
                </Link>
              </td>
              <td>
                {letter.received_at === null ? <span class="soft">unknown</span> : <Time at={letter.received_at} />}
              </td>
              <td>{letter.tenant_id ?? <span class="soft">unknown</span>}</td>
              <td>
                <code>{letter.event_id ?? 'none'}</code>
              </td>
              <td>{letter.group}</td>
              <td>{letter.lane}</td>
              <td class="letter-reason">{letter.reason}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
