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
import { bytes } from '../../lib/format.ts'
import { bodyOf } from '../../lib/transfers.ts'
import { useAction } from '../../lib/use-action.ts'
import { TEXTS } from '../../texts/texts.ts'
import { ImportGroups } from './import-groups.tsx'

const texts = TEXTS.importList.preview

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
        {preview !== undefined && texts.rows(preview.rows)}
      </Text>
      {isTooLarge && (
        <Notice tone="bad" role="alert">
          <p>{texts.tooLarge(bytes(file.size), bytes(IMPORT_LIMITS.bytes))}</p>
        </Notice>
      )}
      {preview === undefined && error === undefined && !isTooLarge && <Loading label={texts.reading} />}
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
          <p>{texts.choose}</p>
        </Notice>
      )}
      {preview !== undefined && error === undefined && preview.problem === null && (
        <ImportGroups preview={preview} own={[...own, ...newColumns(preview)]} isLoading={isLoading} />
      )}
      {preview !== undefined && (
        <Stack gap={3}>
          <Checkbox
            label={texts.emptyRemove}
            isChecked={choice.clear_empty === true}
            onChange={(clears) => change({ ...choice, clear_empty: clears })}
          />
          <Disclosure summary={texts.wrong}>
            <Grid>
              <Select
                label={texts.dates}
                value={choice.date_order ?? ''}
                options={[
                  { value: '', label: texts.ambiguous },
                  { value: 'dmy', label: texts.dayFirst },
                  { value: 'mdy', label: texts.monthFirst },
                ]}
                onChange={(order) =>
                  change({ ...choice, date_order: (order || undefined) as ImportChoice['date_order'] })
                }
              />
              <Select
                label={texts.encoding}
                value={choice.encoding ?? ''}
                options={[
                  { value: '', label: texts.detected },
                  ...ENCODINGS.map((name) => ({ value: name, label: name })),
                ]}
                // Names of columns may be others then.
                onChange={(encoding) => change({ ...choice, map: undefined, encoding: encoding || undefined })}
              />
            </Grid>
          </Disclosure>
        </Stack>
      )}
      <Row>
        <Button variant="primary" disabled={!isReady || preview.values === 0 || applying.isBusy} onClick={apply}>
          {preview === undefined || preview.values === 0 ? texts.import : texts.importChanges(preview.changed)}
        </Button>
        <Button onClick={onClose}>{preview === undefined ? texts.another : TEXTS.words.buttons.cancel}</Button>
      </Row>
      <FieldError error={applying.error} />
    </Card>
  )
}

function newColumns({ columns }: ImportAnswer): OwnColumn[] {
  return columns.flatMap(({ key, name, target, is_new }) =>
    is_new ? [{ key, name, type: target as OwnColumn['type'] }] : [],
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

const FINDS = texts.finds
const FACTS = texts.facts
const NEW = texts.newColumn

/** Chooses what each column of the list is. */
function Columns({ columns, chosen, own, onChange }: ColumnsProps) {
  const shown = columns.filter(({ name }, i) => name !== '' && columns.findIndex((other) => other.name === name) === i)
  return (
    <Fieldset legend={texts.columns}>
      <Grid gap={3} min={220}>
        {shown.map(({ name, target, example }) => (
          <Select
            key={name}
            label={name}
            hint={
              <Text as="span" isCut>
                <code>{example === '' ? texts.empty : example}</code>
              </Text>
            }
            value={chosen[name] ?? target}
            options={[
              { value: 'domain', label: texts.domain, group: FINDS },
              { value: 'name', label: texts.name, group: FINDS },
              { value: 'status', label: TEXTS.words.fields.status, group: FACTS },
              { value: 'owner', label: TEXTS.words.fields.owner, group: FACTS },
              { value: 'tags', label: TEXTS.words.fields.tags, group: FACTS },
              ...own.map((column) => ({ value: `own.${column.key}`, label: column.name, group: texts.yourColumns })),
              { value: 'text', label: texts.asText, group: NEW },
              { value: 'number', label: texts.asNumber, group: NEW },
              { value: 'date', label: texts.asDate, group: NEW },
              { value: '', label: texts.leaveOut, group: texts.nothing },
            ]}
            onChange={(next) => onChange(name, next)}
          />
        ))}
      </Grid>
    </Fieldset>
  )
}
