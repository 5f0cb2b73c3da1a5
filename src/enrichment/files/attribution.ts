import { providerNameOf } from './data-file.ts'
import { DEFAULT_SETS } from './defaults/sets.ts'
import { KNOWN_SOURCES } from './update/known-sources.ts'

/** The attribution that the licence of a provider's data requires wherever results are shown; undefined when unknown. */
export function attributionOf(provider: string): string | undefined {
  const known =
    DEFAULT_SETS.find(({ name }) => name === provider) ??
    KNOWN_SOURCES.find(({ file }) => providerNameOf(file) === provider)
  return known?.attribution === undefined ? undefined : `${known.attribution}; ${known.licence}`
}
