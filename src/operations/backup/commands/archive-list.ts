import { archiveLocationOf, type Config } from '../../../config/config.ts'
import { openObjectStore } from '../../../pipeline/sinks/archive/destination.ts'
import type { ArchiveList } from '../ports.ts'

/** The objects of an instance's archive. To be closed. */
export function openArchiveList(config: Config): ArchiveList & { close(): Promise<void> } {
  const store = openObjectStore(archiveLocationOf(config))
  return {
    place: store.location,
    list: () => store.list(''),
    close: () => store.close(),
  }
}
