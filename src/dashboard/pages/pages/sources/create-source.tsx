import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { CreatedSourceAnswer, SourceKind } from '../../../../../schemas/dashboard/sources.ts'
import { Button } from '../../design/button.tsx'
import { CodeLine } from '../../design/code.tsx'
import { FieldError, Select, TextArea, TextInput } from '../../design/field.tsx'
import { Grid, Row, Stack } from '../../design/layout.tsx'
import { Card } from '../../design/page.tsx'
import { post } from '../../lib/api.ts'
import { sharedUrl } from '../../lib/local-host.ts'
import { useSession } from '../../lib/session.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.sources.create
const ofVisitors = TEXTS.firstSteps.connect

type Group = SourceKind['group']

/** Groups in the order of the form, and the task of the person for each. */
const GROUPS: readonly (readonly [group: Group, label: string, about: string])[] = [
  ['website', texts.groups.website, texts.groups.aboutWebsite],
  ['libraries', texts.groups.libraries, texts.groups.aboutLibraries],
  ['shippers', texts.groups.shippers, texts.groups.aboutShippers],
  ['pulls', texts.groups.pulls, texts.groups.aboutPulls],
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
  const [base, setBase] = useState(() => sharedUrl(known ?? api_url))
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
    <Card title={texts.title}>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          create()
        }}
      >
        <Stack>
          <Select
            label={texts.from}
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
            <Grid min={280} align="start">
              <TextInput label={texts.name} maxLength={200} autocomplete="off" value={name} onInput={setName} />
              <TextInput
                type="url"
                label={group === 'website' ? ofVisitors.address : texts.address}
                hint={group === 'website' ? ofVisitors.aboutAddress : undefined}
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
                label={texts.format}
                value={preset}
                options={[
                  { value: '', label: texts.ownJson },
                  ...presets.map(({ name, about }) => ({ value: name, label: about })),
                ]}
                onChange={setPreset}
              />
              <TextArea
                label={texts.otherNames}
                hint={(preset === '' ? texts.ownFields : texts.knownFields)(<code>{fields.join(' ')}</code>)}
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
            <CodeLine text={`./ipid source create ${tenant} ${kind} ${chosen?.options ?? ''}`} label={texts.command} />
          )}
          <FieldError error={error} />
          <Row justify="right">
            <Button onClick={onCancel}>{TEXTS.words.buttons.cancel}</Button>
            {!isPulled && (
              <Button type="submit" variant="primary" disabled={isBusy}>
                {texts.create}
              </Button>
            )}
          </Row>
        </Stack>
      </form>
    </Card>
  )
}
