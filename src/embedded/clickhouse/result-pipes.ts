import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, constants, mkdirSync, openSync, rmSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'
import { StartupError } from '../../run/errors.ts'
import type { Departures } from './write-watch.ts'

/** How often somebody is let in who waits at a pipe that was left. */
const RELEASE_MS = 20

/**
 * Named pipes through which the engine hands out results, whatever their size: it takes one for the file of an INTO
 * OUTFILE, and waits in the middle of a write while nobody reads.
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
   * @param folder emptied, or made
   * @param count of results that are handed out at a time
   * @throws StartupError
   */
  static make(folder: string, count: number): ResultPipes {
    const paths = Array.from({ length: count }, (_, i) => join(folder, `${i}.pipe`))
    try {
      rmSync(folder, { recursive: true, force: true })
      mkdirSync(folder, { recursive: true, mode: 0o700 })
      // Node has no call for it.
      execFileSync('mkfifo', ['-m', '600', ...paths], { stdio: ['ignore', 'ignore', 'pipe'] })
    } catch (error) {
      const reason = (error as Error).message.split('\n')[0]
      throw new StartupError(`cannot make named pipes in ${folder}: ${reason}`, { cause: error })
    }
    return new ResultPipes(folder, paths)
  }

  /** Both ends of one that nobody uses. There is one, as long as every other is closed when its statement has ended. */
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

  /** None may be open: whoever copies the folder behind that finds no pipes, which some ways of copying cannot bear. */
  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** What a statement writes, as it comes; it waits while nobody reads. */
export class ResultPipe {
  readonly path: string
  readonly #reader: Socket
  readonly #depart: (by: 1 | -1) => void
  readonly #giveBack: () => void
  #isLeft = false
  /** Held, so that the end is where the statement ends, not where the engine closes the file or never opens it. */
  #writer: number | undefined
  /** A reader that takes nothing. */
  #release: number | undefined
  #releasing: NodeJS.Timeout | undefined

  /** @param depart called with 1 when it is left in the middle of its statement, and with -1 behind the end of that */
  constructor(path: string, depart: (by: 1 | -1) => void, giveBack: () => void) {
    this.path = path
    this.#depart = depart
    this.#giveBack = giveBack
    const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    this.#writer = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK)
    this.#reader = new Socket({ fd, readable: true, writable: false })
    // It ends early when it is left.
    this.#reader.on('error', () => {})
  }

  get chunks(): AsyncIterable<Buffer> {
    return this.#reader
  }

  /** The statement has ended: what is in the pipe is the rest. */
  end(): void {
    if (this.#writer !== undefined) closeSync(this.#writer)
    this.#writer = undefined
  }

  /**
   * Nobody reads any more: the next write of the statement fails. It may not have opened the pipe yet, and would wait for
   * a reader for ever, whatever it is told: so now and then there is one, for a moment.
   */
  leave(): void {
    if (this.#writer !== undefined && !this.#isLeft) {
      this.#isLeft = true
      this.#depart(1)
    }
    this.#reader.destroy()
    this.#releasing ??= setInterval(() => this.#letIn(), RELEASE_MS)
  }

  /** Behind the end of the statement. */
  async close(): Promise<void> {
    this.end()
    this.#reader.destroy()
    clearInterval(this.#releasing)
    this.#letGo()
    if (!this.#reader.closed) await once(this.#reader, 'close')
    if (this.#isLeft) this.#depart(-1)
    this.#giveBack()
  }

  #letIn(): void {
    if (this.#letGo()) return
    this.#release = openSync(this.path, constants.O_RDONLY | constants.O_NONBLOCK)
  }

  #letGo(): boolean {
    const release = this.#release
    this.#release = undefined
    if (release !== undefined) closeSync(release)
    return release !== undefined
  }
}
