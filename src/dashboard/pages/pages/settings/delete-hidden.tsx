import type { Reenrichment } from '../../../../../schemas/dashboard/reenrichments.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { post } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'
import { pastJobStarted } from '../../lib/past-jobs.ts'

interface DeleteHiddenProps {
  /** Path of the rules. */
  readonly path: string
  readonly rule: string
  /** Events that it hides. */
  readonly hidden: number
  readonly onClose: () => void
}

/** Confirms that the visits which a rule hides are deleted for good. */
export function DeleteHidden({ path, rule, hidden, onClose }: DeleteHiddenProps) {
  const remove = async () => {
    pastJobStarted(await post<Reenrichment>(`${path}/delete-hidden`, { rule }))
    onClose()
  }
  return (
    <ConfirmDialog
      title="Delete hidden visits for good?"
      confirm="Delete for good"
      onConfirm={remove}
      onClose={onClose}
    >
      <p>
        <code>{rule}</code>
      </p>
      <p>
        {counted(hidden, 'hidden event')} of this rule will be deleted. <strong>This cannot be undone:</strong> after
        it, removing the rule no longer shows them again. They still count as filtered.
      </p>
    </ConfirmDialog>
  )
}
