import { useState } from 'preact/hooks'
import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
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
  // With a browser key the address is that of the connection.
  const canChoose = source.has_server_key
  const { isBusy, error, run } = useAction()
  const save = () =>
    run(async () => {
      const body = {
        source_id: source.source_id,
        ...(canChoose && { address }),
        ...(name.trim() !== '' && { name: name.trim() }),
      }
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
        <Stack>
          <TextInput
            label="Name, for people"
            required={source.name !== null}
            maxLength={200}
            autocomplete="off"
            value={name}
            onInput={setName}
          />
          {canChoose && (
            <Select
              label={`Addresses of visitors${source.has_browser_key ? ', with the server key' : ''}`}
              hint="A change is in force at once, for new events."
              value={address}
              options={ADDRESSES.map(([value, label]) => ({ value, label: `${value}: ${label}` }))}
              onChange={(next) => setAddress(next as ListedSource['address'])}
            />
          )}
          <FieldError error={error} />
          <Row justify="right">
            <Button onClick={onClose}>Cancel</Button>
            <Button type="submit" variant="primary" disabled={isBusy}>
              Save
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
