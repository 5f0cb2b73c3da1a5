import { mkdirSync, rmSync } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { Code, Exception } from './exception.ts'

/**
 * Files for the data of INSERTs. The engine ends data after a statement at a blank line or `;`, and runs the rest as another
 * statement. It reads all bytes of a file as data.
 */
export class DataFiles {
  readonly #folder: string
  #count = 0

  /** @param folder for the files; created or emptied */
  constructor(folder: string) {
    this.#folder = folder
    rmSync(folder, { recursive: true, force: true })
    mkdirSync(folder, { recursive: true, mode: 0o700 })
  }

  /**
   * Runs work with a temporary file of these bytes.
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
/** The working directory of this process, without characters of a glob pattern. */
const WORKING_DIRECTORY = '/proc/self/cwd'

/**
 * A path for INFILE without glob characters, with which the engine would look for several files.
 * @param path a path in the working directory, which is the data folder
 * @throws Exception when the path cannot be written without them
 */
export function infilePath(path: string): string {
  if (!PATTERN.test(path)) return path
  const inside = relative(process.cwd(), path)
  if (process.platform === 'linux' && !PATTERN.test(inside)) return join(WORKING_DIRECTORY, inside)
  const message = `The data folder ${process.cwd()} has *, ?, { or } in its name, which INSERT does not support: rename it. (BAD_ARGUMENTS)`
  throw new Exception(Code.BadArguments, message)
}
