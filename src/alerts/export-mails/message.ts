import type { ExportFormat } from '../../../schemas/limits.ts'
import type { ExportedFile } from '../../exports/redis/export-store.ts'
import { numbered } from '../../run/counted.ts'
import { FILE_TYPE } from '../delivery.ts'
import { type MessageContext, type MessageText, oneLine } from '../messages.ts'
import type { ExportMail } from '../redis/alert-store.ts'

/** A file of an export for a subscriber. */
export interface FileMessage {
  readonly type: typeof FILE_TYPE
  /** RFC 3339, UTC: when it was written. */
  readonly timestamp: string
  readonly data: {
    readonly tenant_id: string
    readonly alert: { readonly id: string; readonly name: string }
    readonly export: { readonly export_id: string; readonly name: string }
    readonly file: { readonly key: string; readonly rows: number; readonly bytes: number }
    /** The page of exports. */
    readonly url: string
    /** The link that ends the subscription, without its key. */
    readonly unsubscribe_url: string
  }
}

/** Mail servers refuse larger mails. */
const MAIL_BYTES_MAX = 10_000_000
/** Most bytes of a file in a mail: base64 makes four of three, and lines of 76 with two for their end. */
export const ATTACHED_BYTES_MAX = Math.floor((MAIL_BYTES_MAX * 3 * 76) / (4 * 78))

export function fileMessage(
  { id, tenantId, name, export: of }: ExportMail,
  { key, rows, bytes, atMs }: ExportedFile,
  { dashboardUrl }: Pick<MessageContext, 'dashboardUrl'>,
): FileMessage {
  const link = new URLSearchParams({ tenant: tenantId, digest: id })
  return {
    type: FILE_TYPE,
    timestamp: new Date(atMs).toISOString(),
    data: {
      ...{ tenant_id: tenantId, alert: { id, name }, export: { export_id: of.id, name: of.name } },
      ...{ file: { key, rows, bytes }, url: `${dashboardUrl}/t/${tenantId}/exports` },
      unsubscribe_url: `${dashboardUrl}/unsubscribe?${link}`,
    },
  }
}

/** Name and type of a file in a mail. @param key `exports/TENANT/NAME/2026-11-30T06-00Z.csv` */
export function attachmentOf(key: string): { readonly filename: string; readonly contentType: string } {
  const [name = '', file = ''] = key.split('/').slice(-2)
  const format = file.slice(file.lastIndexOf('.') + 1) as ExportFormat
  const contentType = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
  return { filename: `${name}-${file}`, contentType }
}

/**
 * @param place where the file is: with the mail, on the page because it is too large, or not kept any more
 * @param unsubscribeUrl ends the subscription
 */
export function fileMail(
  { data }: FileMessage,
  place: 'attached' | 'large' | 'gone',
  unsubscribeUrl: string,
): MessageText {
  const { tenant_id: tenantId, file, url } = data
  const name = oneLine(data.export.name)
  const { filename } = attachmentOf(file.key)
  const where = {
    attached: [`${filename} is attached.`],
    large: [`${filename} has ${Math.ceil(file.bytes / 1_000_000)} MB, too many for a mail. Save it on this page:`, url],
    gone: [`${filename} is not kept any more. Other files are on this page:`, url],
  }[place]
  return {
    subject: oneLine(`${tenantId}: ${name} with ${numbered(file.rows, 'company', 'companies')}`),
    lines: [
      `The export ${name} of ${tenantId} has a new file with ${numbered(file.rows, 'company', 'companies')}.`,
      ...['', ...where, ''],
      ...(place === 'attached' ? [`All files: ${url}`] : []),
      `Unsubscribe: ${unsubscribeUrl}`,
    ],
  }
}
