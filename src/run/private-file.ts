import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes a file that only this user may read. Readers see the old or the new content, never a part. */
export function writePrivateFile(path: string, content: string): void {
  const part = `${path}.${process.pid}.part`
  rmSync(part, { force: true })
  writeFileSync(part, content, { mode: 0o600, flag: 'wx' })
  renameSync(part, path)
}
