import { Plug, Plus } from 'lucide-preact'
import { useState } from 'preact/hooks'
import type { CreatedSourceAnswer, ListedSource, SourcesAnswer } from '../../../../schemas/dashboard/sources.ts'
import { CompaniesByChannel } from '../components/companies-by-channel.tsx'
import { Button } from '../design/button.tsx'
import { Text } from '../design/layout.tsx'
import { EmptyState, Notice, Problem, sentence } from '../design/notice.tsx'
import { Page, Section } from '../design/page.tsx'
import { daysOfRange } from '../design/ranges.ts'
import { Loading } from '../design/skeleton.tsx'
import { number } from '../lib/format.ts'
import { useMay } from '../lib/may.ts'
import type { PageProps } from '../lib/page-props.ts'
import { useData } from '../lib/use-data.ts'
import { TEXTS } from '../texts/texts.ts'
import { ChangeSource } from './sources/change-source.tsx'
import { CreateSource } from './sources/create-source.tsx'
import { NewSource } from './sources/new-source.tsx'
import { RevokeSource } from './sources/revoke-source.tsx'
import { ShowSetup } from './sources/setup.tsx'
import { SourceList } from './sources/source-list.tsx'

const texts = TEXTS.sources.list

const EVERY_MS = 10_000
/** While a new source waits for its first event. */
const SOON_MS = 1_500

/** Sources of a tenant and their health. */
export function Sources({ parameters }: PageProps) {
  const tenant = parameters.tenant!
  // The key makes sure that state of one tenant is never shown for another.
  return <OfTenant key={tenant} tenant={tenant} />
}

type Shown = { readonly action: 'setup' | 'change' | 'revoke'; readonly source: ListedSource }

function OfTenant({ tenant }: { readonly tenant: string }) {
  const isAdmin = useMay('admin')
  const [created, setCreated] = useState<CreatedSourceAnswer>()
  const [isAdding, setAdding] = useState(false)
  const [dialog, setDialog] = useState<Shown>()
  const list = useData<SourcesAnswer>(`/api/tenants/${tenant}/sources`, {}, created === undefined ? EVERY_MS : SOON_MS)
  const close = () => setDialog(undefined)
  const changed = () => {
    close()
    list.reload()
  }
  const { sources = [], kinds = [], fetches = [], total = 0, problem = null } = list.value ?? {}
  const isEmpty = sources.length === 0
  return (
    <Page
      title={texts.title}
      description={texts.about}
      actions={
        list.value !== undefined &&
        isAdmin &&
        !isAdding && (
          <Button variant="primary" icon={Plus} onClick={() => setAdding(true)}>
            {texts.add}
          </Button>
        )
      }
    >
      {isAdding && (
        <CreateSource
          tenant={tenant}
          kinds={kinds}
          base={list.value?.api_url ?? null}
          onCancel={() => setAdding(false)}
          onCreated={(answer) => {
            setAdding(false)
            setCreated(answer)
            list.reload()
          }}
        />
      )}
      {created !== undefined && (
        <NewSource
          key={created.source_id}
          tenant={tenant}
          created={created}
          source={sources.find(({ source_id }) => source_id === created.source_id)}
          onDone={() => setCreated(undefined)}
        />
      )}
      {list.error !== undefined && <Problem error={list.error} onRetry={list.reload} />}
      {list.value === undefined && list.error === undefined && <Loading rows={6} rowHeight={32} />}
      {problem !== null && (
        <Notice tone="warn" role="status">
          <p>{texts.healthUnknown(sentence(problem))}</p>
        </Notice>
      )}
      {list.value !== undefined && isEmpty && created === undefined && !isAdding && (
        <EmptyState icon={Plug} title={texts.none}>
          <p>{texts.aboutSource}</p>
        </EmptyState>
      )}
      {!isEmpty && (
        <SourceList sources={sources} fetches={fetches} onAct={(action, source) => setDialog({ action, source })} />
      )}
      {total > sources.length && (
        <Text tone="soft">
          {texts.newest(number(sources.length), number(total), <code>./ipid source list {tenant}</code>)}
        </Text>
      )}
      {list.value !== undefined && !isEmpty && (
        <Section title={texts.channels} description={texts.aboutChannels}>
          <CompaniesByChannel tenant={tenant} days={daysOfRange('30d')} />
        </Section>
      )}
      {dialog?.action === 'setup' && <ShowSetup tenant={tenant} source={dialog.source} onClose={close} />}
      {dialog?.action === 'change' && (
        <ChangeSource tenant={tenant} source={dialog.source} onClose={close} onChanged={changed} />
      )}
      {dialog?.action === 'revoke' && (
        <RevokeSource
          tenant={tenant}
          source={dialog.source}
          onClose={close}
          onRevoked={() => {
            if (created?.source_id === dialog.source.source_id) setCreated(undefined)
            changed()
          }}
        />
      )}
    </Page>
  )
}
