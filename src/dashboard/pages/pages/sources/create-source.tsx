import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { CreatedSourceAnswer, SourceKind } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { FieldError, Select, TextArea, TextInput } from '../../design/field.tsx'
import { Grid, Row, Stack } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { post } from '../../lib/api.ts'
import { useSession } from '../../lib/session.ts'
import { useAction } from '../../lib/use-action.ts'

type Group = SourceKind['group']

/** Groups in the order of the form, and the task of the person for each. */
const GROUPS: readonly (readonly [group: Group, label: string, about: string])[] = [
  ['website', 'Website', 'One line of HTML. It sets no cookies, and counts page views by itself.'],
  ['libraries', 'Libraries of tools', 'Your code stays as it is: only the host and the key change.'],
  [
    'shippers',
    'Log shippers',
    'Vector, Fluent Bit, a CDN or your own program posts JSON to an address; ./ipid sync sends log files.',
  ],
  [
    'pulls',
    'Files and exports',
    'ipid fetches them by itself. The command line makes these, because it asks for their secrets.',
  ],
]

/** A form for a new source. */
export function CreateSource({
  tenant,
  kinds,
  base: known,
  onCreated,
  onCancel,
}: {
  readonly tenant: string
  readonly kinds: readonly SourceKind[]
  /** Address of the API as senders reach it; null: unknown. */
  readonly base: string | null
  readonly onCreated: (created: CreatedSourceAnswer) => void
  readonly onCancel: () => void
}) {
  const { api_url } = useSession()
  const [kind, setKind] = useState(kinds[0]?.kind ?? '')
  const [name, setName] = useState('')
  const [base, setBase] = useState(known ?? api_url ?? '')
  const [preset, setPreset] = useState('')
  const [mapping, setMapping] = useState('')
  const first = useRef<HTMLSelectElement>(null)
  // The button that opened the form has disappeared.
  useLayoutEffect(() => first.current?.focus(), [])
  const { isBusy, error, run } = useAction()
  const chosen = kinds.find((one) => one.kind === kind)
  const { group, presets = [], fields = [] } = chosen ?? {}
  const create = () =>
    run(async () => {
      const map = mapping.split('\n').filter((line) => line.trim() !== '')
      const body = {
        ...{ kind, base: base.trim(), ...(name.trim() !== '' && { name: name.trim() }) },
        ...(presets.length > 0 && { ...(preset !== '' && { preset }), ...(map.length > 0 && { map }) }),
      }
      const created = await post<CreatedSourceAnswer>(`/api/tenants/${tenant}/sources`, body)
      onCreated(created)
    })
  const isPulled = group === 'pulls'
  return (
    <Card title="New source">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create()
        }}
      >
        <Stack>
          <Select
            label="Where the events come from"
            hint={GROUPS.find(([of]) => of === group)?.[2]}
            value={kind}
            selectRef={first}
            options={GROUPS.flatMap(([of, label]) =>
              kinds
                .filter((one) => one.group === of)
                .map((one) => ({ value: one.kind, label: one.title, group: label })),
            )}
            onChange={setKind}
          />
          {!isPulled && (
            <Grid min={280}>
              <TextInput
                label="Name, for people (optional)"
                maxLength={200}
                autocomplete="off"
                value={name}
                onInput={setName}
              />
              <TextInput
                type="url"
                label="Address of the API, as its senders reach it"
                required
                maxLength={300}
                placeholder="https://ipid.example.com"
                value={base}
                onInput={setBase}
              />
            </Grid>
          )}
          {presets.length > 0 && (
            <>
              <Select
                label="Format of the sender"
                value={preset}
                options={[
                  { value: '', label: 'My own JSON' },
                  ...presets.map(({ name, about }) => ({ value: name, label: about })),
                ]}
                onChange={setPreset}
              />
              <TextArea
                label="Fields with other names (optional)"
                hint={
                  <>
                    {preset === ''
                      ? 'An event without the field ip has no visitor, and is not stored. Unless you map them, fields have the names '
                      : 'The fields of this sender are known. You can map others: '}
                    <code>{fields.join(' ')}</code>. All other keys are kept as properties. Of a log, map status and
                    method, or the line in request: then only page views are stored.
                  </>
                }
                isMono
                rows={3}
                spellcheck={false}
                placeholder={'ip=client.address\nevent_id=request_id'}
                value={mapping}
                onInput={setMapping}
              />
            </>
          )}
          {isPulled && (
            <CodeLine
              text={`./ipid source create ${tenant} ${kind} ${chosen?.options ?? ''}`}
              label="Command that makes the source"
            />
          )}
          <FieldError error={error} />
          <Row justify="right">
            <Button onClick={onCancel}>Cancel</Button>
            {!isPulled && (
              <Button type="submit" variant="primary" disabled={isBusy}>
                Create source
              </Button>
            )}
          </Row>
        </Stack>
      </form>
    </Card>
  )
}
