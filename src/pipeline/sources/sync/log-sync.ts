import { hash } from 'node:crypto'
import { BATCH_LIMITS } from '../../../../schemas/api/batch.ts'
import { addFiltered, type FilteredBy, mostFirst } from '../../../../schemas/filtered.ts'
import { InputError } from '../../../run/errors.ts'
import { pause } from '../../../run/loop.ts'
import type { Proxies } from '../../event/client-address.ts'
import { peek } from '../batch/files/encoding.ts'
import { isGzip, unzipped } from '../batch/files/event-file.ts'
import { formatFor, formatNamed, formatOfLines, formatWrappedAs, STARTUP_LINES_MAX } from '../formats/formats.ts'
import { BLANK, eventLine, type LineFormat, type LineJson, type LineReader, readLine } from '../formats/line-format.ts'
import type { Mapping } from '../mapped-fields.ts'
import { pageOf, type ToolEvent } from '../tools/tool-event.ts'
import { type Checkpoint, type Head, type LogRecord, type PackedFile, tailOf } from './checkpoint.ts'
import { LineCutter } from './line-cutter.ts'
import type { LogFile } from './log-file.ts'
import type { SentAnswer } from './sender.ts'

/** A request is sent when its events have this size. */
const BATCH_CHARS = 4_194_304
/** Lines without an event move the checkpoint when there are this many. */
const BATCH_LINES = 200_000
const ERRORS_MAX = 20
const REASONS_MAX = 50

/** Counts of lines. A line counts once the checkpoint has passed it. */
export class SyncTally {
  lines = 0
  /** Events that the API has accepted. */
  sent = 0
  /** Accepted events that were filtered, as far as they are judged. */
  readonly filtered: Partial<Record<FilteredBy, number>> = {}
  invalidIp = 0
  noIp = 0
  /** Accepted events that a batch job has not judged yet. */
  unjudged = 0
  /** Lines without an event, by reason. */
  readonly skipped = new Map<string, number>()
  rejected = 0
  /** Rejected lines by reason. */
  readonly reasons = new Map<string, number>()
  /** The first rejected lines. */
  readonly errors: { readonly file: string; readonly line: number; readonly reason: string }[] = []
}

export interface LogSyncOptions {
  /** Undefined: recognised for each log. */
  readonly format: LineFormat | undefined
  readonly mapping: Mapping | undefined
  /** Includes requests that are not page views. */
  readonly all: boolean
  /** Origin of the pages whose log has only their paths: `https://www.example.com`. Undefined: paths stay. */
  readonly site?: string | undefined
  /** See `ReadLineOptions`. */
  readonly trusted?: Proxies | undefined
  /** Resolves when the events are durable. @param lines NDJSON */
  send(lines: readonly string[]): Promise<SentAnswer>
  /** See `SourceSender.judged`. */
  judged(jobId: string): Promise<SentAnswer | 'never' | 'failed' | undefined>
  readonly checkpoint: Checkpoint
  /** Ends the reading after the current piece. */
  readonly stop: AbortSignal
}

/** Events in flight, and the checkpoint once they have arrived. */
class Batch {
  readonly lines: string[] = []
  chars = 0
  readonly progress = new Map<LogRecord, Progress>()
  readonly tally = new SyncTally()
}

interface Progress {
  offset: number
  lines: number
  header: string | undefined
  packed: PackedFile | undefined
  last: { readonly raw: Buffer; readonly start: number } | undefined
}

/** Reads logs, and sends their events. The checkpoint of a log advances when the events before it have arrived. */
export class LogSync {
  readonly tally = new SyncTally()
  readonly #options: LogSyncOptions
  #batch = new Batch()
  #sending: Promise<void> = Promise.resolve()
  #isSending = false
  /** Jobs with events that are not judged yet, and the number of these events; the oldest first. */
  readonly #jobs = new Map<string, number>()
  #lookedAtMs = 0

  constructor(options: LogSyncOptions) {
    this.#options = options
  }

  /** @throws InputError when no format recognises the lines @param before format of the log that was at this place before */
  formatFor(path: string, head: Pick<Head, 'lines'>, before?: string): LineFormat {
    const named = this.#options.format
    if (named !== undefined) return formatFor(named, head.lines)
    const format = formatOfLines(head.lines) ?? (before && formatNamed(before))
    if (format) return format
    throw new InputError(
      `the format of ${path} is not known: name it with --format, or say where the fields of JSON are with --map`,
    )
  }

