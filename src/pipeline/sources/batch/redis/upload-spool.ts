import type { Addresses } from '../../../../../schemas/tenant.ts'
import { HttpError } from '../../../../http/engine/http-error.ts'
import { BackpressureError, UnavailableError } from '../../../../run/errors.ts'
import { type DelayBounds, Loop, retry } from '../../../../run/loop.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { lossesOf } from '../../../../stores/redis/connection-losses.ts'
import { persisted } from '../../../../stores/redis/durability/persisted.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { loadScript, type Write } from '../../../../stores/redis/scripts.ts'
import { EmptyUploadError, type FileFacts, type Upload, UploadTooLargeError } from '../../../declaration/batch-jobs.ts'
import type { LineChunk } from '../../../declaration/source.ts'
import type { EventContext } from '../../../event/read-event.ts'
import { LineChunker } from '../line-chunker.ts'
import { packLines } from './packed-lines.ts'

interface UploadSpoolOptions {
  readonly client: RedisClient
  readonly jobId: string
  readonly context: EventContext
  /** How addresses are stored. The feeder reads the tenant's key for masked ones. */
  readonly addresses: Addresses
  readonly file: FileFacts
  /** How long a write to Redis may be retried before the upload fails. */
  readonly deadlineMs: number
  /** Claims the idempotency key of the upload, if it has one. Rejects with `HttpError` 409 when another upload has it. */
  readonly claim: () => Promise<void>
  /** Removes the upload from the tenant's open jobs, and its claim. Called once when it ends without a job. */
  readonly release: () => Promise<void>
  /** Most bytes, compressed, that the uploads and jobs of the tenant may hold. */
  readonly spoolBytesMax: number
  /** Why intake is closed for a tenant with or without an archive. Undefined while it is open. */
  readonly closedBecause: (archived: boolean) => string | undefined
}

/** The keys of an upload expire after this time without a heartbeat: it counts as dead. */
export const UPLOAD_TTL_MS = 15_000
const HEARTBEAT_MS = 5_000
const RETRY_DELAY: DelayBounds = { minMs: 50, maxMs: 250 }
const HEARTBEAT_DELAY: DelayBounds = { minMs: 500, maxMs: 1_000 }
/** Chunks that may be in flight to Redis. Above it, `write` waits. */
const IN_FLIGHT_MAX = 16

/** Request an fsync every 16 MiB, so that less is left to sync at the end of the upload. */
const EARLY_SYNC_BYTES = 16_777_216

/** How often an upload counts its bytes. */
const COUNT_EVERY_BYTES = 1_048_576
/** When to try again while the tenant's part of the spool is full. */
const RETRY_AFTER_SECONDS = 10

/** Result of `spoolChunk` when the chunk before it is still missing. */
const TOO_EARLY = 2

const spoolChunkScript = loadScript(import.meta.url, './spoolChunk-3.lua')
const addSpooledScript = loadScript(import.meta.url, './addSpooled-2.lua')
const completeUploadScript = loadScript(import.meta.url, './completeUpload-4.lua')

/** Position of a chunk's lines in their upload. */
type LineNumbers = Pick<LineChunk, 'firstLine' | 'gaps'>

/** A chunk as it is spooled. */
interface SpooledChunk extends LineChunk {
  /** Whether its bytes are compressed. Those of earlier versions are not. */
  readonly isPacked?: boolean
}

/** Before the numbers of a chunk whose lines are compressed. */
const PACKED = 'z'

/**
 * Formats the first line, then for each gap the lines before it and the blank lines in it: `1,3:10,1:1`; `z1,3:10,1:1` for compressed
 * lines.
 */
export function formatLineNumbers({ firstLine, gaps, isPacked }: Omit<SpooledChunk, 'bytes'>): string {
  return (isPacked ? PACKED : '') + [firstLine, ...gaps.map(({ after, blank }) => `${after}:${blank}`)].join()
}

/** @param text from `formatLineNumbers` */
export function parseLineNumbers(text: string): LineNumbers & { readonly isPacked: boolean } {
  const isPacked = text.startsWith(PACKED)
  const [firstLine, ...gaps] = text.slice(isPacked ? PACKED.length : 0).split(',')
  return {
    isPacked,
    firstLine: Number(firstLine),
    gaps: gaps.map((gap) => {
      const [after, blank] = gap.split(':')
      return { after: Number(after), blank: Number(blank) }
    }),
  }
}

