import { stat } from 'node:fs/promises'
import { pino } from 'pino'
import { InputError } from '../../run/errors.ts'
import { DEFAULT_ENRICHMENT_LIMITS } from '../limits.ts'
import { DataFolder, type FolderOptions, STARTER_DIR } from './folder.ts'

/**
 * Reads all files of a folder, as the server does when it starts.
 * @param dir undefined for the starter data
 * @throws InputError when it is not a folder
 */
export async function readFolder(dir: string | undefined): Promise<DataFolder> {
  const path = dir ?? STARTER_DIR
  if ((await stat(path).catch(() => undefined))?.isDirectory() !== true) {
    throw new InputError(`${path} is not a folder`)
  }
  const folder = new DataFolder(path, DEFAULT_ENRICHMENT_LIMITS, pino({ level: 'silent' }), () => {})
  await folder.look(true)
  return folder
}

/** Reads a folder that need not exist. @param dir undefined for no folder */
export async function readOptional(dir: string | undefined, options: FolderOptions): Promise<DataFolder[]> {
  if (dir === undefined) return []
  const folder = new DataFolder(dir, DEFAULT_ENRICHMENT_LIMITS, pino({ level: 'silent' }), () => {}, options)
  await folder.look(true)
  return [folder]
}
