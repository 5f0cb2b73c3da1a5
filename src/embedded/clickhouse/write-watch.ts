import { statfsSync } from 'node:fs'
import { Code, Exception } from './exception.ts'

const MIB = 1_048_576
/** Of a disk so much stays free: no insert and no merge begins that would take it. */
const KEPT_FREE = { share: 0.02, minBytes: 64 * MIB, maxBytes: 1_024 * MIB }
/** A definition takes a few KB. */
const DEFINITION_BYTES = 8 * MIB
/** While statements run: no reader finds what was damaged long ago. */
const LOOK_EVERY_MS = 5_000
/** While none do. Well before ClickHouse removes the parts that a merge was made of, 8 minutes behind it. */
const REST_MS = 60_000
const SAMPLE_EVERY_MS = 250

/** @param folder that is there */
export function keptFreeBytes(folder: string): number {
  const { blocks, bsize } = statfsSync(folder)
  const { share, minBytes, maxBytes } = KEPT_FREE
  return Math.round(Math.min(maxBytes, Math.max(minBytes, blocks * bsize * share)))
}

/** Whether a folder's disk has less room than is to stay free. */
export function isNearlyFull(folder: string): boolean {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize < keptFreeBytes(folder)
}

/**
 * Nothing reserves room for the file of a definition: cut off, it would lose its table.
 * @param head the beginning of a statement that is about to run
 * @throws Exception when it defines something, and its disk is full
 */
export function assertFreeSpace(head: string, folder: string): void {
  if (!/^\s*(?:CREATE|ALTER|RENAME|EXCHANGE)\b/i.test(head) || /\b(?:DROP|DELETE)\b/i.test(head)) return
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= DEFINITION_BYTES) return
  throw new Exception(Code.NotEnoughSpace, `Only ${bavail * bsize} bytes are free in ${folder}. (NOT_ENOUGH_SPACE)`)
}

/** Readers who left their result: the statement's next writes into its pipe fail, which is as it should be. */
export interface Departures {
  /** Those whose statement has not ended. */
  readonly open: number
  /** How many have begun and ended. */
  readonly changes: number
}

export interface WriteWatchOptions {
  /** Writes that failed since the engine was opened. */
  readonly failedWrites: () => Promise<number>
  readonly departures: () => Departures
  readonly isNearlyFull: () => boolean
  /** Ends the process at once. */
  readonly end: (failedWrites: number) => void
}

/**
 * Ends the engine when a write to its disk failed. chdb (26.7) goes on then as if the bytes were there: an insert is answered
 * and a merge takes the place of its parts, with files that are cut off or empty, and reads of the table fail for good. A
 * start finds such a part, sets it aside and loads the parts that it was made of; an insert without its answer is repeated. So
 * what was answered is whole, as long as somebody looks before the answer, and before old parts are removed.
 */
export class WriteWatch {
  readonly #options: WriteWatchOptions
  #failed = 0
  #changes = 0
  /** Since the last look to which no reader's departure can have given rise. */
  #wasFull = false
  #looking: Promise<void> | undefined
  #lookedAtMs = Number.NEGATIVE_INFINITY
  /** Statements that run. */
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
   * To be awaited before a statement runs: what is damaged by then is found, and is not mistaken for what its reader may do when
   * he leaves. Never rejects.
   * @returns to be called when the statement has ended
   */
  async begin(): Promise<() => void> {
    this.#running++
    // At rest nobody looks at the room, so that a disk that was full for a moment would not be known of.
    if (this.#isAtRest || performance.now() - this.#lookedAtMs >= LOOK_EVERY_MS) await this.#lookSoon()
    this.#isAtRest = false
    this.#sampling ??= setInterval(() => this.#sampleRoom(), this.#sampleEveryMs).unref()
    return () => void this.#running--
  }

  /** Resolves when no write has failed; otherwise the process has ended. */
  async look(): Promise<void> {
    const { failedWrites, departures, end } = this.#options
    const lookedAtMs = performance.now()
    const before = departures()
    const failed = await failedWrites()
    // Who leaves while the question waits for its turn may be counted in its answer.
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

  /** Nobody reads who could leave, so the next look needs to know nothing of the room until then. */
  #rest(): void {
    this.#isAtRest = true
    clearInterval(this.#sampling)
    this.#sampling = undefined
  }

  /** A disk may be full for a moment only, as while Redis writes its file anew. */
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
