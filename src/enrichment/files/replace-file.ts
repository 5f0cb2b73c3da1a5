import { open, readdir, rename, rm, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** Replaces a file atomically, even in a crash: readers see the old content or the new one. Keeps the file's mode. */
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

/** An unfinished file or folder: `.NAME.PID.part`. */
const PART = /^\..+\.(\d+)\.part$/

/** The name under which this process writes a file or folder before it renames it. */
export function partName(name: string): string {
  return `.${name}.${process.pid}.part`
}

/** Deletes unfinished files of killed processes. Keeps those of running ones. */
export async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const pid = PART.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(dir, name), { recursive: true, force: true })
  }
}

/** Whether the name is an unfinished file's. */
export function isPart(name: string): boolean {
  return PART.test(name)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
