import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'

interface RemoveExportProps {
  readonly tenant: string
  readonly shown: ListedExport
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of an export, and names what stays. */
export function RemoveExport({ tenant, shown, onRemoved, onClose }: RemoveExportProps) {
  const { export_id, name, folder } = shown
  const remove = async () => {
    await post(`/api/tenants/${tenant}/exports/remove`, { export_id })
    toast({ text: `${name} was removed.` })
    onClose()
    onRemoved()
  }
  return (
    <ConfirmDialog title={`Remove ${name}?`} confirm="Remove export" onConfirm={remove} onClose={onClose}>
      <Text>
        No more files are written. Files that exist stay in <code>{folder}</code>.
      </Text>
      <Text tone="soft">To stop it for a while, pause it.</Text>
    </ConfirmDialog>
  )
}
