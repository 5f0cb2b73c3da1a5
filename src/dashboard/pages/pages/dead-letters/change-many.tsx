import { useRef, useState } from 'preact/hooks'
import type { ChangeLettersBody, LettersChanged } from '../../../../../schemas/dashboard/dead-letters.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row, Text } from '../../design/layout.tsx'
import { post } from '../../lib/api.ts'
import { number } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'

type Verb = 'retry' | 'discard'

interface ChangeManyProps {
  /** Part of the reason; `''`: all letters. */
  readonly reason: string
  /** The newest letter of the first page; undefined: none, or another page. */
  readonly newest: string | undefined
  readonly onChange: () => void
}

/** Retries or discards many letters, after a confirmation. */
export function ChangeMany({ reason, newest, onChange }: ChangeManyProps) {
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
        setDone(doneText(verb, sums))
        after = part.next ?? undefined
      } while (after !== undefined && !isStopped.current)
      close()
    })
  const which = reason === '' ? 'every dead letter' : `every dead letter whose reason has “${reason}”`
  const of = reason === '' ? 'all' : 'all of these'
  return (
    <>
      <Row>
        {newest !== undefined && (
          <>
            <Button onClick={() => setAsking({ verb: 'retry', newest })}>Retry {of}…</Button>
            <Button variant="danger" onClick={() => setAsking({ verb: 'discard', newest })}>
              Discard {of}…
            </Button>
          </>
        )}
        <Text as="span" tone="soft" role="status">
          {done}
        </Text>
      </Row>
      {asking !== undefined && (
        <Dialog
          title={asking.verb === 'retry' ? `Retry ${which}?` : `Discard ${which}?`}
          onClose={close}
          actions={
            <>
              <Button onClick={close}>{isBusy ? 'Stop' : 'Leave them'}</Button>
              <Button
                variant={asking.verb === 'retry' ? 'primary' : 'danger'}
                disabled={isBusy}
                onClick={() => change(asking.verb, asking.newest)}
              >
                {asking.verb === 'retry' ? 'Retry them' : 'Discard them'}
              </Button>
            </>
          }
        >
          <p>
            Those on this page and all older ones, of all tenants.{' '}
            {asking.verb === 'retry'
              ? 'Each is processed again and counts once. Letters that cannot be retried stay.'
              : 'This deletes them for good.'}
          </p>
          <Text tone="soft">{isBusy ? (done ?? 'Under way…') : 'New dead letters stay.'}</Text>
          <FieldError error={error} />
        </Dialog>
      )}
    </>
  )
}

function doneText(verb: Verb, { done, gone, refused }: Omit<LettersChanged, 'next'>): string {
  const parts = [
    `${number(done)} ${verb === 'retry' ? 'retried' : 'discarded'}`,
    ...(gone > 0 ? [`${number(gone)} gone meanwhile`] : []),
    ...(refused > 0 ? [`${number(refused)} left unchanged`] : []),
  ]
  return `${parts.join(', ')}.`
}
