import { useState } from 'preact/hooks'
import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Dialog } from '../../components/dialog.tsx'
import { FieldError } from '../../components/field-error.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'

const ADDRESSES: readonly (readonly [value: ListedSource['address'], label: string])[] = [
  ['auto', 'of the event, or else of the browser that sends it'],
  ['payload', 'of the event only'],
  ['connection', 'of the connection only'],
]

/** Changes the name of a source, and where the addresses of its events come from. */
export function ChangeSource({
  tenant,
  source,
  onClose,
  onChanged,
}: {
  readonly tenant: string
  readonly source: ListedSource
  readonly onClose: () => void
  readonly onChanged: () => void
}) {
  const [name, setName] = useState(source.name ?? '')
  const [address, setAddress] = useState(source.address)
  const { isBusy, error, run } = useAction()
  const save = () =>
    run(async () => {
      const body = { source_id: source.source_id, address, ...(name.trim() !== '' && { name: name.trim() }) }
      await post<ListedSource>(`/api/tenants/${tenant}/sources/set`, body)
      onChanged()
    })
  return (
    <Dialog title={`Change ${source.name ?? source.title}`} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <label class="field">
          <span>Name, for people</span>
          <input
            required={source.name !== null}
            maxLength={200}
            autocomplete="off"
            aria-describedby="change-error"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        </label>
        <label class="field">
          <span>Addresses of visitors</span>
          <select
            value={address}
            onChange={(event) => setAddress(event.currentTarget.value as ListedSource['address'])}
          >
            {ADDRESSES.map(([value, label]) => (
              <option key={value} value={value}>
                {value}: {label}
              </option>
            ))}
          </select>
        </label>
        <FieldError id="change-error" error={error} />
        <p class="soft">A change is in force at once, for new events.</p>
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={isBusy}>
            Save
          </button>
        </div>
      </form>
    </Dialog>
  )
}
