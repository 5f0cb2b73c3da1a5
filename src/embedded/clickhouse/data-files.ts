import { mkdirSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Code, Exception } from './exception.ts'

/**
 * Files for the data of INSERTs. The engine takes data that follow a statement only as far as a blank line, or `;`, and runs the rest
 * as another statement. It takes a file for data from its first byte to its last.
 */
export class DataFiles {
  readonly #folder: string
  #count = 0

  /** @param folder for the files; emptied, or made */
  constructor(folder: string) {
    this.#folder = folder
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /**
   * Runs work with a file that has these bytes, and removes the file.
   * @throws Exception when the file cannot be written
   */
  async within<T>(bytes: Uint8Array, work: (path: string) => Promise<T>): Promise<T> {
    const path = join(this.#folder, `${this.#count++}.data`)
    try {
      try {
        await writeFile(path, bytes, { flag: 'wx', mode: 0o600 })
      } catch (error) {
        const message = `Cannot write the data of the INSERT: ${(error as Error).message} (ABORTED)`
        throw new Exception(Code.Aborted, message, { cause: error })
      }
      return await work(path)
    } finally {
      await rm(path, { force: true })
    }
  }
}

const PATTERN = /[*?{}]/
/** The working directory of this process, under a name that is no pattern. */
const WORKING_DIRECTORY = '/proc/self/cwd'

/**
 * A path for INFILE, which the engine takes for a pattern of several files when it has characters of one.
 * @param path in the working directory, as the data folder is
 * @throws Exception when every name of it is a pattern
 */
export function infilePath(path: string): string {
  if (!PATTERN.test(path)) return path
  const inside = relative(process.cwd(), path)
  if (process.platform === 'linux' && !PATTERN.test(inside)) return join(WORKING_DIRECTORY, inside)
  const message = `The data folder ${process.cwd()} has *, ?, { or } in its name, which INSERT cannot bear: rename it. (BAD_ARGUMENTS)`
  throw new Exception(Code.BadArguments, message)
}
