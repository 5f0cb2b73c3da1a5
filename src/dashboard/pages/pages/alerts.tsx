import { BellRing, Plus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { AlertsAnswer, ListedAlert } from '../../../../schemas/dashboard/alerts.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { LinkButton } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { Text } from '../design/layout.tsx'
import { EmptyState, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { counted } from '../lib/format.ts'
import { useMay } from '../lib/may.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { type AlertAction, AlertList } from './alerts/alert-list.tsx'
import { AlertTabs } from './alerts/alert-tabs.tsx'
import { TestDialog } from './alerts/test-message.tsx'

const LOOK_EVERY_MS = 10_000

/** Alerts: the events that they watch, their destinations, and their state. */
export function Alerts({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  // The key makes sure that state of one tenant is never shown for another.
  return <OfTenant key={tenant} tenant={tenant} />
}

function OfTenant({ tenant }: { readonly tenant: string }) {
  const list = useData<AlertsAnswer>(`/api/tenants/${tenant}/alerts`, {}, LOOK_EVERY_MS)
  const [dialog, setDialog] = useState<{ readonly action: 'test' | 'remove'; readonly alert: ListedAlert }>()
  const changing = useAction()
  const change = (verb: 'pause' | 'resume' | 'ask-again', { alert_id, name, unconfirmed }: ListedAlert) =>
    changing.run(async () => {
      await post(`/api/tenants/${tenant}/alerts/${verb}`, { alert_id })
      list.reload()
      const text =
        verb === 'pause'
          ? `${name} is paused. Events until it is resumed are not reported.`
          : verb === 'ask-again'
            ? `${unconfirmed} gets a mail with a link that confirms. Its earlier links work too, for 7 days each.`
            : `${name} is on again. It reports new events from now on.`
      toast({ text })
    })
  const act = (action: AlertAction, alert: ListedAlert) => {
    if (action === 'pause' || action === 'resume' || action === 'ask-again') change(action, alert)
    else setDialog({ action, alert })
  }
  const close = () => setDialog(undefined)
  const { alerts = [], alerts_max: max = 0 } = list.value ?? {}
  const isFull = list.value !== undefined && alerts.length >= max
  const create = useMay('member') && (
    <LinkButton variant="primary" icon={Plus} href={`/t/${tenant}/alerts/new`}>
      New alert
    </LinkButton>
  )
  return (
    <Page
      title="Alerts"
      description="Messages about companies, within a minute of the visit."
      actions={alerts.length > 0 && !isFull && create}
    >
      <AlertTabs tenant={tenant} current="alerts" />
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      <FieldError error={changing.error} />
      {list.value === undefined && list.error === undefined && <Loading rows={4} rowHeight={48} />}
      {list.value !== undefined && alerts.length === 0 && (
        <EmptyState icon={BellRing} title="There is no alert yet">
          <p>
            Get a message when a company comes for the first time, returns or enters a segment: in Slack, in Teams, by
            e-mail, or as a call of your own program.
          </p>
          {create}
        </EmptyState>
      )}
      {alerts.length > 0 && <AlertList tenant={tenant} alerts={alerts} onAct={act} />}
      {isFull && <Text tone="soft">A workspace has at most {max} alerts: remove one to add another.</Text>}
      {dialog?.action === 'test' && (
        <TestDialog tenant={tenant} alert={dialog.alert} onAnswered={list.reload} onClose={close} />
      )}
      {dialog?.action === 'remove' && (
        <RemoveAlert tenant={tenant} alert={dialog.alert} onRemoved={list.reload} onClose={close} />
      )}
    </Page>
  )
}

interface RemoveAlertProps {
  readonly tenant: string
  readonly alert: ListedAlert
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of an alert, and names its effect. */
function RemoveAlert({ tenant, alert, onRemoved, onClose }: RemoveAlertProps) {
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
