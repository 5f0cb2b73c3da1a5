import type { ExportMailListed, ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { sentence } from '../../design/notice.tsx'
import { queryText } from '../../lib/api.ts'
import { withZone } from '../../lib/days.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.exports.words

export const FORMAT_WORDS = { csv: texts.formats.csv, ndjson: texts.formats.ndjson } as const

/** "every Monday at 06:00", with the zone where it is not that of the reader */
export function scheduleWords({ every, at }: Pick<ListedExport, 'every' | 'at'>): string {
  return (every === 'day' ? texts.everyDay : texts.everyMonday)(withZone(at))
}

/** The name of a file without its folder. */
export function fileName(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1)
}

/** The URL that saves a file of an export. */
export function filePath(tenant: string, exportId: string, object: string): string {
  return `/api/tenants/${tenant}/exports/file${queryText({ export_id: exportId, file: fileName(object) })}`
}

/** Whether a mail with a file was not taken, or none is sent any more. */
export function hasFailed({ paused, unconfirmed, last_attempt: last }: ExportMailListed): boolean {
  return unconfirmed === null && (paused !== null || (last !== null && last.error !== null))
}

/** What becomes of mails with files, in a sentence or two. */
export function mailWords({ address, paused, unconfirmed, waiting, last_attempt: last }: ExportMailListed): string {
  if (unconfirmed !== null) return texts.mail.unconfirmed(address)
  if (paused !== null) return texts.mail.paused(address, sentence(paused.reason))
  if (last !== null && last.error !== null) return texts.mail.failed(address, sentence(last.error))
  return waiting > 0 ? texts.mail.onItsWay(address) : last === null ? texts.mail.none : texts.mail.sent
}
