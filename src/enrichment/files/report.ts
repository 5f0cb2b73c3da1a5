import type { Provider, ProviderKind } from '../providers/provider.ts'
import { TABLE_COLUMNS } from '../providers/tables/organisation-row.ts'
import type { DataFile, FileState } from './folder.ts'
import { ageOf, hasSource, isTooOld, newerSourceOf } from './renewal.ts'

/** A file in the output of `ipid db list` and `ipid db check`. */
export interface ProviderReport {
  /** The provider's name. */
  readonly name: string
  readonly path: string
  readonly state: FileState
  /** Explains any state but `ok`, or why the data in use add nothing. */
  readonly reason: string | undefined
  /** Kind of the data in use, if any. */
  readonly kind: ProviderKind | undefined
  /** Name of the recognised format. */
  readonly recognisedAs: string | undefined
  /** The build date that the file states. */
  readonly builtAt: Date | undefined
  /** Number of networks with a record. */
  readonly records: number
  /** Size on disk. */
  readonly sizeBytes: number
  /** Whether a source in `sources.json` brings newer data. */
  readonly hasSource: boolean
  /** Messages about skipped parts of the file. */
  readonly warnings: readonly string[]
  /** Set for an unrecognised MMDB: its type, and the members of its records for a mapping. */
  readonly unrecognised: { readonly databaseType: string; readonly keys: readonly string[] } | undefined
}

/** @param sources names of providers with a source in `sources.json` */
export function reportOf(file: DataFile, sources: ReadonlySet<string> = new Set()): ProviderReport {
  const { provider } = file
  return {
    name: file.name,
    path: file.path,
    state: file.state,
    reason: file.reason ?? (provider && blankReason(provider)),
    kind: provider?.kind,
    recognisedAs: provider?.recognisedAs,
    builtAt: provider?.builtAt,
    records: provider?.records ?? 0,
    sizeBytes: file.sizeBytes,
    hasSource: hasSource(file.name, sources),
    warnings: provider?.warnings ?? [],
    unrecognised: file.unrecognised,
  }
}

/** Why data that are in use add nothing, and what to do; undefined when they add something. */
function blankReason({ kind, records, isBlank }: Provider): string | undefined {
  if (records === 0) return 'it adds nothing: it has no records; fetch it again, or remove it'
  if (isBlank !== true) return undefined
  const advice =
    kind === 'table'
      ? `name its columns ${TABLE_COLUMNS.slice(1).join(', ')}`
      : 'map its members in a .mmdb.json beside it'
  return `it adds nothing: no record has a value that ipid reads; ${advice}, or remove it`
}

/** Files without data in use, though they may hold some. */
export function leftOut(reports: readonly ProviderReport[]): readonly ProviderReport[] {
  return reports.filter(({ state }) => state === 'failed' || state === 'waiting')
}

/** A data set in the system status. */
interface DataSet {
  readonly name: string
  readonly state: FileState
  readonly reason: string | null
  readonly recognised_as: string | null
  readonly records: number
  readonly built_at: string | null
  readonly age_days: number | null
  readonly too_old: boolean
  readonly newer: string | null
}

export function dataSetsOf(reports: readonly ProviderReport[], nowMs: number): DataSet[] {
  return reports.map((report) => {
    const { name, state, reason, recognisedAs, records, builtAt } = report
    const isOld = isTooOld(report, nowMs)
    return {
      ...{
        name,
        state,
        reason: reason ?? null,
        recognised_as: recognisedAs ?? null,
        records,
        built_at: builtAt?.toISOString() ?? null,
      },
      age_days: ageOf(report, nowMs) ?? null,
      too_old: isOld && report.hasSource,
      newer: isOld && !report.hasSource ? (newerSourceOf(name) ?? null) : null,
    }
  })
}
