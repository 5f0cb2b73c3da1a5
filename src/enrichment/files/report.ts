import type { ProviderKind } from '../providers/provider.ts'
import { ageOf, isTooOld } from './age.ts'
import type { DataFile, FileState } from './folder.ts'
import { hasSource, newerSourceOf } from './renewal.ts'

/** What `ipid db list` and `ipid db check` say of a file. */
export interface ProviderReport {
  /** The provider's name. */
  readonly name: string
  readonly path: string
  readonly state: FileState
  /** Why it was refused, ignored or replaced, or what it waits for. */
  readonly reason: string | undefined
  /** Of the data that serves; undefined when none does. */
  readonly kind: ProviderKind | undefined
  /** In words, what it was recognised as. */
  readonly recognisedAs: string | undefined
  /** The build date that the file states. */
  readonly builtAt: Date | undefined
  /** Networks with a record. */
  readonly records: number
  /** Size on disk. */
  readonly sizeBytes: number
  /** Whether a source in `sources.json` brings newer data. */
  readonly hasSource: boolean
  /** Things in it that were passed over, in words. */
  readonly warnings: readonly string[]
  /** For an MMDB that nobody knows: its type, and the members of its records that a mapping can name. */
  readonly unrecognised: { readonly databaseType: string; readonly keys: readonly string[] } | undefined
}

/** @param sources providers that `sources.json` keeps up to date */
export function reportOf(file: DataFile, sources: ReadonlySet<string> = new Set()): ProviderReport {
  const { provider } = file
  return {
    name: file.name,
    path: file.path,
    state: file.state,
    reason: file.reason,
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

/** Those of which nothing serves, though they may be data. */
export function leftOut(reports: readonly ProviderReport[]): readonly ProviderReport[] {
  return reports.filter(({ state }) => state === 'failed' || state === 'waiting')
}

/** As the status of the system shows them. */
export interface DataSet {
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
