import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { optional } from '../../src/config/setting.ts'
import { path } from '../../src/config/values.ts'
import type { Destination } from '../../src/pipeline/declaration/destination.ts'
import { readRows } from '../../src/pipeline/event/read-rows.ts'
import { UnavailableError } from '../../src/run/errors.ts'
import { FolderStore } from '../../src/stores/objects/folder-store.ts'

const settings = {
  folder: optional(
    'COPY_DIR',
    'dir',
    'folder for NDJSON copies of what ClickHouse gets; without it there are none',
    path(),
  ),
}

/**
 * A folder of NDJSON files, one per insert, named after its token: a repeat overwrites its own file. Unavailable while the folder has a
 * file `closed`.
 */
export const ndjsonFolder: Destination<typeof settings> = {
  name: 'ndjson',
  settings,
  isOn: ({ folder }) => folder !== undefined,
  open({ settings: { folder = '' } }) {
    const store = new FolderStore(folder)
    return {
      async prepare() {
        await store.prepare()
        if (existsSync(join(folder, 'closed'))) throw new UnavailableError('the folder is closed')
      },
      insert: (rows, token) => store.put(`${token}.ndjson`, Buffer.from(Array.from(readRows(rows), toLine).join(''))),
      // Both are for rows that come again under a new token, because Redis forgot that they were delivered.
      receivedAt: (rows) => Date.parse(eventOf(rows).received_at),
      async absent(rows) {
        const stored = new Set<string>()
        for await (const { key } of store.list('')) {
          // The folder may hold files of others.
          if (!key.endsWith('.ndjson')) continue
          const lines = await text((await store.get(key))!)
          for (const line of lines.trimEnd().split('\n')) stored.add(idOf(JSON.parse(line)))
        }
        return rows.filter((row) => !stored.has(idOf(eventOf(row))))
      },
      close: () => store.close(),
    }
  },
}

const toLine = (event: object) => `${JSON.stringify(event)}\n`
const eventOf = (rows: Buffer) => readRows([rows]).next().value!
const idOf = ({ tenant_id, event_id }: { tenant_id: string; event_id: string }) => `${tenant_id} ${event_id}`
