import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { StartupError } from '../../../run/errors.ts'
import type { LogFile } from './log-file.ts'

/** How far a log was read. All of it before `offset` was sent and answered. */
export interface LogRecord {
  /** Part of the ids of its events. */
  readonly id: string
  /** Where it was read last. */
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
  /** The header line that holds at `offset`. */
  header?: string | undefined
  /** Of a gzip file that was read to its end. */
  gzipSize?: number
  /** Nothing more can be added to it: it was truncated, and its copy was read. */
  ended?: boolean
  /** Milliseconds since the epoch. */
  seenAtMs: number
}

/** The beginning of a log. */
export interface Head {
  readonly bytes: number
  readonly hash: string
  /** The first whole lines. */
  readonly lines: readonly string[]
}

/** Records beyond this number are dropped, the oldest first. */
const RECORDS_MAX = 2_000
const HEAD_MAX_BYTES = 65_536
const TAIL_MAX_BYTES = 1_024
const LINE_FEED = 10
const HASH_SIGN = 35

/** The records of all logs of a source. */
export class Checkpoint {
  readonly records: LogRecord[]
  readonly #write: (content: string) => void

  /** @param write replaces the file as a whole */
  constructor(records: LogRecord[], write: (content: string) => void) {
    this.records = records
    this.#write = write
  }

  /** @param path of the file, which need not exist @throws StartupError when it cannot be read */
  static load(path: string, write: (content: string) => void): Checkpoint {
    try {
      const { logs } = JSON.parse(readFileSync(path, 'utf8')) as { readonly logs: LogRecord[] }
      return new Checkpoint(logs, write)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return new Checkpoint([], write)
      throw new StartupError(
        `cannot read the checkpoint ${path}: ${(error as Error).message}: remove it to read all files from their start`,
      )
    }
  }

  save(): void {
    if (this.records.length > RECORDS_MAX) {
      this.records.sort((a, b) => b.seenAtMs - a.seenAtMs)
      this.records.length = RECORDS_MAX
    }
    this.#write(`${JSON.stringify({ logs: this.records })}\n`)
  }

  /**
   * The record of a log. A new one is saved before anything is sent, so that its events have the same ids after a crash.
   * @param format for a new record
   */
  async recordOf(log: LogFile, head: Head, format: () => string, nowMs: number): Promise<LogRecord> {
    const { dev, ino } = await log.stat()
    const record =
      (await this.#knownRecord(log, { dev, ino }, head)) ?? this.#newRecord(log, { dev, ino }, head, format())
    Object.assign(record, { path: log.path, dev, ino, seenAtMs: nowMs })
    this.save()
    return record
  }

  /** The same file, perhaps under another name, or a copy of it, perhaps as gzip. */
  async #knownRecord(log: LogFile, { dev, ino }: Inode, head: Head): Promise<LogRecord | undefined> {
    const isOwn = (record: LogRecord) => record.dev === dev && record.ino === ino
    const mayBeCopy = (record: LogRecord) => !isOwn(record) && record.headHash === head.hash
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

interface Inode {
  readonly dev: number
  readonly ino: number
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
  const { size, dev, ino } = await log.stat()
  if (log.gzip && record.gzipSize === size && record.dev === dev && record.ino === ino) return true
  if (!log.gzip && size < record.offset) return false
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
