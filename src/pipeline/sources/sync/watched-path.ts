import type { Stats } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import {
  type Checkpoint,
  headOf,
  isNamedAsCopy,
  isRead,
  isRotationOf,
  isSameInode,
  isSameLog,
  type LogRecord,
} from './checkpoint.ts'
import { LogFile } from './log-file.ts'
import type { LogSync } from './log-sync.ts'

export interface WatchOptions {
  readonly follow: boolean
  readonly onRead: (bytes: number) => void
  readonly warn: (text: string) => void
  /** Default: those of the clock. */
  readonly nowMs?: () => number
  /** How long the writer of a renamed log may take to open its new one. Default 10 s. */
  readonly quietMs?: number
}

/** An open log, and the findings of the last look. */
interface OpenLog {
  readonly log: LogFile
  readonly record: LogRecord
  /** Identity of the file. The record may be that of the log that it is a copy of. */
  readonly dev: number
  readonly ino: number
  size: number
  mtimeMs: number
  /** When it changed last. */
  changedAtMs: number
}

/** A log that has not been written for this long is whole, even if its last line has no line feed. */
const QUIET_MS = 10_000
const SIBLINGS_MAX = 1_000

/**
 * The logs that are, or were, at one path. Rotation may rename the log, or copy and truncate it; in both cases its end is read from
 * where it went, also when that happened while nothing was running.
 */
export class WatchedPath {
  readonly #path: string
  readonly #sync: LogSync
  readonly #checkpoint: Checkpoint
  readonly #options: WatchOptions
  #open: OpenLog | undefined
  /** Renamed logs that may still be written. */
  #renamed: OpenLog[] = []
  #hasBegun = false
  readonly #logs = new Set<LogFile>()

  constructor(path: string, sync: LogSync, checkpoint: Checkpoint, options: WatchOptions) {
    this.#path = path
    this.#sync = sync
    this.#checkpoint = checkpoint
    this.#options = options
  }

  /** Reads everything that is new. The last line of a log that is still written stays for the next round. */
  async round(): Promise<void> {
    const found = await statOf(this.#path)
    if (this.#open !== undefined && !isSameInode(found, this.#open)) {
      this.#renamed.push(this.#open)
      this.#open = undefined
    }
    if (this.#open !== undefined && (await this.#isTruncated(this.#open))) {
      const { log, record } = this.#open
      this.#open = undefined
      await this.#closeLog(log)
      if ((await this.#readCopy(record, await this.#siblings())) === undefined) this.#warnOfTruncation()
    }
    await this.#readRenamed()
    if (this.#open !== undefined) await this.#readOpen(this.#open)
    else if (found !== undefined) await this.#begin()
  }

  /** Closes all logs. Called once, also after a failure. */
  async close(): Promise<void> {
    for (const log of this.#logs) await log.close()
  }

  /** Undefined when the file is gone. */
  async #openPath(path: string): Promise<LogFile | undefined> {
    const log = await LogFile.open(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return undefined
      throw error
    })
    if (log !== undefined) this.#logs.add(log)
    return log
  }

  async #closeLog(log: LogFile): Promise<void> {
    this.#logs.delete(log)
    await log.close()
  }

  #nowMs(): number {
    return (this.#options.nowMs ?? Date.now)()
  }

  get #quietMs(): number {
    return this.#options.quietMs ?? QUIET_MS
  }

  async #begin(): Promise<void> {
    const log = await this.#openPath(this.#path)
    if (log === undefined) return
    const before = this.#checkpoint.records.filter((record) => record.path === this.#path).at(-1)?.format
    const opened = await this.#openLog(log, before)
    if (!this.#hasBegun) await this.#readEarlier(await log.stat(), opened?.record)
    this.#hasBegun = true
    if (opened !== undefined) await this.#readOpen(opened)
    if (opened !== undefined && this.#options.follow) {
      this.#open = opened
      return
    }
    const { size } = await log.stat()
    if (!this.#options.follow && !log.gzip && size > (opened?.record.offset ?? 0)) {
      this.#options.warn(`the last line of ${this.#path} has no line end yet: the next run reads it`)
    }
    await this.#closeLog(log)
  }

  /** Undefined while the log has no line. */
  async #openLog(log: LogFile, formatBefore?: string): Promise<OpenLog | undefined> {
    const { mtimeMs, dev, ino } = await log.stat()
    const head = await headOf(log, log.gzip || this.#nowMs() - mtimeMs >= this.#quietMs)
    if (head === undefined) return undefined
    const format = () => this.#sync.formatFor(log.path, head, formatBefore).name
    const record = await this.#checkpoint.recordOf(log, head, format, this.#nowMs())
    return { log, record, dev, ino, size: -1, mtimeMs: 0, changedAtMs: this.#nowMs() }
  }

  async #readOpen(open: OpenLog, isWhole = false): Promise<void> {
    const { log, record } = open
    const stats = await log.stat()
    const { size, mtimeMs } = stats
    const isQuiet = this.#nowMs() - mtimeMs >= this.#quietMs
    if (size !== open.size || mtimeMs !== open.mtimeMs) open.changedAtMs = this.#nowMs()
    else if (!isWhole) return
    Object.assign(open, { size, mtimeMs })
    if (log.gzip ? isRead(log, record, stats) : record.offset >= size) return
    await this.#sync.read(log, record, isWhole || log.gzip || (isQuiet && !this.#options.follow), this.#options.onRead)
    await this.#sync.settle()
  }

  /** Reads renamed logs until their writer has closed them. */
  async #readRenamed(): Promise<void> {
    const left: OpenLog[] = []
    for (const open of this.#renamed) {
      await this.#readOpen(open)
      if (this.#nowMs() - open.changedAtMs < this.#quietMs) {
        left.push(open)
        continue
      }
      await this.#readOpen(open, true)
      await this.#closeLog(open.log)
    }
    this.#renamed = left
  }

