import type { Provider } from '../providers/provider.ts'
import { providerNameOf } from './data-file.ts'
import { DEFAULT_SETS } from './defaults/sets.ts'
import { KNOWN_SOURCES } from './update/known-sources.ts'

/** A set that has at least this part of another one's networks covers what that one does. */
const WHOLE_SHARE = 0.5

/**
 * The provider that takes the place of a default set: of the same kind, newer, and as complete. Both would serve side by side
 * otherwise, and addresses that the newer one no longer knows would be judged by the old one.
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

/** Whether one of the sources, named as their providers, brings newer data than a set. */
export function hasSource(name: string, sources: ReadonlySet<string>): boolean {
  if (sources.has(name)) return true
  const set = DEFAULT_SETS.find((candidate) => candidate.name === name)
  return KNOWN_SOURCES.some(({ kind, file }) => kind === set?.kind && sources.has(providerNameOf(file)!))
}

/** Name of the known source that has newer data than a set; undefined: none is known. */
export function newerSourceOf(name: string): string | undefined {
  const set = DEFAULT_SETS.find((candidate) => candidate.name === name)
  return set?.newer ?? KNOWN_SOURCES.find(({ file }) => providerNameOf(file) === name)?.name
}
