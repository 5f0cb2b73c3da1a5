import { useState } from 'preact/hooks'
import type { ListedSource } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { Dialog } from '../../design/dialog.tsx'
import { FieldError, Select, TextInput } from '../../design/field.tsx'
import { Row, Stack } from '../../design/layout.tsx'
import { post } from '../../lib/api.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.sources.change

const ADDRESSES: readonly (readonly [value: ListedSource['address'], label: string])[] = [
  ['auto', texts.addresses.auto],
  ['payload', texts.addresses.payload],
  ['connection', texts.addresses.connection],
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
    <Dialog title={texts.title(source.name ?? source.title)} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          save()
        }}
      >
        <Stack>
          <TextInput
            label={texts.name}
            required={source.name !== null}
            maxLength={200}
            autocomplete="off"
            value={name}
            onInput={setName}
          />
          {canChoose && (
            <Select
              label={source.has_browser_key ? texts.visitorsWithKey : texts.visitors}
              hint={texts.inForce}
              value={address}
              options={ADDRESSES.map(([value, label]) => ({ value, label: `${value}: ${label}` }))}
              onChange={(next) => setAddress(next as ListedSource['address'])}
            />
          )}
          <FieldError error={error} />
          <Row justify="right">
            <Button onClick={onClose}>{TEXTS.words.buttons.cancel}</Button>
            <Button type="submit" variant="primary" disabled={isBusy}>
              {TEXTS.words.buttons.save}
            </Button>
          </Row>
        </Stack>
      </form>
    </Dialog>
  )
}
