import { hash } from 'node:crypto'
import { existsSync, readFileSync, type Stats, statSync } from 'node:fs'
import { StartupError } from '../../../run/errors.ts'
import type { LogFile } from './log-file.ts'

/** The progress in a log. Everything before `offset` was sent and answered. */
export interface LogRecord {
  /** Part of the ids of its events. */
  readonly id: string
  /** Path where it was read last. */
  path: string
  dev: number
  ino: number
  /** The beginning: headers, and the first line that is none. */
  readonly headBytes: number
  readonly headHash: string
  offset: number
  /** Lines before `offset`. */
  lines: number
  /** The end of the last line before `offset`. */
  tailAt: number
  tailBytes: number
  tailHash: string
  format: string
  /** The header line that applies at `offset`. */
  header?: string | undefined
  /** The gzip file that was read to its end: the log itself, or a copy of it. */
  packed?: PackedFile | undefined
  /** Nothing more can be added: it was truncated, and its copy was read. */
  ended?: boolean
  /** Milliseconds since the epoch. */
  seenAtMs: number
}

/** A gzip file as it was when it was read. While all of this is the same, it need not be unpacked again. */
export interface PackedFile {
  readonly dev: number
  readonly ino: number
  readonly size: number
  readonly mtimeMs: number
}

/** The beginning of a log. */
export interface Head {
  readonly bytes: number
  readonly hash: string
  /** The first whole lines. */
  readonly lines: readonly string[]
}

/** Where the records are kept. */
export interface CheckpointFile {
  /** Replaces the content as a whole, or not at all. */
  replace(content: string): void
  append(content: string): void
}

/** Above this number, loading the file drops records of logs that no longer exist. */
const RECORDS_MAX = 2_000
/** The file is rewritten once more was appended than this, and than its first line has. */
const APPENDED_MAX_CHARS = 1_048_576
/** A record that changed only in its time is not saved again within this time. */
const SEEN_MS = 86_400_000
/** Suffixes that rotation adds to a name: `.1`, `.2.gz`, `-20261126`, `-2026-11-26.gz`, `.gz` */
const ROTATED = /(?:[.-]\d[\d._-]*(?:\.?gz)?|\.gz)$/
const HEAD_MAX_BYTES = 65_536
const TAIL_MAX_BYTES = 1_024
const LINE_FEED = 10
const HASH_SIGN = 35

/**
 * The records of all logs of a source. The file has lines of JSON: the first has all records, and each further one a record that has
 * changed since. A change so costs one line, however many logs there are.
 */
export class Checkpoint {
  readonly records: LogRecord[]
  readonly #file: CheckpointFile
  /** Size of the first line, and of the appended ones. */
  #wholeChars = 0
  #appendedChars = 0
  /** There is no file yet, or it may end with a part of a line. */
  #mustReplace = true

  /** @param file is empty, or does not exist */
  constructor(records: LogRecord[], file: CheckpointFile) {
    this.records = records
    this.#file = file
  }

  /**
   * @param path of the file, which need not exist
   * @param recordsMax records of logs that are gone are dropped beyond this number
   * @throws StartupError when it cannot be read
   */
  static load(path: string, file: CheckpointFile, recordsMax = RECORDS_MAX): Checkpoint {
    try {
      return new Checkpoint(withoutGone(recordsIn(readFileSync(path, 'utf8')), recordsMax), file)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Checkpoint([], file)
      throw new StartupError(
        `cannot read the checkpoint ${path}: ${(error as Error).message}: remove it to read all files from their start`,
      )
    }
  }

  /** @param changed records of this checkpoint */
  save(...changed: readonly LogRecord[]): void {
    const isFull = this.#appendedChars > Math.max(APPENDED_MAX_CHARS, this.#wholeChars)
    if (this.#mustReplace || isFull) {
      const whole = `${JSON.stringify({ logs: this.records })}\n`
      this.#file.replace(whole)
      this.#wholeChars = whole.length
      this.#appendedChars = 0
    } else {
      const lines = changed.map((record) => `${JSON.stringify(record)}\n`).join('')
      // A full disk may leave a partial line.
      this.#mustReplace = true
      this.#file.append(lines)
      this.#appendedChars += lines.length
    }
    this.#mustReplace = false
  }