  /**
   * Reads a log from its checkpoint to its present end. Resolves when its lines are read, perhaps before they are sent.
   * @param takesRest a last line without a line feed is whole
   */
  async read(log: LogFile, record: LogRecord, takesRest: boolean, onRead?: (bytes: number) => void): Promise<void> {
    const named = this.#options.format
    const format = named === undefined ? formatNamed(record.format)! : formatWrappedAs(record.format, named)
    const reader = this.#readerOf(format)
    if (record.header !== undefined) reader.read(record.header)
    const { offset, lines, header } = record
    const at: Progress = { offset, lines, header, packed: undefined, last: undefined }
    let line = lines
    let last: Progress['last']
    const take = (raw: Buffer | undefined, start: number, next: number) => {
      line++
      if (raw !== undefined && raw.length > 0) last = { raw, start }
      this.#take(reader, raw, log.path, line, () => `log-${record.id}-${start}`)
      // The parts of a line are read again if the process ends before the last one.
      if (reader.isBetween !== false) Object.assign(at, { offset: next, lines: line, last, header: reader.header })
    }
    const cutter = new LineCutter(record.offset)
    // Before the read, so that bytes added meanwhile do not count as read.
    const { dev, ino, size, mtimeMs } = await log.stat()
    const { stop } = this.#options
    for await (const bytes of log.read(record.offset, onRead)) {
      cutter.push(bytes, take)
      await this.#advance(record, at)
      if (stop.aborted) return
    }
    if (takesRest) cutter.end(take)
    if (log.gzip) at.packed = { dev, ino, size, mtimeMs }
    await this.#advance(record, at)
  }

