import { existsSync } from 'node:fs'
import { mkdir, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { ROW_COLUMNS } from '../../schemas/row.ts'
import { setting } from '../../src/config/setting.ts'
import { path } from '../../src/config/values.ts'
import type { Destination } from '../../src/pipeline/declaration/destination.ts'
import { fromTsv } from '../../src/pipeline/event/row.ts'
import { UnavailableError } from '../../src/run/errors.ts'

const settings = {
  folder: setting('COPY_DIR', 'dir', './copy', 'folder of the NDJSON copies of what ClickHouse gets', path()),
}

/**
 * A folder of NDJSON files, one per insert, named after its token. A repeat overwrites its own file, so a token proves that its rows
 * are stored. Unavailable while the folder has a file `closed`.
 */
export const ndjsonFolder: Destination<typeof settings> = {
  name: 'ndjson',
  settings,
  open: ({ settings: { folder } }) => ({
    async prepare() {
      await mkdir(folder, { recursive: true })
      if (existsSync(join(folder, 'closed'))) throw new UnavailableError('the folder is closed')
    },
    async insert(rows, token) {
      const name = join(folder, `${token}.ndjson`)
      const file = await open(`${name}.tmp`, 'w')
      await file.writeFile(rows.map(toNdjson).join(''))
      await file.sync()
      await file.close()
      await rename(`${name}.tmp`, name)
    },
    absent: async () => [],
    close: async () => {},
  }),
}

/** @param rows lines that each end with a line feed */
function toNdjson(rows: Buffer): string {
  const lines = rows.toString('utf8').split('\n').slice(0, -1)
  return lines.map((line) => `${JSON.stringify(Object.fromEntries(columns(line)))}\n`).join('')
}

function columns(line: string): [string, string][] {
  return line.split('\t').map((value, i) => [ROW_COLUMNS[i]!, fromTsv(value)])
}