  /**
   * The record of a log. A new one is saved before anything is sent, so that its events have the same ids after a crash.
   * @param format for a new record
   */
  async recordOf(log: LogFile, head: Head, format: () => string, nowMs: number): Promise<LogRecord> {
    const stats = await log.stat()
    const { dev, ino } = stats
    const known = await this.#knownRecord(log, stats, head)
    // A copy does not take the place of its log, which may be read in the same run.
    const isPlaced = known !== undefined && (isAt(known, log.path, stats) || isReadCopy(log, known, stats))
    if (isPlaced && nowMs - known.seenAtMs < SEEN_MS) return known
    const record = known ?? this.#newRecord(log, stats, head, format())
    Object.assign(record, { seenAtMs: nowMs, ...(!isPlaced && { path: log.path, dev, ino }) })
    this.save(record)
    return record
  }

  /** The same file, perhaps under another name, or a copy of it, perhaps as gzip. */
  async #knownRecord(log: LogFile, stats: Stats, head: Head): Promise<LogRecord | undefined> {
    const isOwn = (record: LogRecord) => isSameInode(stats, record) || isRead(log, record, stats)
    const mayBeCopy = (record: LogRecord) =>
      !isOwn(record) && record.headHash === head.hash && isNamedAsCopy(log, record)
    for (const record of [...this.records.filter(isOwn), ...this.records.filter(mayBeCopy)]) {
      if (await isSameLog(log, record)) return record
    }
    return undefined
  }

  #newRecord(log: LogFile, { dev, ino }: Inode, head: Head, format: string): LogRecord {
    let id = ''
    for (let generation = 0; id === '' || this.records.some((record) => record.id === id); generation++) {
      id = hash('sha256', `${dev} ${ino} ${head.hash} ${generation}`, 'hex').slice(0, 16)
    }
    const record: LogRecord = {
      ...{ id, path: log.path, dev, ino, headBytes: head.bytes, headHash: head.hash, offset: 0, lines: 0 },
      ...{ tailAt: 0, tailBytes: 0, tailHash: hashOf(Buffer.alloc(0)), format, seenAtMs: 0 },
    }
    this.records.push(record)
    return record
  }
}

/**
 * Whether the log's name says that it may be a copy of another. Logs of two servers may begin with the same lines, so that their
 * content alone does not tell.
 */
export function isNamedAsCopy({ path, gzip }: Pick<LogFile, 'path' | 'gzip'>, record: LogRecord): boolean {
  if (isRotationOf(path, record.path)) return true
  // Other names need more than the first line.
  if (record.offset <= record.headBytes) return false
  if (hasSuffix(path, record.path) || hasSuffix(record.path, path)) return true
  if (path.replace(ROTATED, '') !== record.path.replace(ROTATED, '')) return false
  // Rotation moves a log on to the next number, or compresses it.
  const isMoved = !isSameInode(statSync(record.path, { throwIfNoEntry: false }), record)
  return isMoved || gzip !== record.path.endsWith('.gz')
}

/** Whether rotation may have made the name of the base. */
export function isRotationOf(path: string, base: string): boolean {
  return path.startsWith(base) && ROTATED.exec(path.slice(base.length))?.index === 0
}

function hasSuffix(path: string, base: string): boolean {
  return path.startsWith(base) && /^(?:$|[._-])/.test(path.slice(base.length))
}

/** @param content whole lines, and perhaps a part of one that a crash left, which nothing was sent for */
function recordsIn(content: string): LogRecord[] {
  const byId = new Map<string, LogRecord>()
  const end = content.lastIndexOf('\n')
  const whole = end < 0 ? content : content.slice(0, end)
  for (const line of whole.split('\n')) {
    const value = JSON.parse(line) as LogRecord | { readonly logs: readonly LogRecord[] }
    for (const record of 'logs' in value ? value.logs : [value]) byId.set(record.id, record)
  }
  return [...byId.values()]
}

/**
 * Drops the oldest records whose logs are gone, while there are too many. A log that still exists would be sent again as a new one.
 * A path with several records is that of a rotated log: its newest record is kept.
 */
