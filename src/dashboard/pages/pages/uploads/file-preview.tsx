import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { PreviewRow, UploadChoice, UploadLimits, UploadPreview } from '../../../../../schemas/dashboard/uploads.ts'
import { ClassName, CompanyName, Soft, StatusBadge } from '../../components/judgement.tsx'
import { Badge } from '../../design/badge.tsx'
import { Button } from '../../design/button.tsx'
import { Fieldset, Select } from '../../design/field.tsx'
import { Grid, Row, Stack, Text } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { Table } from '../../design/table.tsx'
import { ApiError, postBytes } from '../../lib/api.ts'
import { bytes, number } from '../../lib/format.ts'
import { whyOf } from '../../lib/live-tail.ts'
import { bodyOf, startTransfer } from '../../lib/transfers.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.uploads.preview

interface FilePreviewProps {
  readonly tenant: string
  readonly file: File
  readonly limits: UploadLimits
  readonly onClose: () => void
}

type Choice = Pick<UploadChoice, 'encoding' | 'date_order' | 'map'>

const ENCODINGS = ['windows-1252', 'iso-8859-2', 'windows-1251', 'utf-16le', 'shift_jis', 'gb18030']

/** Preview of a file, options to read it, and the button to send it. */
export function FilePreview({ tenant, file, limits, onClose }: FilePreviewProps) {
  const [choice, setChoice] = useState<Choice>({})
  const { preview, error, isLoading } = usePreview(tenant, file, choice, limits)
  const heading = useRef<HTMLHeadingElement>(null)
  useLayoutEffect(() => heading.current?.focus(), [])
  const named = preview === undefined ? choice : { ...choice, map: mapOf(preview) }
  const send = () => {
    startTransfer(tenant, file, { name: file.name, ...named })
    onClose()
  }
  const isReady = preview !== undefined && preview.problem === null && error === undefined && !isLoading
  const warning = preview && sizeWarning(file, preview, limits)
  return (
    <Card isAccent>
      <h2 tabIndex={-1} ref={heading}>
        {file.name}
      </h2>
      <Text tone="soft">{preview === undefined ? bytes(file.size) : describe(file, preview)}</Text>
      <Grid>
        <Select
          label={texts.encoding}
          value={choice.encoding ?? ''}
          options={[{ value: '', label: texts.utf8 }, ...ENCODINGS.map((name) => ({ value: name, label: name }))]}
          onChange={(encoding) => setChoice({ date_order: choice.date_order, encoding: encoding || undefined })}
        />
        <Select
          label={texts.dates}
          value={choice.date_order ?? ''}
          options={[
            { value: '', label: texts.ambiguous },
            { value: 'dmy', label: texts.dayFirst },
            { value: 'mdy', label: texts.monthFirst },
          ]}
          onChange={(order) => setChoice({ ...named, date_order: (order || undefined) as Choice['date_order'] })}
        />
      </Grid>
      {error && <Problem error={error} />}
      {preview === undefined && error === undefined && <Loading label={texts.reading} />}
      {preview && <Mapping preview={preview} onChange={(map) => setChoice({ ...choice, map })} />}
      {preview?.problem && (
        <Notice tone="bad" role="alert">
          <p>{preview.problem}</p>
        </Notice>
      )}
      {warning && (
        <Notice tone="warn">
          <p>{warning}</p>
        </Notice>
      )}
      <Row>
        <Button variant="primary" onClick={send} disabled={!isReady || isTooLarge(file, preview.gzip, limits)}>
          {texts.upload(bytes(file.size))}
        </Button>
        <Button onClick={onClose}>{texts.another}</Button>
      </Row>
      {preview && <PreviewRows rows={preview.rows} />}
    </Card>
  )
}

