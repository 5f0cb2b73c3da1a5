import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../limits.ts'
import type { Provider } from '../../providers/provider.ts'
import { readSealedFile } from '../../providers/sealed-file.ts'
import { openTable, sealTable, tableOf } from '../../providers/tables/packed-table.ts'
import { packTable } from '../../providers/tables/provider.ts'
import { nameKeyData } from '../../rules/company-id.ts'

/** Increase it when a packed table changes, or the code that makes keys of names. */
const PACKER_VERSION = 2

/** The starter organisations. */
export const STARTER_TABLE = 'organisations.csv'
/** Their packed form in the folder of the default data. */
const PACKED_FILE = 'organisations.table'

export function packedPathOf(defaultsDir: string): string {
  return join(defaultsDir, PACKED_FILE)
}

/** The `source` of a packed form: a digest of the text and of the data files that make keys of names. */
export function starterSource(text: Buffer): string {
  const digest = createHash('sha256').update(text).update(nameKeyData()).digest('hex')
  return `${STARTER_TABLE} ${digest} ${PACKER_VERSION}`
}

/** @throws InputError as `tableRows` */
export async function packStarter(text: Buffer, source: string): Promise<Buffer> {
  const rowsMax = DEFAULT_ENRICHMENT_LIMITS.tableRowsMax
  return sealTable(source, await packTable({ format: 'csv', text, rowsMax }))
}

/**
 * Loads the starter table from its packed form, in a tenth of the time.
 * @returns undefined when that is missing, damaged, or of another text: read the text then
 */
export async function loadPackedStarter(
  textPath: string,
  name: string,
  defaultsDir: string,
): Promise<Provider | undefined> {
  const packed = await readSealedFile(packedPathOf(defaultsDir), openTable)
  if (packed === undefined || packed.source !== starterSource(await readFile(textPath))) return undefined
  return tableOf(name, packed.table)
}
