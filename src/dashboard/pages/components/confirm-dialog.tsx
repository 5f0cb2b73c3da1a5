import type { ComponentChildren } from 'preact'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { FieldError } from '../design/field.tsx'
import { useAction } from '../lib/use-action.ts'
import { TEXTS } from '../texts/texts.ts'

const texts = TEXTS.components.confirmDialog

interface ConfirmDialogProps {
  readonly title: string
  /** The label of the button that does it, as in "Remove export". */
  readonly confirm: string
  /** Closes the dialog itself when it succeeds. When it fails, the dialog shows the error and stays. */
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
  /** The effect of the action, and what stays. */
  readonly children: ComponentChildren
}

/** Asks before something is removed or revoked. */
export function ConfirmDialog({ title, confirm, onConfirm, onClose, children }: ConfirmDialogProps) {
  const { isBusy, error, run } = useAction()
  return (
    <Dialog
      title={title}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.keep}</Button>
          <Button variant="danger" disabled={isBusy} onClick={() => run(onConfirm)}>
            {confirm}
          </Button>
        </>
      }
    >
      {children}
      <FieldError error={error} />
    </Dialog>
  )
}