/** Sends a chunk; the first has number 1. May be repeated, even after the end of the upload. Returns the script's result. */
export async function spoolChunk(
  client: RedisClient,
  { jobId, number }: { readonly jobId: string; readonly number: number },
  chunk: SpooledChunk,
): Promise<number> {
  const lines = keys.chunk(jobId, number)
  // NX: a late repeat must not set an expiry on the lines of a job.
  const write: Write = ['SET', lines, chunk.bytes, 'PX', UPLOAD_TTL_MS, 'NX']
  const names = [keys.upload(jobId), keys.chunks(jobId), lines]
  const args = [UPLOAD_TTL_MS, number, formatLineNumbers(chunk)]
  return Number(await spoolChunkScript.runAfter(client, [write], names, args))
}

/** Stores an upload in Redis as it arrives. Its chunks expire unless heartbeats continue or the upload completes. */
export class UploadSpool implements Upload {
  readonly #options: UploadSpoolOptions
  readonly #chunker: LineChunker
  readonly #heartbeat: Loop
  readonly #inFlight = new Set<Promise<void>>()
  /** Settles with the last chunk that was sent. Never rejects. */
  #last: Promise<void> = Promise.resolve()
  #failure: unknown
  /** Settles when the chunk before was handed to the client, so that chunks are sent in order. Never rejects. */
  #turn: Promise<unknown> = Promise.resolve()
  #chunks = 0
  #spooledBytes = 0
  /** `#spooledBytes` when they were last counted. */
  #countedBytes = 0
  #unsyncedBytes = 0
  #ended = false
  #completing = false
  /** `lossesOf` the client before the first chunk. */
  readonly #losses: number

  /** The upload's key must exist already. */
  constructor(options: UploadSpoolOptions) {
    this.#options = options
    const { client, jobId, file } = options
    this.#losses = lossesOf(client)
    this.#chunker = new LineChunker((chunk) => this.#send(chunk), file.bytesMax)
    this.#heartbeat = new Loop({
      name: `upload ${jobId}`,
      round: async () => {
        const names = [keys.upload(jobId), ...chunkKeys(jobId, this.#chunks)]
        // XX: a late heartbeat must not set an expiry on the lines of a job.
        await Promise.all(names.map((name) => client.pexpire(name, UPLOAD_TTL_MS, 'XX')))
        return HEARTBEAT_MS
      },
      // The next script call fails if the upload's key has expired.
      failed: () => {},
      delay: HEARTBEAT_DELAY,
    })
    void this.#heartbeat.start()
  }

  get jobId(): string {
    return this.#options.jobId
  }

