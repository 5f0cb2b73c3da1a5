import { providerNameOf } from './data-file.ts'
import { DEFAULT_SETS } from './defaults/sets.ts'
import { KNOWN_SOURCES } from './update/known-sources.ts'

/** What the licence of a provider's data wants to be said wherever results are shown; undefined: nothing is known of it. */
export function attributionOf(provider: string): string | undefined {
  const known =
    DEFAULT_SETS.find(({ name }) => name === provider) ??
    KNOWN_SOURCES.find(({ file }) => providerNameOf(file) === provider)
  return known?.attribution === undefined ? undefined : `${known.attribution}; ${known.licence}`
}
