import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'

interface RemoveExportProps {
  readonly tenant: string
  readonly shown: ListedExport
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of an export, and says what stays. */
export function RemoveExport({ tenant, shown, onRemoved, onClose }: RemoveExportProps) {
  const { export_id, name, folder } = shown
  const { isBusy, error, run } = useAction()
  const remove = () =>
    run(async () => {
      await post(`/api/tenants/${tenant}/exports/remove`, { export_id })
      toast({ text: `${name} was removed.` })
      onClose()
      onRemoved()
    })
  return (
    <Dialog
      title={`Remove ${name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" disabled={isBusy} onClick={remove}>
            Remove export
          </Button>
        </>
      }
    >
      <Text>
        No more files are written. Files that exist stay in <code>{folder}</code>.
      </Text>
      <Text tone="soft">To stop it for a while, pause it.</Text>
      <FieldError error={error} />
    </Dialog>
  )
}
