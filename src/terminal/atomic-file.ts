import { renameSync, rmSync, writeFileSync } from 'node:fs'

/** Writes a file that only this user may read; whoever looks sees the whole content, or what was there before. */
export function writePrivateFile(path: string, content: string): void {
  const part = `${path}.${process.pid}.part`
  rmSync(part, { force: true })
  writeFileSync(part, content, { mode: 0o600, flag: 'wx' })
  renameSync(part, path)
}
