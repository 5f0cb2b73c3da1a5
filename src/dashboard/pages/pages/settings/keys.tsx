import { useState } from 'preact/hooks'
import type { CreatedKeyAnswer, KeysAnswer, ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { FieldError } from '../../components/field-error.tsx'
import { Empty, Loading, Problem } from '../../components/notes.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { useData } from '../../lib/use-data.ts'
import { KeyList } from './key-list.tsx'
import { NewKey } from './new-key.tsx'
import { RevokeKey } from './revoke-key.tsx'

/** A key may be used at any time, and nobody looks at this list for long. */
const EVERY_MS = 10_000

/** The API keys of a tenant. */
export function Keys({ tenant }: { readonly tenant: string }) {
  const path = `/api/tenants/${tenant}/keys`
  const list = useData<KeysAnswer>(path, {}, EVERY_MS)
  const [created, setCreated] = useState<CreatedKeyAnswer>()
  const [revoking, setRevoking] = useState<ListedKey>()
  const generating = useAction()
  const generate = () =>
    generating.run(async () => {
      setCreated(await post<CreatedKeyAnswer>(path))
      list.reload()
    })
  return (
    <section aria-labelledby="keys-heading">
      <div class="section-head">
        <h2 id="keys-heading">API keys</h2>
        <button type="button" class="primary" disabled={generating.isBusy} onClick={generate}>
          Generate key
        </button>
      </div>
      <FieldError id="generate-error" error={generating.error} />
      {created !== undefined && (
        <NewKey
          key={created.prefix}
          tenant={tenant}
          created={created}
          onUsed={list.reload}
          onDone={() => setCreated(undefined)}
        />
      )}
      {list.value === undefined ? (
        list.error === undefined ? (
          <Loading />
        ) : (
          <Problem error={list.error} onRetry={list.reload} />
        )
      ) : (
        <KeyTable keys={list.value.keys} isNew={created !== undefined} onRevoke={setRevoking} />
      )}
      {revoking !== undefined && (
        <RevokeKey
          tenant={tenant}
          revoking={revoking}
          onClose={() => setRevoking(undefined)}
          onRevoked={(key) => {
            setRevoking(undefined)
            if (created?.prefix === key.prefix) setCreated(undefined)
            list.reload()
          }}
        />
      )}
    </section>
  )
}

function KeyTable({ keys, isNew, onRevoke }: KeyTableProps) {
  if (keys.length > 0) return <KeyList keys={keys} onRevoke={onRevoke} />
  if (isNew) return null
  return (
    <Empty title="There is no key yet">
      <p>Every request carries one. Generate the first with the button above: a line to paste comes with it.</p>
    </Empty>
  )
}

interface KeyTableProps {
  readonly keys: readonly ListedKey[]
  readonly isNew: boolean
  readonly onRevoke: (key: ListedKey) => void
}
