import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../../limits.ts'
import type { Provider } from '../../providers/provider.ts'
import { openTable, sealTable, sourceOfTable, tableOf } from '../../providers/tables/packed-table.ts'
import { packTable } from '../../providers/tables/provider.ts'
import { nameKeyData } from '../../rules/company-id.ts'

/** Increase it when a packed table changes, or the code that makes keys of names. */
const PACKER_VERSION = 1

/** The starter organisations. */
export const STARTER_TABLE = 'organisations.csv'
/** Their packed form in the folder of the default data. */
const PACKED_FILE = 'organisations.table'

export function packedPathOf(defaultsDir: string): string {
  return join(defaultsDir, PACKED_FILE)
}

/** The text and the data files of which a packed form is made, as its `source`. */
export function starterSource(text: Buffer): string {
  const digest = createHash('sha256').update(text).update(nameKeyData()).digest('hex')
  return `${STARTER_TABLE} ${digest} ${PACKER_VERSION}`
}

/** @throws InputError as `tableRows` */
export async function packStarter(text: Buffer, source: string): Promise<Buffer> {
  const rowsMax = DEFAULT_ENRICHMENT_LIMITS.tableRowsMax
  return sealTable(source, await packTable({ format: 'csv', text, rowsMax }))
}

/** The source of the packed form; undefined when it is missing or damaged. @param check as in `make.ts` */
export async function packedSource(path: string, check: 'head' | 'whole'): Promise<string | undefined> {
  const source = await sourceOfTable(path)
  return source === undefined || check === 'head' ? source : (await openPacked(path))?.source
}

/** Undefined when it is missing or damaged. */
async function openPacked(path: string): Promise<ReturnType<typeof openTable> | undefined> {
  try {
    return openTable(await readFile(path))
  } catch (error) {
    if (error instanceof InputError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
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
  const path = packedPathOf(defaultsDir)
  const stated = await sourceOfTable(path)
  if (stated === undefined) return undefined
  if (starterSource(await readFile(textPath)) !== stated) return undefined
  const packed = await openPacked(path)
  return packed?.source === stated ? tableOf(name, packed.table) : undefined
}
