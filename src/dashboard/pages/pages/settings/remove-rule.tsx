import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { Dialog } from '../../components/dialog.tsx'
import { FieldError } from '../../components/field-error.tsx'
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
    <Dialog title="Remove this rule?" onClose={onClose}>
      <p>
        <code>{rule}</code>
      </p>
      <p>Later events are classified without it. Stored events stay.</p>
      <DryRun path={path} body={{ remove: rule }} isEnabled />
      <FieldError id="remove-error" error={error} />
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Keep it
        </button>
        <button type="button" class="danger" disabled={isBusy} onClick={remove}>
          Remove rule
        </button>
      </div>
    </Dialog>
  )
}
