import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'
import { queryText } from '../../lib/api.ts'
import { withZone } from '../../lib/days.ts'

export const FORMAT_WORDS = { csv: 'CSV, for spreadsheets', ndjson: 'JSON lines, for programs' } as const

/** "every Monday at 06:00", with the zone where it is not that of the reader */
export function scheduleWords({ every, at }: Pick<ListedExport, 'every' | 'at'>): string {
  return `${every === 'day' ? 'every day' : 'every Monday'} at ${withZone(at)}`
}

/** The name of a file without its folder. */
export function fileName(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1)
}

/** The URL that saves a file of an export. */
export function filePath(tenant: string, exportId: string, object: string): string {
  return `/api/tenants/${tenant}/exports/file${queryText({ export_id: exportId, file: fileName(object) })}`
}
