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
import { useMay } from '../lib/may.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { type AlertAction, AlertList } from './alerts/alert-list.tsx'
import { AlertTabs } from './alerts/alert-tabs.tsx'
import { TestDialog } from './alerts/test-message.tsx'

const texts = TEXTS.alerts.list

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
          ? texts.pausedNow(name)
          : verb === 'ask-again'
            ? texts.asked(unconfirmed!)
            : texts.resumed(name)
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
      {TEXTS.words.buttons.newAlert}
    </LinkButton>
  )
  return (
    <Page title={TEXTS.words.fields.alerts} description={texts.about} actions={alerts.length > 0 && !isFull && create}>
      <AlertTabs tenant={tenant} current="alerts" />
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      <FieldError error={changing.error} />
      {list.value === undefined && list.error === undefined && <Loading rows={4} rowHeight={48} />}
      {list.value !== undefined && alerts.length === 0 && (
        <EmptyState icon={BellRing} title={texts.none}>
          <p>{texts.aboutAlerts}</p>
          {create}
        </EmptyState>
      )}
      {alerts.length > 0 && <AlertList tenant={tenant} alerts={alerts} onAct={act} />}
      {isFull && <Text tone="soft">{texts.full(max)}</Text>}
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
    toast({ text: texts.removed(alert.name) })
    onClose()
    onRemoved()
  }
  const { waiting } = alert
  return (
    <ConfirmDialog title={texts.removeOf(alert.name)} confirm={texts.remove} onConfirm={remove} onClose={onClose}>
      <Text>{waiting > 0 ? texts.notSent(waiting) : texts.reportsNothing}</Text>
      <Text tone="soft">{alert.to === 'webhook' ? texts.finalWithSecret : texts.final}</Text>
    </ConfirmDialog>
  )
}
