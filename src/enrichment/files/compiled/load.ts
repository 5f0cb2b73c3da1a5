import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError } from '../../../run/errors.ts'
import type { Provider } from '../../providers/provider.ts'
import type { FileToRead } from '../formats/format.ts'
import { formatOfName } from '../formats/formats.ts'
import { ABOUT_FILE, type About, compiledFolder } from './layout.ts'

/** The table is not compiled yet. Its previous data stay in use. */
export class NotCompiledError extends InputError {
  override name = 'NotCompiledError'
}

/**
 * Loads the compiled form of a big table.
 * @param dir folder of compiled tables
 * @returns undefined when the file must be loaded directly
 * @throws NotCompiledError when it is not compiled yet, InputError with the reason when the table is invalid
 */
export async function loadCompiled(dir: string, file: FileToRead): Promise<Provider | undefined> {
  const folder = await compiledFolder(dir, file.path)
  const about = folder === undefined ? undefined : await readAbout(folder)
  if (folder === undefined || about === undefined) throw new NotCompiledError('it is being compiled')
  if ('direct' in about) return undefined
  if ('reason' in about) throw new InputError(about.reason)
  return await formatOfName(about.format).compiled!.load(folder, about, file)
}

/** Undefined when the file is missing or damaged, and with it the whole folder. */
export async function readAbout(folder: string): Promise<About | undefined> {
  try {
    return JSON.parse(await readFile(join(folder, ABOUT_FILE), 'utf8')) as About
  } catch (error) {
    if (error instanceof SyntaxError || (error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}
