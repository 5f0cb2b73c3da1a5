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
import { ConnectForm } from './crm/connect-form.tsx'
import { RefusedTable, RunTable } from './crm/runs.tsx'

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
      toast({ text: 'The sync has begun.' })
    })
  const disconnect = async () => {
    await post(`${path}/disconnect`)
    toast({ text: 'HubSpot is disconnected.' })
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
        title="HubSpot"
        description="Companies that visit your site go to HubSpot every hour. Owners and statuses come back."
        actions={
          connection && (
            <>
              <Button onClick={() => setOpened('replace')}>Replace token</Button>
              <Button onClick={() => setOpened('disconnect')}>Disconnect</Button>
              <Button
                variant="primary"
                icon={RefreshCw}
                disabled={acting.isBusy || connection.running_since !== null}
                onClick={sync}
              >
                Sync now
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
          <ConfirmDialog title="Disconnect HubSpot?" confirm="Disconnect" onConfirm={disconnect} onClose={close}>
            <Text>Nothing more is sent or read, and the token is deleted here.</Text>
            <Text tone="soft">Companies and properties in HubSpot stay, and so do owners and statuses here.</Text>
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
        <Notice tone="bad" title="HubSpot waits for you" role="alert">
          <p>{sentence(stopped.reason)}</p>
        </Notice>
      )}
      {failed && (
        <Notice tone="warn" title="The last sync ended early" role="status">
          <p>{sentence(failed)} It is tried again by itself.</p>
        </Notice>
      )}
      <Facts
        facts={[
          ['State', stateWords(connection)],
          ['Companies', segment === null ? 'All with a domain' : (segment.name ?? 'Of a segment that was removed')],
          [
            'Connected',
            <>
              <Time at={connection.connected_at} isAgo /> by {connection.connected_by}
            </>,
          ],
          ['Last sync', last === undefined ? 'not yet' : <Time key="last" at={last.at} isAgo />],
          next !== null && ['Next sync', <Time key="next" at={next} />],
        ]}
      />
    </>
  )
}

function stateWords({ stopped, running_since: since, runs }: Connection): string {
  if (since !== null) return 'Syncing now'
  if (stopped !== null) return 'Stopped'
  return runs.length === 0 ? 'Waits for the first sync' : 'On'
}

function sentence(text: string): string {
  const capital = text.charAt(0).toUpperCase() + text.slice(1)
  return capital.endsWith('.') ? capital : `${capital}.`
}
