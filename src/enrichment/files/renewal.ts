import type { Provider } from '../providers/provider.ts'
import { providerNameOf } from './data-file.ts'
import { DEFAULT_SETS } from './defaults/sets.ts'
import { KNOWN_SOURCES } from './update/known-sources.ts'

/** A data set with at least this share of another one's networks counts as equally complete. */
const WHOLE_SHARE = 0.5

/**
 * The provider that replaces a default set: newer, equally complete, and of the same kind. If both were used, the old one
 * would judge addresses that the newer one no longer has.
 */
export function replacementOf(provider: Provider, all: readonly Provider[]): Provider | undefined {
  if (provider.isDefault !== true || provider.builtAt === undefined) return undefined
  const { builtAt, kind, records } = provider
  return all.find(
    (other) =>
      other.isDefault !== true &&
      other.kind === kind &&
      other.builtAt !== undefined &&
      other.builtAt > builtAt &&
      other.records >= records * WHOLE_SHARE,
  )
}

/** Whether a source brings newer data than a set. @param sources provider names of the sources */
export function hasSource(name: string, sources: ReadonlySet<string>): boolean {
  if (sources.has(name)) return true
  const set = DEFAULT_SETS.find((candidate) => candidate.name === name)
  return KNOWN_SOURCES.some(({ kind, file }) => kind === set?.kind && sources.has(providerNameOf(file)!))
}

/** Name of the known source with newer data than a set, if any. */
export function newerSourceOf(name: string): string | undefined {
  const set = DEFAULT_SETS.find((candidate) => candidate.name === name)
  return set?.newer ?? KNOWN_SOURCES.find(({ file }) => providerNameOf(file) === name)?.name
}

const DAY_MS = 86_400_000
/** Vendors publish at least once a month. */
const AGE_MAX_DAYS = 90

type Dated = Pick<Provider, 'builtAt'>

/** Whole days since the data were built; undefined when they have no build date. */
export function ageOf({ builtAt }: Dated, nowMs: number): number | undefined {
  return builtAt === undefined ? undefined : Math.max(0, Math.floor((nowMs - builtAt.getTime()) / DAY_MS))
}

/** Whether the data are older than 90 days. */
export function isTooOld(provider: Dated, nowMs: number): boolean {
  return (ageOf(provider, nowMs) ?? 0) > AGE_MAX_DAYS
}
