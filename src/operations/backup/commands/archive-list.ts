import { archiveLocationOf, type Config } from '../../../config/config.ts'
import { openObjectStore } from '../../../pipeline/sinks/archive/destination.ts'
import type { ArchiveList } from '../ports.ts'

/** Opens the archive of an instance. Call `close` in the end. */
export function openArchiveList(config: Config): ArchiveList & { close(): Promise<void> } {
  const store = openObjectStore(archiveLocationOf(config))
  return {
    place: store.location,
    list: () => store.list(''),
    close: () => store.close(),
  }
}
