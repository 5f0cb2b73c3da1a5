import type { ListedAlert } from '../../../../../schemas/dashboard/alerts.ts'
import { ConfirmDialog } from '../../components/confirm-dialog.tsx'
import { Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'

interface RemoveAlertProps {
  readonly tenant: string
  readonly alert: ListedAlert
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of an alert, and names its effect. */
export function RemoveAlert({ tenant, alert, onRemoved, onClose }: RemoveAlertProps) {
  const remove = async () => {
    await post(`/api/tenants/${tenant}/alerts/remove`, { alert_id: alert.alert_id })
    toast({ text: `${alert.name} was removed.` })
    onClose()
    onRemoved()
  }
  const { waiting } = alert
  return (
    <ConfirmDialog title={`Remove ${alert.name}?`} confirm="Remove alert" onConfirm={remove} onClose={onClose}>
      <Text>
        {waiting > 0
          ? `${counted(waiting, 'message')} that ${waiting === 1 ? 'waits is' : 'wait are'} not sent. `
          : 'It reports nothing any more. '}
        Sent messages stay in the list.
      </Text>
      <Text tone="soft">
        This cannot be undone{alert.to === 'webhook' ? ': a new alert has another secret' : ''}. To stop it for a while,
        pause it.
      </Text>
    </ConfirmDialog>
  )
}
