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
import { bytes, counted, number } from '../../lib/format.ts'
import { whyOf } from '../../lib/live-tail.ts'
import { bodyOf, startTransfer } from '../../lib/transfers.ts'

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
          label="Encoding"
          value={choice.encoding ?? ''}
          options={[
            { value: '', label: 'UTF-8, or as marked' },
            ...ENCODINGS.map((name) => ({ value: name, label: name })),
          ]}
          onChange={(encoding) => setChoice({ date_order: choice.date_order, encoding: encoding || undefined })}
        />
        <Select
          label="Dates like 01/02/2026"
          value={choice.date_order ?? ''}
          options={[
            { value: '', label: 'skip: may be two days' },
            { value: 'dmy', label: 'day first' },
            { value: 'mdy', label: 'month first' },
          ]}
          onChange={(order) => setChoice({ ...named, date_order: (order || undefined) as Choice['date_order'] })}
        />
      </Grid>
      {error && <Problem error={error} />}
      {preview === undefined && error === undefined && <Loading label="Reading the first rows…" />}
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
          Upload {bytes(file.size)}
        </Button>
        <Button onClick={onClose}>Choose another file</Button>
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

const DELIMITERS: Readonly<Record<string, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs', '|': 'bars' }

function describe(file: File, { format, gzip, delimiter, sample }: UploadPreview): string {
  const kind = format === 'ndjson' ? 'NDJSON' : `CSV with ${DELIMITERS[delimiter!] ?? JSON.stringify(delimiter)}`
  const isAll = sample.bytes >= file.size
  const count = isAll ? sample.lines : estimate(file, sample, sample.lines)
  const lines = `${isAll ? '' : 'about '}${counted(count, 'line')}`
  return [`${kind}${gzip ? ', gzip' : ''}`, bytes(file.size), ...(sample.lines > 0 ? [lines] : [])].join(' · ')
}

/** Estimate for the whole file from its start, to two digits. */
function estimate(file: File, sample: UploadPreview['sample'], of: number): number {
  const all = sample.bytes === 0 ? 0 : (of / sample.bytes) * file.size
  return Number(all.toPrecision(2))
}

/** A warning when the file is probably too large. */
function sizeWarning(file: File, { sample, gzip }: UploadPreview, limits: UploadLimits): string | undefined {
  const { bytes_max, event_bytes_max, lines_max } = limits
  const split = (size: number, max: number) => `Split it into ${number(Math.ceil(size / max))} files or more`
  if (isTooLarge(file, gzip, limits)) {
    return `The file has ${bytes(file.size)}, more than ${bytes(bytes_max)}. ${split(file.size, bytes_max)}.`
  }
  const refused = 'or it is likely to be refused'
  const plain = gzip ? estimate(file, sample, sample.plain_bytes) : file.size
  if (plain > bytes_max) {
    return `Without gzip it has about ${bytes(plain)}, more than ${bytes(bytes_max)}. ${split(plain, bytes_max)}, ${refused}.`
  }
  const size = estimate(file, sample, sample.event_bytes)
  if (size > event_bytes_max) {
    const far = `It takes about ${bytes(size)} as NDJSON, where each row has the names of its columns, of at most ${bytes(event_bytes_max)}`
    return `${far}. Leave columns out, or ${split(size, event_bytes_max).toLowerCase()}, ${refused}.`
  }
  const lines = estimate(file, sample, sample.lines)
  if (lines <= lines_max) return undefined
  return `It has about ${number(lines)} lines, more than ${number(lines_max)}. ${split(lines, lines_max)}, ${refused}.`
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

const LABELS: Readonly<Record<string, string>> = {
  ip: 'IP address (ip)',
  event_id: 'Id that no other event has (event_id)',
  timestamp: 'Time (timestamp)',
  event_type: 'Kind of event (event_type)',
  account_id: 'Your account (account_id)',
  session_id: 'Session, a number (session_id)',
  platform: 'Platform (platform)',
  properties: 'JSON of the event (properties)',
  user_properties: 'JSON of the user (user_properties)',
}

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
    <Fieldset legend={format === 'csv' ? 'Columns of the file' : 'Keys of the file'}>
      <Grid gap={3} min={230}>
        {columns.map(({ name, key, example }, i) => (
          <Select
            key={`${i} ${name}`}
            label={name}
            hint={
              <Text as="span" isCut>
                <code>{example === '' ? '(empty)' : example}</code>
              </Text>
            }
            value={key}
            options={[
              ...(keys.includes(name) ? [] : [{ value: name, label: `Keep as “${name}”` }]),
              ...(keys.includes(key) || key === name || key === '' ? [] : [{ value: key, label: `Keep as “${key}”` }]),
              ...keys.map((known) => ({ value: known, label: LABELS[known] ?? known })),
              { value: '', label: 'Leave out' },
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
        label="The first rows, and their results"
        rows={rows}
        keyOf={({ line }) => String(line)}
        columns={[
          { key: 'line', label: 'Line', isNumber: true, width: 56, render: ({ line }) => number(line) },
          { key: 'becomes', label: 'Becomes', inCard: 'plain', render: (row) => <Becomes row={row} /> },
          {
            key: 'company',
            label: 'Company',
            text: 'wrap',
            inCard: 'plain',
            render: ({ becomes }) => becomes !== null && <CompanyName {...becomes} />,
          },
          {
            key: 'class',
            label: 'Type',
            inCard: 'plain',
            render: ({ becomes }) => becomes !== null && <ClassName {...becomes} />,
          },
          { key: 'why', label: 'Why', text: 'wrap', inCard: 'whole', render: (row) => <Why row={row} /> },
          {
            key: 'event',
            label: 'Event',
            text: 'wrap',
            inCard: 'whole',
            render: ({ event }) => event !== null && <code>{event}</code>,
          },
        ]}
      />
      <Text tone="soft" isSmall>
        By today's data and rules; earlier events are not compared. Nothing is stored or counted yet.
      </Text>
    </Stack>
  )
}

function Becomes({ row: { becomes, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  if (becomes === null) return <Badge tone="bad">nothing</Badge>
  return repeatOf === null ? <StatusBadge status={becomes.status} /> : <Badge tone="warn">repeat</Badge>
}

function Why({ row: { becomes, problem, repeat_of: repeatOf } }: { readonly row: PreviewRow }) {
  if (becomes === null) return <Text tone="bad">{problem}</Text>
  return (
    <Soft>
      {repeatOf === null ? whyOf(becomes) : `its event_id is that of line ${number(repeatOf)}: it counts once`}
    </Soft>
  )
}

/** "Of the first 20 rows, 12 would be stored, 7 filtered, and 1 has a problem." */
function summaryOf(rows: readonly PreviewRow[]): string {
  const count = (holds: (row: PreviewRow) => boolean) => rows.filter(holds).length
  const stored = count(({ becomes, repeat_of }) => becomes?.status === 'ok' && repeat_of === null)
  const first = rows.length === 1 ? 'first row' : `first ${number(rows.length)} rows`
  if (stored === rows.length) return `The ${first} would be stored.`
  const wrong = count(({ becomes }) => becomes === null)
  const others = [
    [count(({ becomes }) => becomes?.status === 'filtered'), 'filtered'],
    [count(({ repeat_of }) => repeat_of !== null), 'counted as repeats'],
    [wrong, wrong === 1 ? 'has a problem' : 'have a problem'],
  ] as const
  const parts = others.filter(([rows]) => rows > 0).map(([rows, what]) => `${number(rows)} ${what}`)
  return `Of the ${first}, ${[`${number(stored)} would be stored`, ...parts].join(', ')}.`
}
