import { createHash } from 'node:crypto'
import type { BigIntStats } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { companionsOf, formatsNamed } from '../formats/formats.ts'

/** Increase it when the compiled form of a table changes. */
const COMPILER_VERSION = 7

/** Tables from this size on are compiled by a process that does not serve. Smaller ones load in an instant. */
const BIG_BYTES = 4 * 1024 * 1024
/** The same limit for gzip, which can expand a thousandfold. */
const BIG_GZIP_BYTES = BIG_BYTES / 1024

/** File in the folder of a compiled table. */
export const ABOUT_FILE = 'about.json'

/** The result of a compilation. */
export type About =
  /** The table is invalid. */
  | { readonly reason: string }
  /** The file is loaded directly. */
  | { readonly direct: true }
  /** The format's description of its compiled form. */
  | { readonly format: string }

/** Whether a file is compiled, if its format has a compiled form. */
export function isBigTable(path: string, sizeBytes: number): boolean {
  if (formatsNamed(path).every(({ compiled }) => compiled === undefined)) return false
  return sizeBytes >= (/\.gz$/i.test(path) ? BIG_GZIP_BYTES : BIG_BYTES)
}

/** The folder of this version of a table; undefined when the table is gone. */
export async function compiledFolder(dir: string, path: string): Promise<string | undefined> {
  const [stats, ...companions] = await Promise.all([path, ...companionsOf(path)].map(statFile))
  return stats === undefined ? undefined : join(dir, nameOf(path, [stats, ...companions]))
}

async function statFile(path: string): Promise<BigIntStats | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined)
  return stats?.isFile() === true ? stats : undefined
}

function nameOf(path: string, files: readonly (BigIntStats | undefined)[]): string {
  const stats = files.flatMap((file) => (file === undefined ? [] : [file.ino, file.size, file.mtimeNs, file.ctimeNs]))
  // A new format may recognise a file that was refused, or read as another one.
  const formats = formatsNamed(path).map(({ name }) => name)
  const version = [COMPILER_VERSION, ...formats, path, ...stats].join('\n')
  return createHash('sha256').update(version).digest('hex').slice(0, 32)
}
