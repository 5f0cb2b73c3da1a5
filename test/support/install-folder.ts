import { basename } from 'node:path'
import { ensurePackages } from '../../src/bootstrap/packages.mjs'

/** Installs the packages of a folder of `test/` when they are missing. Returns the reason when they cannot be installed. */
export async function installFolder(root: string): Promise<string | undefined> {
  try {
    await ensurePackages({ withDev: true, root })
    return undefined
  } catch (error) {
    return `test/${basename(root)} cannot be installed: ${(error as Error).message}`
  }
}
