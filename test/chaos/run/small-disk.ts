import { execFile } from 'node:child_process'
import { mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { CleanUp } from './clean-up.ts'

const run = promisify(execFile)
const SIZE_MIB = 2_048
const STEP = Buffer.alloc(1_048_576)

/** A disk in memory that can be filled. */
export class SmallDisk {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  /** Undefined where this process may mount nothing. */
  static async mount(cleanUp: CleanUp): Promise<SmallDisk | undefined> {
    const path = await mkdtemp(join(tmpdir(), 'ipid-disk-'))
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${SIZE_MIB}m`, 'tmpfs', path])
    } catch {
      await rm(path, { recursive: true })
      return undefined
    }
    cleanUp.after(async () => {
      await run('umount', ['-l', path])
      await rm(path, { recursive: true })
    })
    return new SmallDisk(path)
  }

  /** Until nothing fits any more. */
  async fill(): Promise<void> {
    const file = await open(this.#filler, 'w')
    try {
      for (;;) await file.write(STEP)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
    } finally {
      await file.close()
    }
  }

  async empty(): Promise<void> {
    await rm(this.#filler, { force: true })
  }

  get #filler(): string {
    return join(this.path, 'filler')
  }
}
