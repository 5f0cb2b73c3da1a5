import type { ListedExport } from '../../../../../schemas/dashboard/exports.ts'

export const FORMAT_WORDS = { csv: 'CSV, for spreadsheets', ndjson: 'JSON lines, for programs' } as const

/** "every Monday at 06:00 UTC" */
export function scheduleWords({ every, at }: Pick<ListedExport, 'every' | 'at'>): string {
  return `${every === 'day' ? 'every day' : 'every Monday'} at ${at} UTC`
}

/** The name of a file without its folder. */
export function fileName(object: string): string {
  return object.slice(object.lastIndexOf('/') + 1)
}
