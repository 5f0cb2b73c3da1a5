import { openObjectStore } from '../../archive/destination.ts'
import type { ArchiveList } from '../../backup/ports.ts'
import { archivePlaceOf, type Config } from '../../config/config.ts'

/** The objects of an instance's archive. To be closed. */
export function openArchiveList(config: Config): ArchiveList & { close(): Promise<void> } {
  const store = openObjectStore(archivePlaceOf(config))
  return {
    place: store.place,
    list: () => store.list(''),
    close: () => store.close(),
  }
}
