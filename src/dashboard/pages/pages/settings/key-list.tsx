import { useState } from 'preact/hooks'
import type { ListedKey } from '../../../../../schemas/dashboard/keys.ts'
import { Empty } from '../../components/notes.tsx'
import { Time } from '../../components/time.tsx'
import { number } from '../../lib/format.ts'
import { useData } from '../../lib/use-data.ts'

/** Hides the search when there are fewer keys. */
const SEARCH_FROM = 10
const SHOWN = 25

/** Length of a key's prefix. */
const PREFIX_CHARS = 12

export interface KeyListProps {
  readonly tenant: string
  /** A page of keys, newest first. */
  readonly keys: readonly ListedKey[]
  /** Number of keys of the tenant. */
  readonly total: number
  readonly onRevoke: (key: ListedKey) => void
}

/** Active keys, newest first, and revoked keys below. A whole prefix also finds keys of other pages. */
export function KeyList({ tenant, keys, total, onRevoke }: KeyListProps) {
  const [text, setText] = useState('')
  const wanted = text.trim().replace(/(?<!•)•+$/, '')
  const here = keys.filter(({ prefix }) => prefix.includes(wanted))
  const isElsewhere = here.length === 0 && keys.length < total && wanted.length === PREFIX_CHARS
  const path = `/api/tenants/${tenant}/keys/${encodeURIComponent(wanted)}`
  const { value: other } = useData<ListedKey>(isElsewhere ? path : undefined)
  const found = isElsewhere && other?.prefix.startsWith(wanted) ? [other] : here
  const inForce = found.filter(({ revoked_at: at }) => at === null)
  const revoked = found.filter(({ revoked_at: at }) => at !== null)
  return (
    <>
      {keys.length >= SEARCH_FROM && (
        <label class="field key-search">
          <span>Beginning of a key</span>
          <input
            type="search"
            value={text}
            spellcheck={false}
            autocomplete="off"
            // Cut a pasted key to its prefix, so that the field does not show the secret.
            onInput={(event) => setText(event.currentTarget.value.trim().slice(0, PREFIX_CHARS))}
          />
        </label>
      )}
      {inForce.length > 0 ? (
        <KeyTable key={`in force ${wanted}`} label="Active keys" keys={inForce} onRevoke={onRevoke} />
      ) : (
        <Empty title={wanted === '' ? 'No active key' : 'No active key begins like this'}>
          <p>{wanted === '' && 'Requests are refused until one is generated.'}</p>
        </Empty>
      )}
      {revoked.length > 0 && (
        <details class="revoked-keys" open={wanted !== ''}>
          <summary>{revoked.length === 1 ? '1 revoked key' : `${number(revoked.length)} revoked keys`}</summary>
          <KeyTable key={`revoked ${wanted}`} label="Revoked keys" keys={revoked} onRevoke={onRevoke} />
        </details>
      )}
    </>
  )
}

function KeyTable({ label, keys, onRevoke }: Pick<KeyListProps, 'keys' | 'onRevoke'> & { readonly label: string }) {
  const [shown, setShown] = useState(SHOWN)
  return (
    <>
      <div class="table stacked">
        <table aria-label={label}>
          <thead>
            <tr>
              <th>Key</th>
              <th>Created</th>
              <th>Last used</th>
              <th>State</th>
              <th>
                <span class="hidden-label">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.slice(0, shown).map((key) => (
              <Row key={key.prefix} of={key} onRevoke={onRevoke} />
            ))}
          </tbody>
        </table>
      </div>
      {keys.length > shown && (
        <div class="row">
          <button type="button" onClick={() => setShown(shown + 4 * SHOWN)}>
            Show more
          </button>
          <span class="soft">
            {number(shown)} of {number(keys.length)}
          </span>
        </div>
      )}
    </>
  )
}

function Row({ of: key, onRevoke }: { readonly of: ListedKey; readonly onRevoke: KeyListProps['onRevoke'] }) {
  return (
    <tr class={key.revoked_at === null ? '' : 'revoked'}>
      <td>
        <code>{key.prefix}</code>
      </td>
      <td data-label="Created">
        <Time at={key.created_at} />
      </td>
      <td data-label="Last used">
        {key.last_used === null ? <span class="soft">never</span> : <Time at={key.last_used} isAgo />}
      </td>
      <td>
        {key.revoked_at === null ? (
          <span class="tag good">in force</span>
        ) : (
          <>
            revoked <Time at={key.revoked_at} />
          </>
        )}
      </td>
      <td class="actions">
        {key.revoked_at === null && (
          <button type="button" aria-label={`Revoke ${key.prefix}`} onClick={() => onRevoke(key)}>
            Revoke
          </button>
        )}
      </td>
    </tr>
  )
}
