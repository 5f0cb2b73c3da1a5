import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import {
  IMPORT_LIMITS,
  type ImportAnswer,
  type ImportChoice,
  type ImportColumn,
} from '../../../../../schemas/api/company-import.ts'
import type { OwnColumn } from '../../../../../schemas/facts.ts'
import { Button } from '../../design/button.tsx'
import { Disclosure } from '../../design/details.tsx'
import { Checkbox, FieldError, Fieldset, Select } from '../../design/field.tsx'
import { Grid, Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { ApiError, postBytes } from '../../lib/api.ts'
import { bytes, counted } from '../../lib/format.ts'
import { bodyOf } from '../../lib/transfers.ts'
import { useAction } from '../../lib/use-action.ts'
import { ImportGroups } from './import-groups.tsx'

interface ListPreviewProps {
  readonly tenant: string
  readonly file: File
  readonly own: readonly OwnColumn[]
  readonly onDone: (answer: ImportAnswer) => void
  readonly onClose: () => void
}

const ENCODINGS = ['windows-1252', 'iso-8859-2', 'windows-1251', 'utf-16le', 'shift_jis', 'gb18030']

const pathOf = (tenant: string) => `/api/tenants/${encodeURIComponent(tenant)}/companies/import`

/** The columns of a list, what it would change, and the button that does it. */
export function ListPreview({ tenant, file, own, onDone, onClose }: ListPreviewProps) {
  const [choice, setChoice] = useState<ImportChoice>({})
  const isTooLarge = file.size > IMPORT_LIMITS.bytes
  const { preview, error, isLoading } = usePreview(tenant, isTooLarge ? undefined : file, choice)
  // A repeated click, or one after a lost answer, imports once.
  const [changeId, setChangeId] = useState('')
  const heading = useRef<HTMLHeadingElement>(null)
  const applying = useAction()
  useLayoutEffect(() => heading.current?.focus(), [])
  const change = (next: ImportChoice) => {
    setChangeId('')
    setChoice(next)
  }
  const apply = () =>
    applying.run(async () => {
      const id = changeId === '' ? crypto.randomUUID() : changeId
      setChangeId(id)
      onDone(
        await postBytes<ImportAnswer>(
          pathOf(tenant),
          bodyOf({ ...choice, map: mapOf(preview!.columns, choice), change_id: id }, file),
        ),
      )
    })
  const isReady = preview !== undefined && preview.problem === null && error === undefined && !isLoading
  return (
    <Card isAccent>
      <h2 tabIndex={-1} ref={heading}>
        {file.name}
      </h2>
      <Text tone="soft">
        {bytes(file.size)}
        {preview !== undefined && ` · ${counted(preview.rows, 'row')}`}
      </Text>
      {isTooLarge && (
        <Notice tone="bad" role="alert">
          <p>
            The list has {bytes(file.size)}, more than {bytes(IMPORT_LIMITS.bytes)}. Split it, or leave out columns.
          </p>
        </Notice>
      )}
      {preview === undefined && error === undefined && !isTooLarge && <Loading label="Reading the list…" />}
      {preview !== undefined && (
        <Columns
          columns={preview.columns}
          chosen={choice.map ?? {}}
          own={own}
          onChange={(name, target) => change({ ...choice, map: { ...mapOf(preview.columns, choice), [name]: target } })}
        />
      )}
      {error !== undefined && <Problem error={error} />}
      {preview !== undefined && error === undefined && preview.problem !== null && (
        <Notice tone="warn" role="alert">
          <p>Choose above which column is the domain or website of the company, or its name.</p>
        </Notice>
      )}
      {preview !== undefined && error === undefined && preview.problem === null && (
        <ImportGroups preview={preview} own={own} isLoading={isLoading} />
      )}
      {preview !== undefined && (
        <Stack gap={3}>
          <Checkbox
            label="Empty cells remove what is there"
            isChecked={choice.clear_empty === true}
            onChange={(clears) => change({ ...choice, clear_empty: clears })}
          />
          <Disclosure summary="If dates or letters look wrong">
            <Grid>
              <Select
                label="Dates like 01/02/2026"
                value={choice.date_order ?? ''}
                options={[
                  { value: '', label: 'leave out: may be two days' },
                  { value: 'dmy', label: 'day first' },
                  { value: 'mdy', label: 'month first' },
                ]}
                onChange={(order) =>
                  change({ ...choice, date_order: (order || undefined) as ImportChoice['date_order'] })
                }
              />
              <Select
                label="Encoding"
                value={choice.encoding ?? ''}
                options={[{ value: '', label: 'detected' }, ...ENCODINGS.map((name) => ({ value: name, label: name }))]}
                // Names of columns may be others then.
                onChange={(encoding) => change({ ...choice, map: undefined, encoding: encoding || undefined })}
              />
            </Grid>
          </Disclosure>
        </Stack>
      )}
      <Row>
        <Button variant="primary" disabled={!isReady || preview.values === 0 || applying.isBusy} onClick={apply}>
          {preview === undefined || preview.values === 0
            ? 'Import'
            : `Import: change ${counted(preview.changed, 'company', 'companies')}`}
        </Button>
        <Button onClick={onClose}>{preview === undefined ? 'Choose another file' : 'Cancel'}</Button>
      </Row>
      <FieldError error={applying.error} />
    </Card>
  )
}

/** What a list would change. Keeps the last answer while the next one loads. @param file undefined: it is not read */
function usePreview(tenant: string, file: File | undefined, choice: ImportChoice) {
  const [state, setState] = useState<{ preview?: ImportAnswer; error?: ApiError; isLoading: boolean }>({
    isLoading: true,
  })
  useEffect(() => {
    if (file === undefined) return
    const leaving = new AbortController()
    setState((last) => ({ ...last, isLoading: true }))
    const body = bodyOf({ ...choice, dry_run: true }, file)
    postBytes<ImportAnswer>(pathOf(tenant), body, leaving.signal).then(
      (preview) => setState({ preview, isLoading: false }),
      (failure: unknown) => {
        if (leaving.signal.aborted) return
        const error = failure instanceof ApiError ? failure : new ApiError(0, String(failure))
        setState(({ preview }) => ({ ...(preview && { preview }), error, isLoading: false }))
      },
    )
    return () => leaving.abort()
  }, [tenant, file, choice])
  return state
}

/** The targets of all columns, so that what was shown is what is applied. */
function mapOf(columns: readonly ImportColumn[], { map = {} }: ImportChoice): Record<string, string> {
  const first = columns.filter(({ name }, i) => name !== '' && columns.findIndex((other) => other.name === name) === i)
  return Object.fromEntries(first.map(({ name, target }) => [name, map[name] ?? target]))
}

interface ColumnsProps {
  readonly columns: readonly ImportColumn[]
  readonly chosen: Readonly<Record<string, string>>
  readonly own: readonly OwnColumn[]
  readonly onChange: (name: string, target: string) => void
}

const FINDS = 'Finds the company'
const FACTS = 'What you know'
const NEW = 'New column of yours'

/** Chooses what each column of the list is. */
function Columns({ columns, chosen, own, onChange }: ColumnsProps) {
  const shown = columns.filter(({ name }, i) => name !== '' && columns.findIndex((other) => other.name === name) === i)
  return (
    <Fieldset legend="Columns of the list">
      <Grid gap={3} min={220}>
        {shown.map(({ name, target, example }) => (
          <Select
            key={name}
            label={name}
            hint={
              <Text as="span" isCut>
                <code>{example === '' ? '(empty)' : example}</code>
              </Text>
            }
            value={chosen[name] ?? target}
            options={[
              { value: 'domain', label: 'Domain or website', group: FINDS },
              { value: 'name', label: 'Name of the company', group: FINDS },
              { value: 'status', label: 'Status', group: FACTS },
              { value: 'owner', label: 'Owner', group: FACTS },
              { value: 'tags', label: 'Tags', group: FACTS },
              ...own.map((column) => ({ value: `own.${column.key}`, label: column.name, group: 'Your columns' })),
              { value: 'text', label: 'Keep as text', group: NEW },
              { value: 'number', label: 'Keep as number', group: NEW },
              { value: 'date', label: 'Keep as date', group: NEW },
              { value: '', label: 'Leave out', group: 'Nothing' },
            ]}
            onChange={(next) => onChange(name, next)}
          />
        ))}
      </Grid>
    </Fieldset>
  )
}
