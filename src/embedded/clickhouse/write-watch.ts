import { statfsSync } from 'node:fs'
import { Code, Exception } from './exception.ts'

const MIB = 1_048_576
/** A definition takes a few KB. */
const DEFINITION_BYTES = 8 * MIB
/** Interval while statements run, so that no read finds old damage. */
const LOOK_EVERY_MS = 5_000
/** Interval while idle. Well below the 8 minutes after which ClickHouse removes the source parts of a merge. */
const REST_MS = 60_000
const SAMPLE_EVERY_MS = 250

/**
 * The engine reserves no space for the file of a definition, and a truncated file would lose its table.
 * @param head the start of a statement that is about to run
 * @throws Exception when it is a definition and the disk is full
 */
export function assertFreeSpace(head: string, folder: string): void {
  if (!/^\s*(?:CREATE|ALTER|RENAME|EXCHANGE)\b/i.test(head) || /\b(?:DROP|DELETE)\b/i.test(head)) return
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= DEFINITION_BYTES) return
  throw new Exception(Code.NotEnoughSpace, `Only ${bavail * bsize} bytes are free in ${folder}. (NOT_ENOUGH_SPACE)`)
}

/** Readers that left their result early. The next write of the statement to its pipe then fails, as intended. */
export interface Departures {
  /** Departures whose statement has not ended. */
  readonly open: number
  /** Number of departures and of their ends. */
  readonly changes: number
}

interface WriteWatchOptions {
  /** Number of failed writes since the engine was opened. */
  readonly failedWrites: () => Promise<number>
  readonly departures: () => Departures
  readonly isNearlyFull: () => boolean
  /** Ends the process at once. */
  readonly end: (failedWrites: number) => void
}

/**
 * Ends the engine after a failed write to its disk. chdb (26.7) ignores such a failure: it acknowledges inserts, and merges
 * replace their source parts, with truncated or empty files. Reads of the table then fail permanently. On a start, ClickHouse
 * detects such a part, sets it aside and loads its source parts; the sink repeats an unacknowledged insert. So acknowledged data
 * are safe if failures are checked before each acknowledgement, and before old parts are removed.
 */
export class WriteWatch {
  readonly #options: WriteWatchOptions
  #failed = 0
  #changes = 0
  /** Whether the disk was full since the last check that no departure could explain. */
  #wasFull = false
  #looking: Promise<void> | undefined
  #lookedAtMs = Number.NEGATIVE_INFINITY
  /** Number of running statements. */
  #running = 0
  #isAtRest = false
  #sampleEveryMs = SAMPLE_EVERY_MS
  #timer: NodeJS.Timeout | undefined
  #sampling: NodeJS.Timeout | undefined

  constructor(options: WriteWatchOptions) {
    this.#options = options
  }

  start(everyMs = LOOK_EVERY_MS, sampleEveryMs = SAMPLE_EVERY_MS): void {
    this.#sampleEveryMs = sampleEveryMs
    this.#timer = setInterval(() => {
      if (!this.#isAtRest || performance.now() - this.#lookedAtMs >= REST_MS) void this.#lookSoon()
    }, everyMs).unref()
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer)
    clearInterval(this.#sampling)
    await this.#looking
  }

  /**
   * Await it before a statement runs, so that earlier damage is found and not attributed to a departure of its reader. Never
   * rejects.
   * @returns a function to call when the statement has ended
   */
  async begin(): Promise<() => void> {
    this.#running++
    // An idle watch does not sample the disk, so it may have missed a moment without space.
    if (this.#isAtRest || performance.now() - this.#lookedAtMs >= LOOK_EVERY_MS) await this.#lookSoon()
    this.#isAtRest = false
    this.#sampling ??= setInterval(() => this.#sampleRoom(), this.#sampleEveryMs).unref()
    return () => void this.#running--
  }

  /** Resolves when no write has failed. Otherwise it ends the process. */
  async look(): Promise<void> {
    const { failedWrites, departures, end } = this.#options
    const lookedAtMs = performance.now()
    const before = departures()
    const failed = await failedWrites()
    // The count may include readers that left while the query was waiting.
    const after = departures()
    const isNew = failed > this.#failed
    const mayBeReaders = before.open > 0 || after.open > 0 || after.changes !== this.#changes
    this.#failed = Math.max(this.#failed, failed)
    this.#changes = before.changes
    this.#sampleRoom()
    if (isNew && (!mayBeReaders || this.#wasFull)) end(failed)
    this.#lookedAtMs = lookedAtMs
    if (mayBeReaders) return
    this.#wasFull = false
    if (this.#running === 0) this.#rest()
  }

  /** No reader can leave while idle, so the next check needs no disk samples. */
  #rest(): void {
    this.#isAtRest = true
    clearInterval(this.#sampling)
    this.#sampling = undefined
  }

  /** A disk may be full only for a moment, such as during a rewrite of Redis's file. */
  #sampleRoom(): void {
    this.#wasFull ||= this.#options.isNearlyFull()
  }

  #lookSoon(): Promise<void> {
    this.#looking ??= this.look()
      .catch(() => {})
      .finally(() => {
        this.#looking = undefined
      })
    return this.#looking
  }
}