/** Reads the preview of a file's start. Keeps the last answer while the next one loads. */
function usePreview(tenant: string, file: File, choice: Choice, limits: UploadLimits) {
  const [state, setState] = useState<{ preview?: UploadPreview; error?: ApiError; isLoading: boolean }>({
    isLoading: true,
  })
  useEffect(() => {
    const leaving = new AbortController()
    setState((last) => ({ ...last, isLoading: true }))
    const whole = file.size <= limits.preview_bytes
    const full = { ...choice, name: file.name, whole, guess: choice.map === undefined }
    const head = bodyOf(full, file.slice(0, limits.preview_bytes))
    postBytes<UploadPreview>(`/api/tenants/${encodeURIComponent(tenant)}/upload-preview`, head, leaving.signal).then(
      (preview) => setState({ preview, isLoading: false }),
      (error: unknown) => {
        if (leaving.signal.aborted) return
        const known = error instanceof ApiError ? error : new ApiError(0, String(error))
        setState({ error: known, isLoading: false })
      },
    )
    return () => leaving.abort()
  }, [tenant, file, choice])
  return state
}

const DELIMITERS: Readonly<Record<string, string>> = {
  ',': texts.delimiters.commas,
  ';': texts.delimiters.semicolons,
  '\t': texts.delimiters.tabs,
  '|': texts.delimiters.bars,
}

function describe(file: File, { format, gzip, delimiter, sample }: UploadPreview): string {
  const kind = format === 'ndjson' ? texts.ndjson : texts.csvWith(DELIMITERS[delimiter!] ?? JSON.stringify(delimiter))
  const isAll = sample.bytes >= file.size
  const count = isAll ? sample.lines : estimate(file, sample, sample.lines)
  const lines = (isAll ? texts.lines : texts.aboutLines)(count)
  return [gzip ? texts.gzip(kind) : kind, bytes(file.size), ...(sample.lines > 0 ? [lines] : [])].join(' · ')
}

/** Estimate for the whole file from its start, to two digits. */
function estimate(file: File, sample: UploadPreview['sample'], of: number): number {
  const all = sample.bytes === 0 ? 0 : (of / sample.bytes) * file.size
  return Number(all.toPrecision(2))
}

/** A warning when the file is probably too large. */
function sizeWarning(file: File, { sample, gzip }: UploadPreview, limits: UploadLimits): string | undefined {
  const { bytes_max, event_bytes_max, lines_max } = limits
  if (isTooLarge(file, gzip, limits)) {
    return texts.tooLarge(bytes(file.size), bytes(bytes_max), Math.ceil(file.size / bytes_max))
  }
  const plain = gzip ? estimate(file, sample, sample.plain_bytes) : file.size
  if (plain > bytes_max) {
    return texts.tooLargePlain(bytes(plain), bytes(bytes_max), Math.ceil(plain / bytes_max))
  }
  const size = estimate(file, sample, sample.event_bytes)
  if (size > event_bytes_max) {
    return texts.tooLargeAsNdjson(bytes(size), bytes(event_bytes_max), Math.ceil(size / event_bytes_max))
  }
  const lines = estimate(file, sample, sample.lines)
  if (lines <= lines_max) return undefined
  return texts.tooManyLines(lines, lines_max, Math.ceil(lines / lines_max))
}

/** Whether this is certain. */
function isTooLarge(file: File, gzip: boolean, { bytes_max: max }: UploadLimits): boolean {
  return !gzip && file.size > max
}

type Map = Readonly<Record<string, string>>

/** The mapping to send. For NDJSON only changes, so that all other fields stay exactly as they are. */
function mapOf({ format, columns }: UploadPreview): Map {
  const sent = columns.filter(({ name, key }) => format === 'csv' || name !== key)
  return Object.fromEntries(sent.map(({ name, key }) => [name, key]))
}

const LABELS: Readonly<Record<string, string>> = texts.fields

interface MappingProps {
  readonly preview: UploadPreview
  readonly onChange: (map: Map) => void
}

