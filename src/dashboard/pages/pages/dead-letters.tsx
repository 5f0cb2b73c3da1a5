import { MailCheck } from 'lucide-preact'
import { Link } from 'wouter-preact'
import type { DeadLettersAnswer } from '../../../../schemas/dashboard/dead-letters.ts'
import { Soft } from '../components/judgement.tsx'
import { Button } from '../design/button.tsx'
import { TextInput } from '../design/field.tsx'
import { Row } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Table } from '../design/table.tsx'
import { Time } from '../design/time.tsx'
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
    <Page
      title="Dead letters"
      description="Events that could not be processed. Each waits here until somebody retries or discards it."
      back={{ href: '/system', label: 'System' }}
    >
      <TextInput
        type="search"
        label="Part of the reason"
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
          {after !== '' && <Button onClick={() => change({ after: '' })}>Newest</Button>}
          {value.next !== null && <Button onClick={() => change({ after: value.next! })}>Older</Button>}
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
      <EmptyState title="No recent dead letter matches this reason">
        <p>Look at older ones.</p>
      </EmptyState>
    )
  }
  if (answer.letters.length === 0 && isFiltered) {
    return (
      <EmptyState title="No dead letter matches this reason">
        <p>Type a shorter part of it.</p>
      </EmptyState>
    )
  }
  if (answer.letters.length === 0) {
    return (
      <EmptyState
        icon={MailCheck}
        title={isFirst ? 'No dead letters: every event was processed' : 'No older dead letters'}
      >
        <p>An event that cannot be processed waits here until you retry or discard it.</p>
      </EmptyState>
    )
  }
  return (
    <Table
      label="Dead letters"
      rows={answer.letters}
      keyOf={({ id }) => id}
      columns={[
        {
          key: 'given_up',
          label: 'Given up',
          render: ({ id, given_up_at: at }) => (
            <Link href={`/system/dead-letters/${encodeURIComponent(id)}`}>
              <Time at={at} />
            </Link>
          ),
        },
        { key: 'reason', label: 'Reason', text: 480, inCard: 'whole', render: ({ reason }) => reason },
        { key: 'tenant', label: 'Tenant', render: ({ tenant_id: tenant }) => tenant ?? <Soft>unknown</Soft> },
        { key: 'event', label: 'Event', render: ({ event_id: id }) => <code>{id ?? 'none'}</code> },
        { key: 'by', label: 'By', render: ({ group }) => group },
        { key: 'lane', label: 'Lane', render: ({ lane }) => lane },
        {
          key: 'received',
          label: 'Received',
          render: ({ received_at: at }) => (at === null ? <Soft>unknown</Soft> : <Time at={at} />),
        },
      ]}
    />
  )
}
