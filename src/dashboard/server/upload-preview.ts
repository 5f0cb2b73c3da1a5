import type { PreviewRow, UploadPreview } from '../../../schemas/dashboard/uploads.ts'
import type { Address } from '../../pipeline/event/address.ts'
import type { Enrichment } from '../../pipeline/event/enrichment.ts'
import { judgementOf } from '../../pipeline/event/judgement.ts'
import { EVENT_KEYS } from '../../pipeline/sources/batch/files/conversion.ts'
import type { FilePreview } from '../../pipeline/sources/batch/files/preview.ts'
import { cutText } from '../../run/cut-text.ts'
import type { Tenant } from '../../tenants/tenancy.ts'

/**
 * Enriches addresses as the pipeline does for a tenant, in order. Uses no quota. Waits for reverse DNS as long as for events.
 */
export type Judge = (addresses: readonly Address[], tenant: Tenant) => Promise<readonly Enrichment[]>

const EVENT_MAX_CHARS = 2_000

/** @param judge for the tenant of the file */
export async function previewAnswer(
  preview: FilePreview,
  judge: (addresses: readonly Address[]) => Promise<readonly Enrichment[]>,
): Promise<UploadPreview> {
  const { columns, sample, delimiter, problem, format, gzip } = preview
  return {
    format,
    gzip,
    delimiter: delimiter ?? null,
    columns: columns.map(({ name, key, values }) => ({ name, key, example: values[0] ?? '' })),
    keys: [...EVENT_KEYS],
    rows: await judgedRows(preview, judge),
    problem: problem ?? null,
    sample: {
      ...{ bytes: sample.bytes, plain_bytes: sample.plainBytes },
      ...{ lines: sample.lines, event_bytes: sample.eventBytes },
    },
  }
}

async function judgedRows({ rows }: FilePreview, judge: Parameters<typeof previewAnswer>[1]): Promise<PreviewRow[]> {
  const good = rows.filter(({ address }) => address !== undefined)
  const enrichments = await judge(good.map(({ address }) => address!))
  const known = new Map(good.map(({ line }, i) => [line, enrichments[i]!]))
  /** First line of each event id. */
  const taken = new Map<string, number>()
  return rows.map(({ line, event, problem, eventId }) => {
    const enrichment = known.get(line)
    const isKept = enrichment !== undefined && !enrichment.noise
    const repeatOf = isKept && eventId !== undefined ? taken.get(eventId) : undefined
    if (isKept && eventId !== undefined && repeatOf === undefined) taken.set(eventId, line)
    return {
      line,
      event: shortened(event) ?? null,
      problem: problem ?? null,
      becomes: enrichment === undefined ? null : judgementOf(enrichment),
      repeat_of: repeatOf ?? null,
    }
  })
}

function shortened(text: string | undefined): string | undefined {
  return text !== undefined && text.length > EVENT_MAX_CHARS ? `${cutText(text, EVENT_MAX_CHARS)}…` : text
}
