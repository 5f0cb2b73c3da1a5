import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { StartupError } from '../../run/errors.ts'
import type { Departures } from './write-watch.ts'

/** How often a pipe without a reader gets one for a moment. */
const RELEASE_MS = 20

/**
 * Named pipes for results of any size. The engine writes to one as the file of INTO OUTFILE, and blocks while the reader does
 * not read.
 */
export class ResultPipes {
  readonly #folder: string
  readonly #free: string[]
  #departures: Departures = { open: 0, changes: 0 }

  private constructor(folder: string, paths: string[]) {
    this.#folder = folder
    this.#free = paths
  }

  /**
   * @param folder created or emptied
   * @param count number of parallel results
   * @throws StartupError
   */
  static make(folder: string, count: number): ResultPipes {
    const paths = Array.from({ length: count }, (_, i) => join(folder, `${i}.pipe`))
    try {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // Node.js cannot make named pipes.
      execFileSync('mkfifo', ['-m', '600', ...paths], { stdio: ['ignore', 'ignore', 'pipe'] })
    } catch (error) {
      const reason = (error as Error).message.split('\n')[0]
      throw new StartupError(`cannot make named pipes in ${folder}: ${reason}`, { cause: error })
    }
    return new ResultPipes(folder, paths)
  }

  /** Opens both ends of a free pipe. One is free if every other pipe is closed after its statement. */
  open(): ResultPipe {
    const path = this.#free.pop()
    if (path === undefined) throw new Error('more results than pipes')
    const depart = (by: 1 | -1) => {
      const { open, changes } = this.#departures
      this.#departures = { open: open + by, changes: changes + 1 }
    }
    return new ResultPipe(path, depart, () => this.#free.push(path))
  }

  get departures(): Departures {
    return this.#departures
  }

  /** Deletes the pipes, because some tools cannot copy a folder with pipes. None may be open. */
  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The output of a statement as a stream. The statement blocks while it is not read. */
export class ResultPipe {
  readonly path: string
  readonly #reader: Socket
  readonly #depart: (by: 1 | -1) => void
  readonly #giveBack: () => void
  #isLeft = false
  /** Our own writer keeps the pipe open until the statement ends, even if the engine closes the file or never opens it. */
  #writer: number | undefined
  /** A temporary reader. */
  #release: number | undefined
  #releasing: NodeJS.Timeout | undefined

  /** @param depart called with 1 when the reader leaves before the end of the statement, and with -1 after that end */
  constructor(path: string, depart: (by: 1 | -1) => void, giveBack: () => void) {
    this.path = path
    this.#depart = depart
    this.#giveBack = giveBack
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    this.#writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    this.#reader = new Socket({ fd, readable: true, writable: false })
    // Leaving the pipe destroys the reader.
    this.#reader.on('error', () => {})
  }

  get chunks(): AsyncIterable<Buffer> {
    return this.#reader
  }

  /** The statement has ended: the pipe holds the rest. */
  end(): void {
    if (this.#writer !== undefined) closeSync(this.#writer)
    this.#writer = undefined
  }

  /**
   * Stops reading: the next write of the statement fails. If the statement has not opened the pipe yet, that would block
   * forever without a reader, even for KILL QUERY. So a reader opens the pipe for a moment from time to time.
   */
  leave(): void {
    if (this.#writer !== undefined && !this.#isLeft) {
      this.#isLeft = true
      this.#depart(1)
    }
    this.#reader.destroy()
    this.#releasing ??= setInterval(() => this.#openTemporaryReader(), RELEASE_MS)
  }

  /** Call it after the end of the statement. */
  async close(): Promise<void> {
    this.end()
    this.#reader.destroy()
    clearInterval(this.#releasing)
    this.#closeTemporaryReader()
    if (!this.#reader.closed) await once(this.#reader, 'close')
    if (this.#isLeft) this.#depart(-1)
    this.#giveBack()
  }

  #openTemporaryReader(): void {
    if (this.#closeTemporaryReader()) return
    this.#release = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK)
  }

  #closeTemporaryReader(): boolean {
    const release = this.#release
    this.#release = undefined
    if (release !== undefined) closeSync(release)
    return release !== undefined
  }
}
