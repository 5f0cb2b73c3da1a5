import { useEffect, useRef, useState } from 'preact/hooks'
import type { CreatedSourceAnswer, SourceKind } from '../../../../../schemas/dashboard/sources.ts'
import { CodeLine } from '../../components/code-line.tsx'
import { FieldError } from '../../components/field-error.tsx'
import { post } from '../../lib/api.ts'
import { useSession } from '../../lib/session.ts'
import { useAction } from '../../lib/use-action.ts'

type Group = SourceKind['group']

/** Groups in the order of the form, and what a person does for each. */
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

/** Where the last address is kept: the page cannot know how senders reach the API. */
const BASE_KEY = 'ipid.api-base'

/** A form for a new source. */
export function CreateSource({
  tenant,
  kinds,
  onCreated,
  onCancel,
}: {
  readonly tenant: string
  readonly kinds: readonly SourceKind[]
  readonly onCreated: (created: CreatedSourceAnswer) => void
  readonly onCancel: () => void
}) {
  const { api_url } = useSession()
  const [kind, setKind] = useState(kinds[0]?.kind ?? '')
  const [name, setName] = useState('')
  const [base, setBase] = useState(() => localStorage.getItem(BASE_KEY) ?? api_url ?? '')
  const [preset, setPreset] = useState('')
  const [mapping, setMapping] = useState('')
  const first = useRef<HTMLSelectElement>(null)
  // The button that opened the form has disappeared.
  useEffect(() => first.current?.focus(), [])
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
      if (base === api_url) localStorage.removeItem(BASE_KEY)
      else localStorage.setItem(BASE_KEY, base)
      onCreated(created)
    })
  const isPulled = group === 'pulls'
  return (
    <form
      class="card"
      onSubmit={(event) => {
        event.preventDefault()
        create()
      }}
    >
      <h2>New source</h2>
      <div class="row">
        <label class="field">
          <span>Where the events come from</span>
          <select
            ref={first}
            value={kind}
            aria-describedby="kind-about"
            onChange={(event) => setKind(event.currentTarget.value)}
          >
            {GROUPS.map(([of, label]) => {
              const inGroup = kinds.filter((one) => one.group === of)
              return inGroup.length === 0 ? null : (
                <optgroup key={of} label={label}>
                  {inGroup.map((one) => (
                    <option key={one.kind} value={one.kind}>
                      {one.title}
                    </option>
                  ))}
                </optgroup>
              )
            })}
          </select>
        </label>
        {!isPulled && (
          <>
            <label class="field">
              <span>Name, for people (optional)</span>
              <input
                maxLength={200}
                autocomplete="off"
                value={name}
                onInput={(event) => setName(event.currentTarget.value)}
              />
            </label>
            <label class="field grow">
              <span>Address of the API, as its senders reach it</span>
              <input
                type="url"
                required
                maxLength={300}
                placeholder="https://ipid.example.com"
                aria-describedby="source-error"
                value={base}
                onInput={(event) => setBase(event.currentTarget.value)}
              />
            </label>
          </>
        )}
      </div>
      <p id="kind-about" class="soft">
        {GROUPS.find(([of]) => of === group)?.[2]}
      </p>
      {presets.length > 0 && (
        <div class="row">
          <label class="field">
            <span>Whose fields they have</span>
            <select value={preset} onChange={(event) => setPreset(event.currentTarget.value)}>
              <option value="">My own JSON</option>
              {presets.map(({ name, about }) => (
                <option key={name} value={name}>
                  {about}
                </option>
              ))}
            </select>
          </label>
          <label class="field grow">
            <span>Where fields are that have other names (optional)</span>
            <textarea
              rows={3}
              spellcheck={false}
              placeholder={'ip=client.address\nevent_id=request_id'}
              aria-describedby="mapping-about"
              value={mapping}
              onInput={(event) => setMapping(event.currentTarget.value)}
            />
          </label>
        </div>
      )}
      {presets.length > 0 && (
        <p id="mapping-about" class="soft">
          {preset === ''
            ? 'An event without the field ip has no visitor, and is not stored. Unless you map them, fields have the names '
            : 'The fields of this sender are known. You can map others: '}
          <code>{fields.join(' ')}</code>. All other keys are kept as properties.
        </p>
      )}
      {isPulled && (
        <CodeLine
          text={`./ipid source create ${tenant} ${kind} ${chosen?.options ?? ''}`}
          label="Command that makes the source"
        />
      )}
      <FieldError id="source-error" error={error} />
      <div class="dialog-actions">
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
        {!isPulled && (
          <button type="submit" class="primary" disabled={isBusy}>
            Create source
          </button>
        )}
      </div>
    </form>
  )
}
