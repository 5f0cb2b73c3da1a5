import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { ImportAnswer } from '../../../../../schemas/api/company-import.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { post } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'

interface ImportDoneProps {
  readonly tenant: string
  readonly done: ImportAnswer
  /** The own columns may be others now. */
  readonly changed: () => void
}

/** What an import did, with its undo. */
export function ImportDone({ tenant, done, changed }: ImportDoneProps) {
  const { change_id, changed: companies, values, waiting } = done
  const [isUndone, setUndone] = useState(false)
  const undoing = useAction()
  const undo = () =>
    undoing.run(async () => {
      await post(`/api/tenants/${tenant}/corrections/undo`, { change_id })
      setUndone(true)
      changed()
    })
  if (change_id === null || isUndone) {
    return (
      <Notice role="status" title={isUndone ? 'The import is undone' : 'Nothing to change'}>
        <p>{isUndone ? 'All values are as they were before it.' : 'Everything in the list is known already.'}</p>
      </Notice>
    )
  }
  return (
    <Notice
      tone="good"
      role="status"
      title={`${counted(companies, 'company has', 'companies have')} new facts: ${counted(values, 'value')}`}
    >
      <p>
        {waiting > 0 && `${counted(waiting, 'row is', 'rows are')} kept for companies that have not visited yet. `}
        Filter by status, owner, tags and your columns in the{' '}
        <Link href={`/t/${tenant}/companies`}>list of companies</Link>.
      </p>
      <Row gap={2}>
        <LinkButton size="s" href={`/t/${tenant}/companies?when=all&status=customer&show=status`}>
          Show customers
        </LinkButton>
        <Button size="s" disabled={undoing.isBusy} onClick={undo}>
          Undo the import
        </Button>
      </Row>
      <FieldError error={undoing.error} />
    </Notice>
  )
}
