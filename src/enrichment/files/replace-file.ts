import { open, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { partName } from './leftovers.ts'

/**
 * Writes a file; whoever looks sees the whole content, or what was there before, also after a crash. It is as open to
 * others as what was there.
 */
export async function replaceFile(path: string, content: Uint8Array | string): Promise<void> {
  const part = join(dirname(path), partName(basename(path)))
  try {
    const mode = (await stat(path).catch(() => undefined))?.mode
    const file = await open(part, 'w', mode)
    try {
      if (mode !== undefined) await file.chmod(mode)
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(part, path)
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}