  async write(bytes: Buffer): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    const { closedBecause, context } = this.#options
    const reason = closedBecause(context.archived === true)
    if (reason !== undefined) throw new BackpressureError(reason)
    this.#chunker.push(bytes)
    while (this.#inFlight.size >= IN_FLIGHT_MAX) await Promise.race(this.#inFlight)
    if (this.#failure !== undefined) throw this.#failure
    if (this.#spooledBytes - this.#countedBytes >= COUNT_EVERY_BYTES) await this.#assertRoom()
  }

  /**
   * Counts the bytes of this upload for its tenant. Parallel uploads may pass the limit by `COUNT_EVERY_BYTES` and the bytes in flight.
   * @throws UploadTooLargeError when it alone passes the limit, BackpressureError when it does so with other jobs
   */
  async #assertRoom(): Promise<void> {
    const { client, jobId, context, spoolBytesMax } = this.#options
    const { tenantId } = context
    const bytes = this.#spooledBytes
    const names = [keys.openJobsOf(tenantId), keys.spooledBytesOf(tenantId)]
    // While Redis is down, writes of chunks wait. They fail the upload if Redis stays down.
    const sum = Number(await addSpooledScript.run(client, names, [jobId, bytes]).catch(() => 0))
    if (sum > 0) this.#countedBytes = bytes
    if (sum <= spoolBytesMax) return
    const limit = `${Math.round(spoolBytesMax / 2 ** 20)} MiB, compressed (BATCH_SPOOL_MAX)`
    if (bytes > spoolBytesMax) throw new UploadTooLargeError(`the upload has more than ${limit}`)
    throw new BackpressureError(
      `the uploads that are queued or running have more than ${limit}: wait until one of them has ended`,
      RETRY_AFTER_SECONDS,
      'jobs',
    )
  }

  async complete(commit: () => void = () => {}, fingerprint?: string): Promise<{ jobId: string; received: number }> {
    const { client, jobId, context, addresses, file } = this.#options
    this.#chunker.end()
    await Promise.all(this.#inFlight)
    if (this.#failure !== undefined) throw this.#failure
    await this.#assertRoom()
    const { received } = this.#chunker
    if (received === 0) throw new EmptyUploadError('the body has no lines')
    const { tenantId, receivedAtMs, archived } = context
    const record = { tenant_id: tenantId, status: 'queued', received, received_at: receivedAtMs, chunks: this.#chunks }
    const choices = { ...(archived ? { archived: 1 } : {}), ...(addresses === 'full' ? {} : { addresses }) }
    const named = {
      ...(file.name === undefined ? {} : { file_name: file.name }),
      ...(file.label === undefined ? {} : { label: file.label }),
      ...(fingerprint === undefined ? {} : { fingerprint }),
      ...(file.source === undefined ? {} : { source: file.source }),
      ...(file.sourceId === undefined ? {} : { source_id: file.sourceId }),
    }
    const fields = Object.entries({ ...record, next: 1, ...choices, ...named }).flat()
    const names = [keys.upload(jobId), keys.chunks(jobId), keys.job(jobId), keys.jobReceipt(jobId)]
    const args = [this.#chunks, keys.chunk(jobId, ''), file.leavesReceipt ? 1 : 0, ...fields]
    await this.#persist(async () => {
      await this.#options.claim()
      return 1
    })
    // A heartbeat after the script would set an expiry on the chunks of the job.
    await this.#heartbeat.stop()
    commit()
    this.#completing = true
    await this.#persist(async () => {
      if (await this.#isForgotten()) return 0
      const result = await completeUploadScript.run(client, names, args)
      await persisted(client)
      return result
    })
    this.#ended = true
    return { jobId, received }
  }

  async abort(): Promise<void> {
    if (this.#ended) return
    this.#ended = true
    const { client, jobId, release } = this.#options
    await Promise.all([this.#heartbeat.stop(), ...this.#inFlight])
    // The job may or may not exist. If it does, it is complete; if not, the keys expire.
    if (this.#completing) return
    await client.unlink(keys.upload(jobId), ...chunkKeys(jobId, this.#chunks))
    await release()
  }

  /** After a fail-over, the upload may be missing among the open jobs. No feeder would find its job. */
  async #isForgotten(): Promise<boolean> {
    const { client, jobId } = this.#options
    if (lossesOf(client) === this.#losses) return false
    // An earlier call may have made the job, and it may have ended.
    const [isOpen, isJob] = await Promise.all([client.hexists(keys.openJobs(), jobId), client.exists(keys.job(jobId))])
    return isOpen + isJob === 0
  }

  #send(chunk: LineChunk): void {
    const { client, jobId } = this.#options
    const number = ++this.#chunks
    const before = this.#last
    const turn = this.#turn
    const packed = packLines(chunk.bytes)
    // `mine` reports it in its turn.
    packed.catch(() => {})
    const mine = turn.then(() => packed)
    this.#turn = mine.catch(() => {})
    const sent = mine
      .then(async (bytes) => {
        await this.#persist(() => spoolChunk(client, { jobId, number }, { ...chunk, bytes, isPacked: true }), before)
        this.#spooledBytes += bytes.length
        this.#syncEarly(bytes.length)
      })
      .catch((error) => {
        this.#failure ??= error
      })
      .finally(() => this.#inFlight.delete(sent))
    this.#inFlight.add(sent)
    this.#last = sent
  }

  #syncEarly(bytes: number): void {
    this.#unsyncedBytes += bytes
    if (this.#unsyncedBytes < EARLY_SYNC_BYTES) return
    this.#unsyncedBytes = 0
    // `complete` checks the result of the last fsync.
    persisted(this.#options.client, { isHot: true }).catch(() => {})
  }

  /**
   * Retries an idempotent call until Redis has taken it or the deadline has passed.
   * @param before the chunk before; it may still be in flight, as a repeat
   */
  async #persist(run: () => Promise<unknown>, before: Promise<void> = Promise.resolve()): Promise<void> {
    const deadlineMs = performance.now() + this.#options.deadlineMs
    const isFinal = (error: unknown) => error instanceof UnavailableError || error instanceof HttpError
    const persist = async () => {
      let result = await run()
      if (result === TOO_EARLY) {
        await before
        if (this.#failure !== undefined) throw this.#failure
        result = await run()
      }
      if (result === 0) throw new UnavailableError('the upload was interrupted for too long')
      if (result !== 1) throw new UnavailableError('a chunk of the upload was lost')
    }
    try {
      await retry(persist, { delay: RETRY_DELAY, deadlineMs, isFinal })
    } catch (error) {
      if (isFinal(error)) throw error
      throw new UnavailableError('the event store did not take the upload in time', { cause: error })
    }
  }
}

/** The keys that hold the lines of an upload with `count` chunks. */
function chunkKeys(jobId: string, count: number): string[] {
  return [keys.chunks(jobId), ...Array.from({ length: count }, (_, i) => keys.chunk(jobId, i + 1))]
}
