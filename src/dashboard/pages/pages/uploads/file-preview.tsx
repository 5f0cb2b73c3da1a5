import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { UploadChoice, UploadLimits, UploadPreview } from '../../../../../schemas/dashboard/uploads.ts'
import { Button } from '../../design/button.tsx'
import { Select } from '../../design/field.tsx'
import { Grid, Row, Text } from '../../design/layout.tsx'
import { Notice, Problem } from '../../design/notice.tsx'
import { Card } from '../../design/page.tsx'
import { Loading } from '../../design/skeleton.tsx'
import { ApiError, postBytes } from '../../lib/api.ts'
import { bytes, counted, number } from '../../lib/format.ts'
import { bodyOf, startTransfer } from '../../lib/transfers.ts'
import { Mapping, mapOf } from './mapping.tsx'
import { PreviewRows } from './preview-rows.tsx'

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
