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
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.deadLetters.letter

/** A dead letter: reason, event, and actions. */
export function DeadLetter({ parameters }: PageProps) {
  const id = parameters.id!
  const path = `/api/dead-letters/${encodeURIComponent(id)}`
  const { value, error } = useData<DeadLetterAnswer>(path)
  return (
    <Page
      title={<span>{texts.title(<code>{id}</code>)}</span>}
      back={{ href: '/system/dead-letters', label: texts.letters }}
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
      toast({ text: verb === 'retry' ? texts.retried : texts.discarded })
      navigate('/system/dead-letters')
    } catch (error) {
      setProblem(error as ApiError)
      setBusy(false)
    }
  }
  return (
    <>
      <Section title={texts.why}>
        <CodeBlock text={letter.reason} label={texts.reason} isWrapped isPlain />
        <Facts
          facts={[
            letter.received_at !== null && [texts.received, <Time key="received" at={letter.received_at} />],
            [texts.givenUp, <Time key="given up" at={letter.given_up_at} />],
            [texts.by, letter.group],
            [texts.where, texts.lane(letter.stream, letter.lane)],
            letter.job_id !== null && [texts.job, letter.job_id],
          ]}
        />
      </Section>
      <Section title={texts.event}>
        {Object.keys(event).length === 0 && <Text tone="soft">{texts.unreadable}</Text>}
        <Facts isLines facts={Object.entries(event)} />
      </Section>
      {problem && <Problem error={problem} />}
      <Section title={texts.whatToDo} description={whyNot === null ? texts.aboutRetry : texts.notRetried(whyNot)}>
        <Row>
          <Button variant="primary" disabled={isBusy || whyNot !== null} onClick={() => change('retry')}>
            {texts.retry}
          </Button>
          <Button variant="danger" disabled={isBusy} onClick={() => setAsking(true)}>
            {texts.discard}
          </Button>
        </Row>
      </Section>
      {isAsking && (
        <Dialog
          title={texts.discardTitle}
          onClose={() => setAsking(false)}
          actions={
            <>
              <Button onClick={() => setAsking(false)}>{TEXTS.words.buttons.keepIt}</Button>
              <Button variant="danger" onClick={() => change('discard')}>
                {texts.discardNow}
              </Button>
            </>
          }
        >
          <p>{texts.final}</p>
        </Dialog>
      )}
    </>
  )
}
