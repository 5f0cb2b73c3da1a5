import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { ImportAnswer } from '../../../../../schemas/api/company-import.ts'
import { Button, LinkButton } from '../../design/button.tsx'
import { FieldError } from '../../design/field.tsx'
import { Row } from '../../design/layout.tsx'
import { Notice } from '../../design/notice.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.importList.done

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
      <Notice role="status" title={isUndone ? texts.undone : texts.nothing}>
        <p>{isUndone ? texts.asBefore : texts.allKnown}</p>
      </Notice>
    )
  }
  return (
    <Notice tone="good" role="status" title={texts.newFacts(companies, values)}>
      <p>
        {waiting > 0 && `${texts.kept(waiting)} `}
        {texts.filterBy((text) => (
          <Link href={`/t/${tenant}/companies`}>{text}</Link>
        ))}
      </p>
      <Row gap={2}>
        <LinkButton size="s" href={`/t/${tenant}/companies?when=all&status=customer&show=status`}>
          {texts.showCustomers}
        </LinkButton>
        <Button size="s" disabled={undoing.isBusy} onClick={undo}>
          {texts.undo}
        </Button>
      </Row>
      <FieldError error={undoing.error} />
    </Notice>
  )
}
