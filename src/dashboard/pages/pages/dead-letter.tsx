import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import type { DeadLetterAnswer, DeadLetterChanged } from '../../../../schemas/dashboard/dead-letters.ts'
import { Dialog } from '../components/dialog.tsx'
import { Loading, Problem } from '../components/notes.tsx'
import { Time } from '../components/time.tsx'
import { type ApiError, post } from '../lib/api.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useData } from '../lib/use-data.ts'

/** A dead letter: reason, event, and actions. */
export function DeadLetter({ parameters }: PageProps) {
  const id = parameters.id!
  const path = `/api/dead-letters/${encodeURIComponent(id)}`
  const { value, error } = useData<DeadLetterAnswer>(path)
  return (
    <>
      <p>
        <Link href="/system">System</Link> / <Link href="/system/dead-letters">Dead letters</Link>
      </p>
      <h1>
        Dead letter <code>{id}</code>
      </h1>
      {error && <Problem error={error} />}
      {value === undefined ? !error && <Loading /> : <Letter path={path} answer={value} />}
    </>
  )
}

function Letter({ path, answer }: { readonly path: string; readonly answer: DeadLetterAnswer }) {
  const { letter, event, why_not: whyNot } = answer
  const [, navigate] = useLocation()
  const [problem, setProblem] = useState<ApiError>()
  const [isBusy, setBusy] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const change = async (verb: 'retry' | 'discard') => {
    setAsking(false)
    setBusy(true)
    try {
      await post<DeadLetterChanged>(`${path}/${verb}`)
      navigate('/system/dead-letters')
    } catch (error) {
      setProblem(error as ApiError)
      setBusy(false)
    }
  }
  return (
    <>
      <section class="card">
        <h2>Why it failed</h2>
        <p class="letter-text">{letter.reason}</p>
        <dl class="letter-facts">
          {letter.received_at !== null && (
            <Fact name="Received">
              <Time at={letter.received_at} />
            </Fact>
          )}
          <Fact name="Given up">
            <Time at={letter.given_up_at} />
          </Fact>
          <Fact name="By">{letter.group}</Fact>
          <Fact name="Where it was">
            {letter.stream}, {letter.lane} lane
          </Fact>
          {letter.job_id !== null && <Fact name="Job">{letter.job_id}</Fact>}
        </dl>
      </section>
      <section class="card">
        <h2>The event</h2>
        {Object.keys(event).length === 0 && <p class="soft">The event cannot be read.</p>}
        <dl class="letter-facts">
          {Object.entries(event).map(([name, value]) => (
            <Fact key={name} name={name}>
              {value}
            </Fact>
          ))}
        </dl>
      </section>
      {problem && <Problem error={problem} />}
      <p class="soft">
        {whyNot === null
          ? 'Retry processes it again, from the step that failed. It counts once.'
          : `It cannot be retried: ${whyNot}.`}
      </p>
      <div class="row">
        <button type="button" class="primary" disabled={isBusy || whyNot !== null} onClick={() => change('retry')}>
          Retry
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={() => setAsking(true)}>
          Discard…
        </button>
      </div>
      {isAsking && (
        <Dialog title="Discard this event?" onClose={() => setAsking(false)}>
          <p>This deletes it for good. A later event with the same id is new.</p>
          <div class="row">
            <button type="button" onClick={() => setAsking(false)}>
              Keep it
            </button>
            <button type="button" class="danger" onClick={() => change('discard')}>
              Discard
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}

function Fact({ name, children }: { readonly name: string; readonly children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}