function withoutGone(records: LogRecord[], max: number): LogRecord[] {
  if (records.length <= max) return records
  const newest = new Map<string, LogRecord>()
  for (const record of records) {
    const other = newest.get(record.path)
    if (other === undefined || record.seenAtMs >= other.seenAtMs) newest.set(record.path, record)
  }
  const gone = records.filter((record) => newest.get(record.path) !== record || !existsSync(record.path))
  gone.sort((a, b) => a.seenAtMs - b.seenAtMs)
  const dropped = new Set(gone.slice(0, records.length - max))
  return records.filter((record) => !dropped.has(record))
}

interface Inode {
  readonly dev: number
  readonly ino: number
}

export function isSameInode(stats: Inode | undefined, { dev, ino }: Inode): boolean {
  return stats !== undefined && stats.dev === dev && stats.ino === ino
}

/** Whether the log is a gzip file that was read to its end, and has not changed since. */
export function isRead(log: Pick<LogFile, 'gzip'>, { packed }: LogRecord, stats: PackedFile): boolean {
  return (
    log.gzip &&
    packed !== undefined &&
    isSameInode(stats, packed) &&
    stats.size === packed.size &&
    stats.mtimeMs === packed.mtimeMs
  )
}

function isAt(record: LogRecord, path: string, stats: Inode): boolean {
  return record.path === path && isSameInode(stats, record)
}

/** Whether the log is a gzip file that was read, and the log that it is a copy of is still in its place. */
function isReadCopy(log: LogFile, record: LogRecord, stats: Stats): boolean {
  return isRead(log, record, stats) && isSameInode(statSync(record.path, { throwIfNoEntry: false }), record)
}

/** The end of a line, by which a log is recognised. @param raw the line @param start its offset */
export function tailOf(raw: Buffer, start: number): Pick<LogRecord, 'tailAt' | 'tailBytes' | 'tailHash'> {
  const tail = raw.subarray(Math.max(0, raw.length - TAIL_MAX_BYTES))
  return { tailAt: start + raw.length - tail.length, tailBytes: tail.length, tailHash: hashOf(tail) }
}

/**
 * Whether the log begins as the record says, and has the same line where the record ends. False after a truncation, even when the
 * file has grown past the offset again.
 */
export async function isSameLog(log: LogFile, record: LogRecord): Promise<boolean> {
  const stats = await log.stat()
  if (isRead(log, record, stats)) return true
  if (!log.gzip && stats.size < record.offset) return false
  const head = await log.bytesAt(0, record.headBytes)
  if (head.length < record.headBytes || hashOf(head) !== record.headHash) return false
  const tail = await log.bytesAt(record.tailAt, record.tailBytes)
  return tail.length === record.tailBytes && hashOf(tail) === record.tailHash
}

/**
 * Reads the beginning of a log up to the first line that is no header, so that it stays the same while the log grows.
 * @param isWhole nothing more will be written: the last line needs no line feed
 * @returns undefined when there is no such line yet
 */
export async function headOf(log: LogFile, isWhole: boolean): Promise<Head | undefined> {
  const start = await log.bytesAt(0, HEAD_MAX_BYTES)
  const isAll = isWhole && start.length < HEAD_MAX_BYTES
  const end = recordEnd(start) ?? (isAll || start.length === HEAD_MAX_BYTES ? start.length : 0)
  if (end === 0) return undefined
  const lines = start.toString('utf8').split(/\r?\n/)
  return { bytes: end, hash: hashOf(start.subarray(0, end)), lines: isAll ? lines : lines.slice(0, -1) }
}

/** The end of the first line that does not start with `#` and is not blank. */
function recordEnd(start: Buffer): number | undefined {
  for (let at = 0; at < start.length; ) {
    const end = start.indexOf(LINE_FEED, at)
    if (end < 0) return undefined
    if (start[at] !== HASH_SIGN && end > at + 1) return end + 1
    at = end + 1
  }
  return undefined
}

function hashOf(bytes: Buffer): string {
  return hash('sha256', bytes, 'hex').slice(0, 32)
}
