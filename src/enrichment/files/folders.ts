import type { Provider } from '../providers/provider.ts'
import { byTrust } from '../providers/provider.ts'
import type { DataFile, DataFolder } from './folder.ts'
import { replacementOf } from './renewal.ts'

/**
 * In order of trust. Of two with one name, the one of the earlier folder counts; a default set is left out when newer data take
 * its place.
 */
export function providersOf(folders: readonly DataFolder[]): readonly Provider[] {
  const all = namedProviders(folders)
  return all.filter((provider) => replacementOf(provider, all) === undefined)
}

/** The files of the folders as they serve: a default set that newer data replace does not serve, and says so. */
export function filesOf(folders: readonly DataFolder[]): readonly DataFile[] {
  const all = namedProviders(folders)
  return folders
    .flatMap((folder) => folder.files)
    .map((file) => {
      const newer = file.provider === undefined ? undefined : replacementOf(file.provider, all)
      if (newer === undefined) return file
      return { ...file, state: 'replaced', reason: `${newer.name} is newer and takes its place`, provider: undefined }
    })
}

function namedProviders(folders: readonly DataFolder[]): readonly Provider[] {
  const byName = new Map<string, Provider>()
  for (const provider of folders.flatMap((folder) => folder.providers)) {
    if (!byName.has(provider.name)) byName.set(provider.name, provider)
  }
  return [...byName.values()].sort(byTrust)
}
