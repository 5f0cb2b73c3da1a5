import { MailCheck } from 'lucide-preact'
import { useRef, useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type {
  ChangeLettersBody,
  DeadLettersAnswer,
  LettersChanged,
} from '../../../../schemas/dashboard/dead-letters.ts'
import { Soft } from '../components/judgement.tsx'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError, TextInput } from '../design/field.tsx'
import { Row, Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Table } from '../design/table.tsx'
import { Time } from '../design/time.tsx'
import { post } from '../lib/api.ts'
import { useUrlState } from '../lib/url-state.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.deadLetters.list

/** Dead letters, newest first. */
export function DeadLetters() {
  const [url, change] = useUrlState()
  const after = url.get('after') ?? ''
  const reason = url.get('reason') ?? ''
  const { value, error, reload } = useData<DeadLettersAnswer>('/api/dead-letters', { after, reason }, 5_000)
  const newest = after === '' ? value?.letters[0]?.id : undefined
  return (
    <Page title={texts.title} description={texts.about} back={{ href: '/system', label: texts.system }}>
      <TextInput
        type="search"
        label={texts.reasonPart}
        value={reason}
        maxLength={200}
        onInput={(next) => change({ reason: next, after: '' }, true)}
      />
      {error && <Problem error={error} onRetry={reload} />}
      {value === undefined ? (
        !error && <Loading rows={6} />
      ) : (
        <Letters answer={value} isFirst={after === ''} isFiltered={reason !== ''} />
      )}
      {/* Stays visible to show the result of the last change. */}
      {value !== undefined && <ChangeMany key={reason} reason={reason} newest={newest} onChange={reload} />}
      {value !== undefined && (after !== '' || value.next !== null) && (
        <Row>
          {after !== '' && <Button onClick={() => change({ after: '' })}>{TEXTS.words.buttons.newest}</Button>}
          {value.next !== null && (
            <Button onClick={() => change({ after: value.next! })}>{TEXTS.words.buttons.older}</Button>
          )}
        </Row>
      )}
    </Page>
  )
}

interface LettersProps {
  readonly answer: DeadLettersAnswer
  readonly isFirst: boolean
  readonly isFiltered: boolean
}

function Letters({ answer, isFirst, isFiltered }: LettersProps) {
  if (answer.letters.length === 0 && answer.next !== null) {
    return (
      <EmptyState title={texts.noRecent}>
        <p>{texts.lookOlder}</p>
      </EmptyState>
    )
  }
  if (answer.letters.length === 0 && isFiltered) {
    return (
      <EmptyState title={texts.noMatch}>
        <p>{texts.shorter}</p>
      </EmptyState>
    )
  }
  if (answer.letters.length === 0) {
    return (
      <EmptyState icon={MailCheck} title={isFirst ? texts.none : texts.noOlder}>
        <p>{texts.aboutLetters}</p>
      </EmptyState>
    )
  }
  return (
    <Table
      label={texts.title}
      rows={answer.letters}
      keyOf={({ id }) => id}
      columns={[
        {
          key: 'given_up',
          label: texts.givenUp,
          render: ({ id, given_up_at: at }) => (
            <Link href={`/system/dead-letters/${encodeURIComponent(id)}`}>
              <Time at={at} />
            </Link>
          ),
        },
        { key: 'reason', label: texts.reason, text: 480, inCard: 'whole', render: ({ reason }) => reason },
        {
          key: 'tenant',
          label: texts.tenant,
          render: ({ tenant_id: tenant }) => tenant ?? <Soft>{texts.unknown}</Soft>,
        },
        { key: 'event', label: texts.event, render: ({ event_id: id }) => <code>{id ?? texts.noId}</code> },
        { key: 'by', label: texts.by, render: ({ group }) => group },
        { key: 'lane', label: texts.lane, render: ({ lane }) => lane },
        {
          key: 'received',
          label: texts.received,
          render: ({ received_at: at }) => (at === null ? <Soft>{texts.unknown}</Soft> : <Time at={at} />),
        },
      ]}
    />
  )
}

type Verb = 'retry' | 'discard'

interface ChangeManyProps {
  /** Part of the reason; `''`: all letters. */
  readonly reason: string
  /** The newest letter of the first page; undefined: none, or another page. */
  readonly newest: string | undefined
  readonly onChange: () => void
}

/** Retries or discards many letters, after a confirmation. */
function ChangeMany({ reason, newest, onChange }: ChangeManyProps) {
  const [asking, setAsking] = useState<{ readonly verb: Verb; readonly newest: string }>()
  const [done, setDone] = useState<string>()
  const { isBusy, error, run, reset } = useAction()
  const isStopped = useRef(false)
  const close = () => {
    isStopped.current = true
    setAsking(undefined)
    reset()
    onChange()
  }
  const change = (verb: Verb, seen: string) =>
    run(async () => {
      isStopped.current = false
      const sums = { done: 0, gone: 0, refused: 0 }
      let after: string | undefined
      do {
        const body: ChangeLettersBody = { newest: seen, ...(reason && { reason }), ...(after && { after }) }
        const part = await post<LettersChanged>(`/api/dead-letters/${verb}`, body)
        for (const name of ['done', 'gone', 'refused'] as const) sums[name] += part[name]
        setDone(verb === 'retry' ? texts.retried(sums) : texts.discarded(sums))
        after = part.next ?? undefined
      } while (after !== undefined && !isStopped.current)
      close()
    })
  return (
    <>
      <Row>
        {newest !== undefined && (
          <>
            <Button onClick={() => setAsking({ verb: 'retry', newest })}>
              {reason === '' ? texts.retryAll : texts.retryThese}
            </Button>
            <Button variant="danger" onClick={() => setAsking({ verb: 'discard', newest })}>
              {reason === '' ? texts.discardAll : texts.discardThese}
            </Button>
          </>
        )}
        <Text as="span" tone="soft" role="status">
          {done}
        </Text>
      </Row>
      {asking !== undefined && (
        <Dialog
          title={asking.verb === 'retry' ? texts.retryTitle(reason) : texts.discardTitle(reason)}
          onClose={close}
          actions={
            <>
              <Button onClick={close}>{isBusy ? texts.stop : texts.leave}</Button>
              <Button
                variant={asking.verb === 'retry' ? 'primary' : 'danger'}
                disabled={isBusy}
                onClick={() => change(asking.verb, asking.newest)}
              >
                {asking.verb === 'retry' ? texts.retryThem : texts.discardThem}
              </Button>
            </>
          }
        >
          <p>
            {texts.which} {asking.verb === 'retry' ? texts.aboutRetry : texts.aboutDiscard}
          </p>
          <Text tone="soft">{isBusy ? (done ?? texts.underWay) : texts.newStay}</Text>
          <FieldError error={error} />
        </Dialog>
      )}
    </>
  )
}
