import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import type { EnrichmentLimits } from '../../limits.ts'
import type { Provider } from '../../providers/provider.ts'
import { decodeText } from '../../providers/text/text-file.ts'

/** A data file that is read. */
export interface FileToRead {
  readonly path: string
  /** The provider's name. */
  readonly name: string
  readonly limits: EnrichmentLimits
  /** A default data set. */
  readonly isDefault?: boolean
}

/**
 * A format of data files. Each is one file of this folder and one line in `formats.ts`.
 * @typeParam About the description in a compiled form, as JSON
 */
export interface DataFormat<About extends object = object> {
  /** Identifies the format in compiled data. */
  readonly name: string
  /** Matches the names of its files. The provider has the name without the match. */
  readonly ending: RegExp
  /**
   * Undefined: every file with this ending, which no format before it has recognised, is of this format.
   * @param line the first line that is neither blank nor a comment; undefined when there is none
   * @param file the file's name
   */
  recognises?(line: string | undefined, file: string): boolean
  /** Paths of the files that change the meaning of a file. They need not exist. */
  companionsOf?(path: string): readonly string[]
  /** @throws InputError with the reason, and the line if known; NotDataError when the file holds no data */
  load(file: FileToRead): Promise<Provider>
  /** For files that take too long to load when only their content must be named. */
  summarise?(path: string): Promise<Summary>
  /** Undefined: files of every size are loaded by the processes that serve. */
  readonly compiled?: CompiledForm<About>
}

/** The form of a big file that is made by a process that does not serve. */
export interface CompiledForm<About extends object> {
  /**
   * @param write writes a file of the compiled form
   * @throws as `load`
   */
  write(path: string, limits: EnrichmentLimits, write: WriteFile): Promise<About>
  /** @param folder with the files that `write` wrote @throws InputError when one of them is damaged */
  load(folder: string, about: About, file: FileToRead): Promise<Provider>
}

export type WriteFile = (file: string, parts: readonly Uint8Array[]) => Promise<void>
export type Summary = Pick<Provider, 'recognisedAs' | 'records' | 'builtAt'>

/** @throws InputError when the file is too large */
export async function bytesOf(path: string, bytesMax: number): Promise<Buffer> {
  const { size } = await stat(path)
  if (size > bytesMax) throw new InputError(`the file is larger than ${bytesMax} bytes`)
  return await readFile(path)
}

/** The text of a file, plain or gzip. @throws InputError when it is too large or is not UTF-8 */
export async function textOf(path: string, { textBytesMax }: EnrichmentLimits): Promise<Buffer> {
  return await decodeText(await bytesOf(path, textBytesMax), textBytesMax)
}

/** Opens a file of a compiled form. @throws InputError when the file was damaged after compilation */
export async function openCompiled(
  folder: string,
  file: string,
  open: (bytes: Buffer) => Provider | Promise<Provider>,
): Promise<Provider> {
  const path = join(folder, file)
  try {
    return await open(await readFile(path))
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    throw new InputError(`${path} is damaged (${error.message}): delete its folder to compile it again`)
  }
}
