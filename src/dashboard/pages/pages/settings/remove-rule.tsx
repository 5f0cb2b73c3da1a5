import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { useAction } from '../../lib/use-action.ts'
import { DryRun } from './dry-run.tsx'

/** Confirms the removal of a rule. */
export function RemoveRule({
  path,
  rule,
  change,
  onClose,
}: {
  readonly path: string
  readonly rule: string
  readonly change: (body: RulesBody) => Promise<void>
  readonly onClose: () => void
}) {
  const { isBusy, error, run } = useAction()
  const remove = () =>
    run(async () => {
      await change({ remove: rule })
      onClose()
    })
  return (
    <Dialog
      title="Remove this rule?"
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" disabled={isBusy} onClick={remove}>
            Remove rule
          </Button>
        </>
      }
    >
      <p>
        <code>{rule}</code>
      </p>
      <p>Later events are classified without it. Stored events stay.</p>
      <DryRun path={path} body={{ remove: rule }} isEnabled />
      <FieldError error={error} />
    </Dialog>
  )
}
