import { useState } from 'preact/hooks'
import type { RulesBody } from '../../../../../schemas/dashboard/rules.ts'
import { PastChoice } from '../../components/past-choice.tsx'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { type PastChoice as Choice, pastOf } from '../../lib/past-jobs.ts'
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
  const [past, setPast] = useState<Choice>('none')
  const span = pastOf(past)
  const body = { remove: rule, ...(span && { past: span }) }
  const remove = () =>
    run(async () => {
      await change(body)
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
      <PastChoice value={past} onChange={setPast} />
      {past !== 'none' && <p>Filtered visits come back only if this tenant has an archive.</p>}
      <DryRun key={past} path={path} body={body} isEnabled isAutomatic />
      <FieldError error={error} />
    </Dialog>
  )
}