/** Chooses the field of each column. */
function Mapping({ preview, onChange }: MappingProps) {
  const { columns, keys, format } = preview
  const change = (name: string, key: string) => {
    const next = columns.map((column) => {
      if (column.name === name) return { ...column, key }
      // Only one column may have a field: the other one gets its own name back, if it has one.
      const isTaken = column.key === key && keys.includes(key)
      return isTaken ? { ...column, key: keys.includes(column.name) ? '' : column.name } : column
    })
    onChange(mapOf({ ...preview, columns: next }))
  }
  if (columns.length === 0) return null
  return (
    <Fieldset legend={format === 'csv' ? texts.columns : texts.keys}>
      <Grid gap={3} min={230}>
        {columns.map(({ name, key, example }, i) => (
          <Select
            key={`${i} ${name}`}
            label={name}
            hint={
              <Text as="span" isCut>
                <code>{example === '' ? texts.empty : example}</code>
              </Text>
            }
            value={key}
            options={[
              ...(keys.includes(name) ? [] : [{ value: name, label: texts.keepAs(name) }]),
              ...(keys.includes(key) || key === name || key === '' ? [] : [{ value: key, label: texts.keepAs(key) }]),
              ...keys.map((known) => ({ value: known, label: LABELS[known] ?? known })),
              { value: '', label: texts.leaveOut },
            ]}
            onChange={(next) => change(name, next)}
          />
        ))}
      </Grid>
    </Fieldset>
  )
}

/** The first rows with their results. */
function PreviewRows({ rows }: { readonly rows: readonly PreviewRow[] }) {
  if (rows.length === 0) return null
  return (
    <Stack gap={3}>
      <Text role="status">{summaryOf(rows)}</Text>
      <Table
        label={texts.rows}
        rows={rows}
        keyOf={({ line }) => String(line)}
        columns={[
          { key: 'line', label: texts.line, isNumber: true, width: 56, render: ({ line }) => number(line) },
          { key: 'becomes', label: texts.becomes, inCard: 'plain', render: (row) => <Becomes row={row} /> },
          {
            key: 'company',
            label: TEXTS.words.fields.company,
            text: 'wrap',
            inCard: 'plain',
            render: ({ becomes }) => becomes !== null && <CompanyName {...becomes} />,
          },
          {
            key: 'class',
            label: TEXTS.words.fields.type,
            inCard: 'plain',
            render: ({ becomes }) => becomes !== null && <ClassName {...becomes} />,
          },
          { key: 'why', label: texts.why, text: 'wrap', inCard: 'whole', render: (row) => <Why row={row} /> },
          {
            key: 'event',
            label: texts.event,
            text: 'wrap',
            inCard: 'whole',
            render: ({ event }) => event !== null && <code>{event}</code>,
          },
        ]}
      />
      <Text tone="soft" isSmall>
        {texts.byTodaysData}
      </Text>
    </Stack>
  )
}

function Becomes({ row: { becomes, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  if (becomes === null) return <Badge tone="bad">{texts.nothing}</Badge>
  return repeatOf === null ? <StatusBadge status={becomes.status} /> : <Badge tone="warn">{texts.repeat}</Badge>
}

function Why({ row: { becomes, problem, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  if (becomes === null) return <Text tone="bad">{problem}</Text>
  return <Soft>{repeatOf === null ? whyOf(becomes) : texts.repeats(number(repeatOf))}</Soft>
}

/** "Of the first 20 rows, 12 would be stored, 7 filtered, and 1 has a problem." */
function summaryOf(rows: readonly PreviewRow[]): string {
  const count = (holds: (row: PreviewRow) => boolean) => rows.filter(holds).length
  const stored = count(({ becomes, repeat_of }) => becomes?.status === 'ok' && repeat_of === null)
  if (stored === rows.length) return texts.allStored(rows.length)
  const others = [
    [count(({ becomes }) => becomes?.status === 'filtered'), texts.filtered],
    [count(({ repeat_of }) => repeat_of !== null), texts.asRepeats],
    [count(({ becomes }) => becomes === null), texts.problems],
  ] as const
  const parts = others.filter(([rows]) => rows > 0).map(([rows, textOf]) => textOf(rows))
  return texts.ofFirst(rows.length, [texts.stored(stored), ...parts])
}