  async #isTruncated({ log, record, size, mtimeMs }: OpenLog): Promise<boolean> {
    const now = await log.stat()
    if (now.size === size && now.mtimeMs === mtimeMs) return false
    return !(await isSameLog(log, record))
  }

  /** Reads the end of a vanished log from its copy. Returns when the copy was written last; undefined when there is none. */
  async #readCopy(record: LogRecord, siblings: readonly Sibling[]): Promise<number | undefined> {
    const copy = await this.#findCopy(record, siblings)
    let mtimeMs: number | undefined
    if (copy !== undefined) {
      await this.#sync.read(copy, record, true)
      await this.#sync.settle()
      mtimeMs = (await copy.stat()).mtimeMs
      await this.#closeLog(copy)
    }
    record.ended = true
    this.#checkpoint.save(record)
    return mtimeMs
  }

  #warnOfTruncation(): void {
    this.#options.warn(
      `${this.#path} was truncated, and no copy is beside it: its last lines before that may be missing`,
    )
  }

  /** Reads new lines of logs at this path that have moved since the last run, and of logs that came and went in between. */
  async #readEarlier(current: Stats, currentRecord: LogRecord | undefined): Promise<void> {
    const earlier = this.#checkpoint.records.filter(
      (record) => record.path === this.#path && record !== currentRecord && record.ended !== true,
    )
    if (earlier.length === 0) return
    const siblings = await this.#siblings()
    let readToMs = 0
    for (const record of earlier) {
      const isCurrent = record.dev === current.dev && record.ino === current.ino
      const moved = isCurrent ? undefined : siblings.find(({ stats }) => isSameInode(stats, record))
      const log = moved && (await this.#openPath(moved.path))
      if (log !== undefined && (await isSameLog(log, record))) {
        const { dev, ino } = moved!.stats
        const open = { log, record, dev, ino, size: -1, mtimeMs: 0, changedAtMs: this.#nowMs() }
        await this.#readOpen(open)
        readToMs = Math.max(readToMs, moved!.stats.mtimeMs)
        if (this.#options.follow) this.#renamed.push(open)
        else await this.#closeLog(log)
        continue
      }
      if (log !== undefined) await this.#closeLog(log)
      const copiedMs = await this.#readCopy(record, siblings)
      if (copiedMs !== undefined) readToMs = Math.max(readToMs, copiedMs)
      else if (isCurrent) this.#warnOfTruncation()
    }
    if (readToMs > 0) await this.#readBetween(siblings, readToMs, current)
  }

  async #readBetween(siblings: readonly Sibling[], afterMs: number, current: Stats): Promise<void> {
    const between = siblings.filter(
      ({ path, stats }) =>
        isRotationOf(path, this.#path) &&
        stats.mtimeMs > afterMs &&
        !isSameInode(stats, current) &&
        !this.#checkpoint.records.some((record) => isSameInode(stats, record)),
    )
    for (const { path } of between.sort((a, b) => a.stats.mtimeMs - b.stats.mtimeMs)) {
      const log = await this.#openPath(path)
      const opened = log && (await this.#openLog(log))
      if (opened !== undefined) await this.#readOpen(opened, true)
      if (log !== undefined) await this.#closeLog(log)
    }
  }

  async #findCopy(record: LogRecord, siblings: readonly Sibling[]): Promise<LogFile | undefined> {
    for (const { path } of siblings) {
      // Any file may be beside the log.
      const log = path === this.#path ? undefined : await this.#openPath(path).catch(() => undefined)
      if (log === undefined) continue
      if (isNamedAsCopy(log, record) && (await isSameLog(log, record).catch(() => false))) return log
      await this.#closeLog(log)
    }
    return undefined
  }

  /** Files beside the log whose names begin with its name, the newest first. */
  async #siblings(): Promise<Sibling[]> {
    const folder = dirname(this.#path)
    const names = (await readdir(folder)).filter((name) => name.startsWith(basename(this.#path)))
    const found: Sibling[] = []
    for (const name of names) {
      const path = join(folder, name)
      const stats = await statOf(path)
      if (stats?.isFile()) found.push({ path, stats })
    }
    return found.sort((a, b) => b.stats.mtimeMs - a.stats.mtimeMs).slice(0, SIBLINGS_MAX)
  }
}

interface Sibling {
  readonly path: string
  readonly stats: Stats
}

async function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
}
