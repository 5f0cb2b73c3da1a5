import { Link } from 'wouter-preact'
import type { DeadLettersAnswer } from '../../../../schemas/dashboard/dead-letters.ts'
import { CodeLine } from '../components/code-line.tsx'
import { Empty, Loading, Problem } from '../components/notes.tsx'
import { Scroll } from '../components/scroll.tsx'
import { Time } from '../components/time.tsx'
import { useUrlState } from '../lib/url-state.ts'
import { useData } from '../lib/use-data.ts'

/** Events that could not be processed, the newest first. */
export function DeadLetters() {
  const [url, change] = useUrlState()
  const after = url.get('after') ?? ''
  const { value, error, reload } = useData<DeadLettersAnswer>('/api/dead-letters', { after }, 5_000)
  return (
    <>
      <p>
        <Link href="/system">System</Link>
      </p>
      <h1>Dead letters</h1>
      {error && <Problem error={error} onRetry={reload} />}
      {value === undefined ? !error && <Loading /> : <Letters answer={value} isFirst={after === ''} />}
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

function Letters({ answer, isFirst }: { readonly answer: DeadLettersAnswer; readonly isFirst: boolean }) {
  if (answer.letters.length === 0) {
    return (
      <Empty title={isFirst ? 'No dead letters: every event was processed' : 'There are no older ones'}>
        <p>An event that cannot be processed waits here, with the reason, until somebody decides.</p>
      </Empty>
    )
  }
  return (
    <>
      <Scroll label="Dead letters">
        <table>
          <thead>
            <tr>
              <th>Given up</th>
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
      <p class="soft">Many at once, by what their reasons have in common:</p>
      <CodeLine text="npx ipid dead-letter retry --reason TEXT" label="Command that retries many" />
    </>
  )
}