  /** Reads a stream to its end. It has no checkpoint: an id is made of the first line, the offset and the line itself. */
  async readStream(name: string, source: AsyncIterable<Buffer>): Promise<void> {
    const [magic, whole] = await peek(source, 2)
    const { format: named } = this.#options
    const isKnown = (lines: readonly string[]) => named !== undefined || formatOfLines(lines) !== undefined
    const { head, all } = await firstLines(isGzip(magic) ? unzipped(name, whole) : whole, isKnown)
    const reader = this.#readerOf(this.formatFor(name, { lines: head }))
    const base = head.find((line) => line !== '' && !line.startsWith('#')) ?? ''
    let lines = 0
    const take = (raw: Buffer | undefined, start: number) =>
      this.#take(reader, raw, name, ++lines, () => {
        const digest = hash(
          'sha256',
          Buffer.concat([Buffer.from(`${base}\n${start}\n`), raw ?? Buffer.alloc(0)]),
          'hex',
        )
        return `log-${digest.slice(0, 32)}`
      })
    const cutter = new LineCutter(0)
    // A program may write a line now and then.
    const timer = setInterval(() => {
      if (!this.#isSending) this.#flush().catch(() => {})
    }, STREAM_FLUSH_MS)
    try {
      for await (const bytes of all) {
        cutter.push(bytes, take)
        if (this.#batch.chars >= BATCH_CHARS) await this.#flush()
        await this.#sendingFailure()
        if (this.#options.stop.aborted) return
      }
      cutter.end(take)
    } finally {
      clearInterval(timer)
    }
  }

  /** Resolves when everything that was read is sent, and the checkpoint has it. */
  async settle(): Promise<void> {
    await this.#flush()
    await this.#sending
  }

  /** Waits for the batch jobs that judge the sent events. Resolves when all have ended, after `patienceMs`, or after `stop`. */
  async judge(patienceMs: number): Promise<void> {
    const { stop } = this.#options
    const endMs = performance.now() + patienceMs
    while (this.#jobs.size > 0 && performance.now() < endMs && !stop.aborted) {
      await this.#look()
      if (this.#jobs.size > 0) await pause(LOOK_EVERY_MS, stop)
    }
  }

  /** Counts the events of jobs that have ended. They end in their order. */
  async #look(): Promise<void> {
    this.#lookedAtMs = performance.now()
    for (const [jobId, events] of this.#jobs) {
      const answer = await this.#options.judged(jobId)
      if (answer === undefined) return
      this.#jobs.delete(jobId)
      if (answer === 'never') continue
      this.tally.unjudged -= events
      if (answer === 'failed') {
        this.tally.sent -= events
        this.tally.rejected += events
        count(this.tally.reasons, 'their job failed or was cancelled', events)
        continue
      }
      this.tally.sent -= answer.rejected
      countAnswer(this.tally, answer)
    }
  }

  #readerOf(format: LineFormat): LineReader {
    const { all, mapping, trusted } = this.#options
    return format.reader({ all, mapping, trusted, nowMs: Date.now() })
  }

  #take(reader: LineReader, raw: Buffer | undefined, file: string, line: number, id: () => string): void {
    const { tally, lines } = this.#batch
    tally.lines++
    const result = raw === undefined ? TOO_LONG : readRaw(reader, raw, this.#options.site, id)
    if ('skipped' in result) {
      count(tally.skipped, result.skipped)
    } else if ('rejected' in result) {
      reject(tally, file, line, result.rejected)
    } else {
      lines.push(result.json)
      this.#batch.chars += result.json.length + 1
    }
  }

  async #advance(record: LogRecord, at: Progress): Promise<void> {
    this.#batch.progress.set(record, { ...at })
    if (this.#batch.chars >= BATCH_CHARS || this.#batch.tally.lines >= BATCH_LINES) await this.#flush()
  }

  /** Sends the batch while the next one is read. One request is under way at a time. */
  async #flush(): Promise<void> {
    const { tally, progress } = this.#batch
    if (tally.lines === 0 && ![...progress.values()].some(({ packed }) => packed)) return this.#sendingFailure()
    const batch = this.#batch
    this.#batch = new Batch()
    const before = this.#sending
    const sending = before.then(async () => {
      this.#isSending = true
      await this.#deliver(batch).finally(() => {
        this.#isSending = false
      })
    })
    sending.catch(() => {})
    this.#sending = sending
    await before
  }

  /** Rejects when a request has failed. */
  #sendingFailure(): Promise<void> {
    return Promise.race([this.#sending, Promise.resolve()])
  }

  async #deliver({ lines, progress, tally }: Batch): Promise<void> {
    if (lines.length > 0) {
      const answer = await this.#options.send(lines)
      tally.sent = lines.length - answer.rejected
      countAnswer(tally, answer)
      if (answer.jobId !== undefined) {
        tally.unjudged = lines.length
        if (this.#jobs.size < JOBS_MAX) this.#jobs.set(answer.jobId, lines.length)
      }
    }
    for (const [record, { last, packed, ...reached }] of progress) {
      Object.assign(record, reached, last && tailOf(last.raw, last.start), packed && { packed })
    }
    if (progress.size > 0) this.#options.checkpoint.save(...progress.keys())
    merge(this.tally, tally)
    if (performance.now() - this.#lookedAtMs > LOOK_EVERY_MS) await this.#look()
  }
}

/** Further jobs are not followed. */
const JOBS_MAX = 1_000
const LOOK_EVERY_MS = 1_000

const TOO_LONG: LineJson = { rejected: `is longer than ${BATCH_LIMITS.lineMaxBytes} bytes` }

function readRaw(reader: LineReader, raw: Buffer, site: string | undefined, id: () => string): LineJson {
  const text = raw.toString('utf8')
  const line = text.endsWith('\r') ? text.slice(0, -1) : text
  return line.trim() === '' ? BLANK : readLine(reader, line, (event) => eventLine(onSite(event, site), id))
}

function onSite(event: ToolEvent, site: string | undefined): ToolEvent {
  const path = event.page?.url
  if (site === undefined || !path?.startsWith('/')) return event
  return { ...event, page: { ...event.page, url: pageOf(site + path, undefined)?.url } }
}

const STREAM_FLUSH_MS = 1_000

function count(counts: Map<string, number>, reason: string, by = 1): void {
  if (counts.has(reason) || counts.size < REASONS_MAX) counts.set(reason, (counts.get(reason) ?? 0) + by)
  else counts.set('other reasons', (counts.get('other reasons') ?? 0) + by)
}

function reject(tally: SyncTally, file: string, line: number, reason: string): void {
  tally.rejected++
  count(tally.reasons, reason)
  if (tally.errors.length < ERRORS_MAX) tally.errors.push({ file, line, reason })
}

function countAnswer(tally: SyncTally, { rejected, filtered, invalidIp, noIp }: SentAnswer): void {
  for (const [by, events] of mostFirst(filtered)) addFiltered(tally.filtered, by, events)
  tally.invalidIp += invalidIp
  tally.noIp += noIp
  tally.rejected += rejected
  if (rejected > 0) count(tally.reasons, 'refused by the API', rejected)
}

function merge(into: SyncTally, from: SyncTally): void {
  into.lines += from.lines
  into.sent += from.sent
  for (const [by, events] of mostFirst(from.filtered)) addFiltered(into.filtered, by, events)
  into.unjudged += from.unjudged
  into.invalidIp += from.invalidIp
  into.noIp += from.noIp
  into.rejected += from.rejected
  for (const [reason, by] of from.skipped) count(into.skipped, reason, by)
  for (const [reason, by] of from.reasons) count(into.reasons, reason, by)
  into.errors.push(...from.errors.slice(0, ERRORS_MAX - into.errors.length))
}

const HEAD_MAX_BYTES = 65_536

/**
 * Reads until the first line that is no header, and until the format is known. Returns the whole lines so far, and the whole stream.
 */
async function firstLines(
  source: AsyncIterable<Buffer>,
  isKnown: (lines: readonly string[]) => boolean,
): Promise<{ readonly head: readonly string[]; readonly all: AsyncIterable<Buffer> }> {
  const iterator = source[Symbol.asyncIterator]()
  const chunks: Buffer[] = []
  let text = ''
  let isEnd = false
  const lines = () => text.split(/\r?\n/).slice(0, isEnd ? undefined : -1)
  const isEnough = (found: readonly string[]) =>
    found.some((line) => line !== '' && !line.startsWith('#')) && (found.length > STARTUP_LINES_MAX || isKnown(found))
  while (!isEnd && text.length < HEAD_MAX_BYTES && !isEnough(lines())) {
    const next = await iterator.next()
    if (next.done) isEnd = true
    else {
      chunks.push(next.value)
      text = Buffer.concat(chunks).toString('utf8')
    }
  }
  async function* all(): AsyncGenerator<Buffer> {
    yield Buffer.concat(chunks)
    if (!isEnd) yield* { [Symbol.asyncIterator]: () => iterator }
  }
  return { head: lines(), all: all() }
}
