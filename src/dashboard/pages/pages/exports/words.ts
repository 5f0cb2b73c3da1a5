import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { queryText } from '../../lib/api.ts'
import { TEXTS } from '../../texts/texts.ts'

const texts = TEXTS.exports.words

export const FORMAT_WORDS = { csv: texts.formats.csv, ndjson: texts.formats.ndjson } as const

/** "every Monday at 06:00 UTC" */
export function scheduleWords({ every, at }: Pick<ListedExport, 'every' | 'at'>): string {
  return (every === 'day' ? texts.everyDay : texts.everyMonday)(at)
}

/** The name of a file without its folder. */
export function fileName(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1)
}

/** The URL that saves a file of an export. */
export function filePath(tenant: string, exportId: string, object: string): string {
  return `/api/tenants/${tenant}/exports/file${queryText({ export_id: exportId, file: fileName(object) })}`
}
