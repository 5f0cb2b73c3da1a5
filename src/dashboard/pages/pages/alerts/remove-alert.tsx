import type { ListedAlert } from '../../../../../schemas/dashboard/alerts.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError } from '../../design/field.tsx'
import { Text } from '../../design/layout.tsx'
import { toast } from '../../design/toast.tsx'
import { post } from '../../lib/api.ts'
import { counted } from '../../lib/format.ts'
import { useAction } from '../../lib/use-action.ts'

interface RemoveAlertProps {
  readonly tenant: string
  readonly alert: ListedAlert
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of an alert, and says what it does. */
export function RemoveAlert({ tenant, alert, onRemoved, onClose }: RemoveAlertProps) {
  const { isBusy, error, run } = useAction()
  const remove = () =>
    run(async () => {
      await post(`/api/tenants/${tenant}/alerts/remove`, { alert_id: alert.alert_id })
      toast({ text: `${alert.name} was removed.` })
      onClose()
      onRemoved()
    })
  const { waiting } = alert
  return (
    <Dialog
      title={`Remove ${alert.name}?`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Keep it</Button>
          <Button variant="danger" disabled={isBusy} onClick={remove}>
            Remove alert
          </Button>
        </>
      }
    >
      <Text>
        {waiting > 0
          ? `${counted(waiting, 'message')} that ${waiting === 1 ? 'waits is' : 'wait are'} not sent. `
          : 'It reports nothing any more. '}
        What it has sent stays in the list of messages.
      </Text>
      <Text tone="soft">
        This cannot be undone{alert.to === 'webhook' ? ': a new alert has another secret' : ''}. To stop it for a while,
        pause it.
      </Text>
      <FieldError error={error} />
    </Dialog>
  )
}
