import { FolderDown, Plus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { ExportsAnswer, ListedExport } from '../../../../schemas/dashboard/exports.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { LinkButton } from '../design/button.tsx'
import { FieldError } from '../design/field.tsx'
import { Text } from '../design/layout.tsx'
import { EmptyState, Notice, Problem } from '../design/notice.tsx'
import { Page } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { useMay } from '../lib/may.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { ExportCalendar } from './exports/export-calendar.tsx'
import { type ExportAction, ExportList } from './exports/export-list.tsx'
import { FilesDialog } from './exports/files-dialog.tsx'
import { MailsDialog } from './exports/mails-dialog.tsx'

const texts = TEXTS.exports.list

const LOOK_EVERY_MS = 5_000

/** Scheduled exports: their content, their place, and their state. */
export function Exports({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  // The key makes sure that state of one tenant is never shown for another.
  return <OfTenant key={tenant} tenant={tenant} />
}

const DONE = {
  run: (name: string) => texts.running(name),
  pause: (name: string) => texts.pausedNow(name),
  resume: (name: string) => texts.resumed(name),
} as const

function OfTenant({ tenant }: { readonly tenant: string }) {
  const list = useData<ExportsAnswer>(`/api/tenants/${tenant}/exports`, {}, LOOK_EVERY_MS)
  const [dialog, setDialog] = useState<{ readonly action: 'files' | 'mails' | 'remove'; readonly id: string }>()
  const changing = useAction()
  const act = (action: ExportAction, { export_id, name }: ListedExport) => {
    if (action === 'files' || action === 'mails' || action === 'remove') return setDialog({ action, id: export_id })
    changing.run(async () => {
      await post(`/api/tenants/${tenant}/exports/${action}`, { export_id })
      list.reload()
      toast({ text: DONE[action](name) })
    })
  }
  const close = () => setDialog(undefined)
  const { exports = [], exports_max: max = 0, store } = list.value ?? {}
  const isFull = list.value !== undefined && exports.length >= max
  const shown = exports.find(({ export_id: id }) => id === dialog?.id)
  const create = useMay('member') && (
    <LinkButton variant="primary" icon={Plus} href={`/t/${tenant}/exports/new`}>
      {texts.new}
    </LinkButton>
  )
  return (
    <Page title={texts.title} description={texts.about} actions={exports.length > 0 && !isFull && create}>
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      <FieldError error={changing.error} />
      {store !== undefined && <Place store={store} />}
      {list.value === undefined && list.error === undefined && <Loading rows={4} rowHeight={48} />}
      {list.value !== undefined && exports.length === 0 && (
        <EmptyState icon={FolderDown} title={texts.none}>
          <p>{texts.aboutExports}</p>
          {create}
        </EmptyState>
      )}
      {exports.length > 0 && <ExportList tenant={tenant} exports={exports} onAct={act} />}
      {exports.length > 0 && <ExportCalendar tenant={tenant} exports={exports} />}
      {isFull && <Text tone="soft">{texts.full(max)}</Text>}
      {dialog?.action === 'files' && shown !== undefined && (
        <FilesDialog tenant={tenant} shown={shown} onClose={close} />
      )}
      {dialog?.action === 'mails' && shown !== undefined && (
        <MailsDialog
          tenant={tenant}
          shown={shown}
          canEmail={list.value?.can_email === true}
          own={list.value?.own_address ?? ''}
          onChanged={list.reload}
          onClose={close}
        />
      )}
      {dialog?.action === 'remove' && shown !== undefined && (
        <RemoveExport tenant={tenant} shown={shown} onRemoved={list.reload} onClose={close} />
      )}
    </Page>
  )
}

/** The place of the files. Only operators can change it, so only they see the settings. */
function Place({ store: { kind, place } }: Pick<ExportsAnswer, 'store'>) {
  const isOperator = useMay('operator')
  if (kind === 'bucket') {
    return <Text tone="soft">{texts.filesGoTo(<code>{place}</code>)}</Text>
  }
  return (
    <Notice tone="warn" title={texts.noStore} role="status">
      <p>
        {texts.filesStay(place === null ? texts.aFolder : <code>{place}</code>)}{' '}
        {isOperator ? texts.setBucket((text) => <code>{text}</code>) : texts.askForBucket}
      </p>
    </Notice>
  )
}

interface RemoveExportProps {
  readonly tenant: string
  readonly shown: ListedExport
  readonly onRemoved: () => void
  readonly onClose: () => void
}

/** Confirms the removal of an export, and names what stays. */
function RemoveExport({ tenant, shown, onRemoved, onClose }: RemoveExportProps) {
  const { export_id, name, folder } = shown
  const remove = async () => {
    await post(`/api/tenants/${tenant}/exports/remove`, { export_id })
    toast({ text: texts.removed(name) })
    onClose()
    onRemoved()
  }
  return (
    <ConfirmDialog title={texts.removeOf(name)} confirm={texts.remove} onConfirm={remove} onClose={onClose}>
      <Text>{texts.filesStayIn(<code>{folder}</code>)}</Text>
      <Text tone="soft">{texts.pauseIt}</Text>
    </ConfirmDialog>
  )
}
