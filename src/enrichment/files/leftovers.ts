import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** What a process writes before it gets its name: `.NAME.PID.part`. */
const PART = /^\..+\.(\d+)\.part$/

export function partName(name: string): string {
  return `.${name}.${process.pid}.part`
}

/** Removes from a folder what processes left of their work that were killed; what another one works on stays. */
export async function removeLeftovers(dir: string): Promise<void> {
  for (const name of await readdir(dir)) {
    const pid = PART.exec(name)?.[1]
    if (pid !== undefined && !isRunning(Number(pid))) await rm(join(dir, name), { recursive: true, force: true })
  }
}

/** Whether a name is that of something unfinished. */
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
