import { execFile } from 'node:child_process'
import { mkdtemp, open, rm, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const STEP = Buffer.alloc(1_048_576)

/** A disk in memory that can be filled. */
export class SmallDisk {
  readonly path: string

  private constructor(path: string) {
    this.path = path
  }

  /** Undefined when this process may not mount. */
  static async mount(
    cleanUp: { after(hook: () => Promise<void>): void },
    sizeMib = 2_048,
  ): Promise<SmallDisk | undefined> {
    const path = await mkdtemp(join(tmpdir(), 'ipid-disk-'))
    try {
      await run('mount', ['-t', 'tmpfs', '-o', `size=${sizeMib}m`, 'tmpfs', path])
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

  /** Fills the disk until nothing fits any more, or this much is left. */
  async fill(leftMib = 0): Promise<void> {
    const file = await open(this.#filler, 'a')
    try {
      while (leftMib === 0 || (await freeMib(this.path)) > leftMib) await file.write(STEP)
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

async function freeMib(path: string): Promise<number> {
  const { bavail, bsize } = await statfs(path)
  return (bavail * bsize) / STEP.length
}
