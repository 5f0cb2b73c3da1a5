import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import type { DeadLetterAnswer, DeadLetterChanged } from '../../../../schemas/dashboard/dead-letters.ts'
import { Button } from '../design/button.tsx'
import { CodeBlock } from '../design/code.tsx'
import { Facts } from '../design/details.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Row, Text } from '../design/layout.tsx'
import { Problem } from '../design/notice.tsx'
import { Page, Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Time } from '../design/time.tsx'
import { toast } from '../design/toast.tsx'
import { type ApiError, post } from '../lib/api.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useData } from '../lib/use-data.ts'

/** A dead letter: reason, event, and actions. */
export function DeadLetter({ parameters }: PageProps) {
  const id = parameters.id!
  const path = `/api/dead-letters/${encodeURIComponent(id)}`
  const { value, error } = useData<DeadLetterAnswer>(path)
  return (
    <Page
      title={
        <span>
          Dead letter <code>{id}</code>
        </span>
      }
      back={{ href: '/system/dead-letters', label: 'Dead letters' }}
    >
      {error && <Problem error={error} />}
      {value === undefined ? !error && <Loading rows={8} /> : <Letter path={path} answer={value} />}
    </Page>
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
      toast({ text: verb === 'retry' ? 'The event is processed again.' : 'The event is discarded.' })
      navigate('/system/dead-letters')
    } catch (error) {
      setProblem(error as ApiError)
      setBusy(false)
    }
  }
  return (
    <>
      <Section title="Why it failed">
        <CodeBlock text={letter.reason} label="Reason" isWrapped isPlain />
        <Facts
          facts={[
            letter.received_at !== null && ['Received', <Time key="received" at={letter.received_at} />],
            ['Given up', <Time key="given up" at={letter.given_up_at} />],
            ['By', letter.group],
            ['Where it was', `${letter.stream}, ${letter.lane} lane`],
            letter.job_id !== null && ['Job', letter.job_id],
          ]}
        />
      </Section>
      <Section title="The event">
        {Object.keys(event).length === 0 && <Text tone="soft">The event cannot be read.</Text>}
        <Facts isLines facts={Object.entries(event)} />
      </Section>
      {problem && <Problem error={problem} />}
      <Section
        title="What to do"
        description={
          whyNot === null
            ? 'Retry processes it again, from the step that failed. It counts once.'
            : `It cannot be retried: ${whyNot}.`
        }
      >
        <Row>
          <Button variant="primary" disabled={isBusy || whyNot !== null} onClick={() => change('retry')}>
            Retry
          </Button>
          <Button variant="danger" disabled={isBusy} onClick={() => setAsking(true)}>
            Discard…
          </Button>
        </Row>
      </Section>
      {isAsking && (
        <Dialog
          title="Discard this event?"
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button onClick={() => setAsking(false)}>Keep it</Button>
              <Button variant="danger" onClick={() => change('discard')}>
                Discard
              </Button>
            </>
          }
        >
          <p>This deletes it for good. A later event with the same id is new.</p>
        </Dialog>
      )}
    </>
  )
}
