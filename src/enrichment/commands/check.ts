import { basename } from 'node:path'
import type { CliContext } from '../../terminal/context.ts'
import { printJson, printLine, printTable } from '../../terminal/print.ts'
import { readFolder } from '../files/read-folder.ts'
import { type ProviderReport, reportOf } from '../files/report.ts'
import { MAPPABLE } from '../providers/mmdb/mapping.ts'
import { day } from './output.ts'

/**
 * `ipid db check`: prints the format of each file. A file that is not recognised is not broken; it gets a hint.
 * @returns the exit code: 1 when a file is broken
 */
export async function checkFolder(dir: string | undefined, json: boolean, { stdout }: CliContext): Promise<number> {
  const folder = await readFolder(dir)
  const reports = folder.files.map((file) => reportOf(file))
  const isBroken = reports.some((report) => stateOf(report) === 'broken')
  if (json) {
    printJson(stdout, { ok: !isBroken, files: reports.map(fileJson) })
    return isBroken ? 1 : 0
  }
  printTable(
    stdout,
    ['FILE', 'STATE', 'RECOGNISED AS', 'BUILT', 'BYTES', 'RECORDS'],
    reports.map((report) => [
      basename(report.path),
      stateOf(report),
      report.recognisedAs,
      day(report.builtAt),
      report.sizeBytes,
      report.records,
    ]),
  )
  for (const lines of reports.flatMap(problemsOf)) for (const line of ['', ...lines]) printLine(stdout, line)
  return isBroken ? 1 : 0
}

type CheckedState = 'ok' | 'broken' | 'unknown' | 'ignored'

function stateOf({ state, unrecognised }: ProviderReport): CheckedState {
  if (state === 'ok' || state === 'ignored') return state
  return unrecognised === undefined ? 'broken' : 'unknown'
}

function fileJson(report: ProviderReport): object {
  const { name, path, recognisedAs, kind, builtAt, sizeBytes, records, warnings, unrecognised } = report
  return {
    file: basename(path),
    name,
    state: stateOf(report),
    reason: report.reason ?? null,
    kind: kind ?? null,
    recognised_as: recognisedAs ?? null,
    built_at: builtAt?.toISOString() ?? null,
    size_bytes: sizeBytes,
    records,
    warnings,
    ...(unrecognised === undefined
      ? {}
      : { database_type: unrecognised.databaseType, keys: unrecognised.keys, hint: hintFor(report) }),
  }
}

/** Each problem has one or more lines. */
function problemsOf(report: ProviderReport): string[][] {
  const file = basename(report.path)
  const problems = report.warnings.map((warning) => [`${file}: ${warning}`])
  if (report.unrecognised === undefined) {
    if (report.reason !== undefined) problems.push([`${file}: ${report.reason}`])
    return problems
  }
  const { databaseType, keys } = report.unrecognised
  problems.push([
    `${file}: unknown database_type "${databaseType}"`,
    `  keys of its records: ${keys.join(', ')}`,
    `  ${hintFor(report)}`,
  ])
  return problems
}

function hintFor({ path, unrecognised }: ProviderReport): string {
  const example = JSON.stringify({ business_name: unrecognised?.keys[0] ?? 'path.to.member' })
  return `map them in ${basename(path)}.json beside it, such as ${example}; names: ${MAPPABLE.join(', ')}`
}
