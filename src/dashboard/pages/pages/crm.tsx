import { RefreshCw } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { CrmAnswer } from '../../../../schemas/dashboard/crm.ts'
import { ConfirmDialog } from '../components/confirm-dialog.tsx'
import { Button } from '../design/button.tsx'
import { Facts } from '../design/details.tsx'
import { FieldError } from '../design/field.tsx'
import { Text } from '../design/layout.tsx'
import { Notice, Problem } from '../design/notice.tsx'
import { Section } from '../design/page.tsx'
import { Loading } from '../design/skeleton.tsx'
import { Time } from '../design/time.tsx'
import { toast } from '../design/toast.tsx'
import { post } from '../lib/api.ts'
import { useAction } from '../lib/use-action.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { ConnectForm } from './crm/connect-form.tsx'
import { RefusedTable, RunTable } from './crm/runs.tsx'

const texts = TEXTS.crm.page

const LOOK_EVERY_MS = 2_000

type Connection = NonNullable<CrmAnswer['connection']>

/** The connection to HubSpot: what was sent, what was refused, and why. */
export function Crm({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/crm`
  const answer = useData<CrmAnswer>(path, {}, LOOK_EVERY_MS)
  const [opened, setOpened] = useState<'disconnect' | 'replace'>()
  const acting = useAction()
  const close = () => setOpened(undefined)
  const connection = answer.value?.connection
  const sync = () =>
    acting.run(async () => {
      await post(`${path}/sync`)
      answer.reload()
      toast({ text: texts.begun })
    })
  const disconnect = async () => {
    await post(`${path}/disconnect`)
    toast({ text: texts.disconnected })
    close()
    answer.reload()
  }
  const connected = () => {
    close()
    answer.reload()
  }
  return (
    <>
      <Section
        title={texts.title}
        description={texts.about}
        actions={
          connection && (
            <>
              <Button onClick={() => setOpened('replace')}>{texts.replace}</Button>
              <Button onClick={() => setOpened('disconnect')}>{texts.disconnect}</Button>
              <Button
                variant="primary"
                icon={RefreshCw}
                disabled={acting.isBusy || connection.running_since !== null}
                onClick={sync}
              >
                {texts.sync}
              </Button>
            </>
          )
        }
      >
        {answer.error !== undefined && <Problem error={answer.error} onRetry={answer.reload} />}
        <FieldError error={acting.error} />
        {answer.value === undefined && answer.error === undefined && <Loading rows={4} rowHeight={48} />}
        {connection === null && <ConnectForm tenant={tenant} onConnected={connected} />}
        {connection && opened === 'replace' && (
          <ConnectForm
            tenant={tenant}
            segmentId={connection.segment?.segment_id}
            onConnected={connected}
            onCancel={close}
          />
        )}
        {connection && opened !== 'replace' && <Shown connection={connection} />}
        {opened === 'disconnect' && (
          <ConfirmDialog
            title={texts.disconnectTitle}
            confirm={texts.disconnect}
            onConfirm={disconnect}
            onClose={close}
          >
            <Text>{texts.nothingMore}</Text>
            <Text tone="soft">{texts.stays}</Text>
          </ConfirmDialog>
        )}
      </Section>
      {connection && opened !== 'replace' && (
        <>
          {connection.refused.length > 0 && (
            <RefusedTable tenant={tenant} refused={connection.refused} count={connection.runs[0]?.refused ?? 0} />
          )}
          {connection.runs.length > 0 && <RunTable runs={connection.runs} />}
        </>
      )}
    </>
  )
}

function Shown({ connection }: { readonly connection: Connection }) {
  const { stopped, running_since: since, next_at: next, runs, segment } = connection
  const [last] = runs
  const failed = stopped === null && since === null ? last?.error : undefined
  return (
    <>
      {stopped !== null && (
        <Notice tone="bad" title={texts.waitsForYou} role="alert">
          <p>{sentence(stopped.reason)}</p>
        </Notice>
      )}
      {failed && (
        <Notice tone="warn" title={texts.endedEarly} role="status">
          <p>{texts.triedAgain(sentence(failed))}</p>
        </Notice>
      )}
      <Facts
        facts={[
          [TEXTS.words.fields.state, stateWords(connection)],
          [TEXTS.words.fields.companies, segment === null ? texts.allWithDomain : (segment.name ?? texts.goneSegment)],
          [texts.connected, texts.connectedBy(<Time at={connection.connected_at} isAgo />, connection.connected_by)],
          [texts.lastSync, last === undefined ? texts.notYet : <Time key="last" at={last.at} isAgo />],
          next !== null && [texts.nextSync, <Time key="next" at={next} />],
        ]}
      />
    </>
  )
}

function stateWords({ stopped, running_since: since, runs }: Connection): string {
  if (since !== null) return texts.states.syncing
  if (stopped !== null) return texts.states.stopped
  return runs.length === 0 ? texts.states.waiting : texts.states.on
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return capital.endsWith('.') ? capital : `${capital}.`
}
