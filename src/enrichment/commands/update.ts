import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine } from '../../terminal/print.ts'
import type { Summary } from '../files/formats/format.ts'
import { readSources } from '../files/update/sources.ts'
import { type UpdateReport, updateSources } from '../files/update/update.ts'
import { day } from './output.ts'

interface UpdateRequest {
  readonly dir: string
  readonly due: boolean
  readonly json: boolean
}

/** `ipid db update`: fetches the sources of the folder and prints the outcome of each. @returns the exit code: 1 when one failed */
export async function updateFolder(request: UpdateRequest, { stdout, env }: CliContext): Promise<number> {
  const { dir, due, json } = request
  const sources = await readSources(dir)
  const reports: UpdateReport[] = []
  for await (const report of updateSources({ dir, sources, env, nowMs: Date.now(), dueOnly: due })) {
    reports.push(report)
    if (!json) printLine(stdout, lineOf(report))
  }
  if (json) printJson(stdout, reports.map(reportJson))
  return reports.some(({ status }) => status === 'failed') ? 1 : 0
}

function lineOf({ file, status, reason, now, before }: UpdateReport): string {
  if (reason !== undefined) return `${file}: failed: ${reason}`
  if (now === undefined) return `${file}: ${status === 'not_due' ? 'not due' : status}`
  const was = before === undefined ? '' : `; before: ${summaryLine(before)}`
  return `${file}: ${status}: ${now.recognisedAs}, ${summaryLine(now)}${was}`
}

function summaryLine({ records, builtAt }: Summary): string {
  const count = `${records} ${records === 1 ? 'record' : 'records'}`
  return builtAt === undefined ? count : `${count} of ${day(builtAt)}`
}

function reportJson({ file, url, status, reason, now, before }: UpdateReport): object {
  return {
    file,
    url,
    status,
    reason: reason ?? null,
    recognised_as: now?.recognisedAs ?? null,
    records: now?.records ?? null,
    records_before: before?.records ?? null,
    built_at: now?.builtAt?.toISOString() ?? null,
    built_at_before: before?.builtAt?.toISOString() ?? null,
  }
}
