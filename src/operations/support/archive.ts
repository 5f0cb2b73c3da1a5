import { writeFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { pack } from 'tar-stream'
import { InputError } from '../../run/errors.ts'

/** A file of an archive. */
export interface ArchiveFile {
  readonly name: string
  readonly content: string
}

/**
 * Writes a .tar.gz that only this user may read, with all files in one folder.
 * @throws InputError when the file exists
 */
export async function writeArchive(path: string, folder: string, files: readonly ArchiveFile[]): Promise<void> {
  const tar = pack()
  for (const { name, content } of files) tar.entry({ name: `${folder}/${name}`, mode: 0o600 }, content)
  tar.finalize()
  const blocks: Buffer[] = []
  for await (const block of tar) blocks.push(block as Buffer)
  try {
    await writeFile(path, await promisify(gzip)(Buffer.concat(blocks)), { mode: 0o600, flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new InputError(`${path}: the file exists`)
    throw error
  }
}
