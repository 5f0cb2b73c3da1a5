import { existsSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { optional } from '../../src/config/setting.ts'
import { path } from '../../src/config/values.ts'
import type { Destination } from '../../src/pipeline/declaration/destination.ts'
import { readRows } from '../../src/pipeline/event/read-rows.ts'
import { UnavailableError } from '../../src/run/errors.ts'

const settings = {
  folder: optional(
    'COPY_DIR',
    'dir',
    'folder for NDJSON copies of what ClickHouse gets; without it there are none',
    path(),
  ),
}

/**
 * A folder of NDJSON files, one per insert, named after its token. A repeat overwrites its own file, so a token proves that its rows
 * are stored. Unavailable while the folder has a file `closed`.
 */
export const ndjsonFolder: Destination<typeof settings> = {
  name: 'ndjson',
  settings,
  isOn: ({ folder }) => folder !== undefined,
  open: ({ settings: { folder = '' } }) => ({
    async prepare() {
      await mkdir(folder, { recursive: true })
      if (existsSync(join(folder, 'closed'))) throw new UnavailableError('the folder is closed')
    },
    async insert(rows, token) {
      const name = join(folder, `${token}.ndjson`)
      const file = await open(`${name}.tmp`, 'w')
      await file.writeFile(toNdjson(rows))
      await file.sync()
      await file.close()
      await rename(`${name}.tmp`, name)
    },
    absent: async () => [],
    close: async () => {},
  }),
}

function toNdjson(rows: readonly Buffer[]): string {
  return Array.from(readRows(rows), (event) => `${JSON.stringify(event)}\n`).join('')
}
