import type { Addresses } from '../../../../../schemas/tenant.ts'
import { BackpressureError, UnavailableError } from '../../../../run/errors.ts'
import { type DelayBounds, Loop, retry } from '../../../../run/loop.ts'
import type { RedisClient } from '../../../../stores/redis/connect.ts'
import { persisted } from '../../../../stores/redis/durability/persisted.ts'
import { keys } from '../../../../stores/redis/keys.ts'
import { loadScript, type Write } from '../../../../stores/redis/scripts.ts'
import { EmptyUploadError, type FileFacts, type Upload } from '../../../declaration/batch-jobs.ts'
import type { LineChunk, Receipt } from '../../../declaration/source.ts'
import { LineChunker } from '../line-chunker.ts'
import { formatLineNumbers } from './line-numbers.ts'

export interface UploadSpoolOptions {
  readonly client: RedisClient
  readonly jobId: string
  /** Of all events of the upload. */
  readonly receipt: Receipt
  /** What is stored of their addresses: the feeder asks for the key that this takes. */
  readonly addresses: Addresses
  readonly file: FileFacts
  /** How long Redis may refuse a chunk before the upload is refused. */
  readonly deadlineMs: number
  /** Gives the tenant's place back; called once when the upload ends without a job. */
  readonly release: () => Promise<void>
  /** Why intake is closed for a tenant, with an archive or without one; undefined while it is open. */
  readonly closedBecause: (archived: boolean) => string | undefined
}

/** An upload that was not heard of for this long is dead, and its keys expire. */
export const UPLOAD_TTL_MS = 15_000
const HEARTBEAT_MS = 5_000
const RETRY_DELAY: DelayBounds = { minMs: 50, maxMs: 250 }
const HEARTBEAT_DELAY: DelayBounds = { minMs: 500, maxMs: 1_000 }
/** Chunks that may be on their way to Redis; more hold up the sender. */
const IN_FLIGHT_MAX = 16

/** Bytes behind which the disk is asked for what came so far: at the end of the upload less is left to wait for. */
const EARLY_SYNC_BYTES = 16_777_216

/** Answer for a chunk that is there before the one that it follows. */
const TOO_EARLY = 2

const spoolChunkScript = loadScript(import.meta.url, './spoolChunk-3.lua')
const completeUploadScript = loadScript(import.meta.url, './completeUpload-3.lua')

/** Sends a chunk, numbered from 1. May be repeated, also when the upload has ended. Returns what the script does. */
export async function spoolChunk(
  client: RedisClient,
  { jobId, number }: { readonly jobId: string; readonly number: number },
  chunk: LineChunk,
): Promise<number> {
  const lines = keys.chunk(jobId, number)
  // One that comes late must not give the lines of a job an end.
  const write: Write = ['SET', lines, chunk.bytes, 'PX', UPLOAD_TTL_MS, 'NX']
  const names = [keys.upload(jobId), keys.chunks(jobId), lines]
  const args = [UPLOAD_TTL_MS, number, formatLineNumbers(chunk)]
  return Number(await spoolChunkScript.runBehind(client, [write], names, args))
}

/** Keeps an upload in Redis while it comes in: as chunks that expire unless the upload lives or completes. */
export class UploadSpool implements Upload {
  readonly #options: UploadSpoolOptions
  readonly #chunker: LineChunker
  readonly #heartbeat: Loop
  readonly #inFlight = new Set<Promise<void>>()
  /** Resolves when the chunk that was sent last is kept, or has failed. */
  #last: Promise<void> = Promise.resolve()
  #failure: unknown
  #chunks = 0
  #unsyncedBytes = 0
  #ended = false
  #completing = false

  /** The upload's key must exist already. */
  constructor(options: UploadSpoolOptions) {
    this.#options = options
    const { client, jobId, file } = options
    this.#chunker = new LineChunker((chunk) => this.#send(chunk), file.bytesMax)
    this.#heartbeat = new Loop({
      name: `upload ${jobId}`,
      round: async () => {
        const names = [keys.upload(jobId), ...chunkKeys(jobId, this.#chunks)]
        // One that comes late must not give the lines of a job an end.
        await Promise.all(names.map((name) => client.pexpire(name, UPLOAD_TTL_MS, 'XX')))
        return HEARTBEAT_MS
      },
      // An upload that is not heard of for too long is refused by the next script that looks for it.
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
    const { closedBecause, receipt } = this.#options
    const reason = closedBecause(receipt.archived === true)
    if (reason !== undefined) throw new BackpressureError(reason)
    this.#chunker.push(bytes)
    while (this.#inFlight.size >= IN_FLIGHT_MAX) await Promise.race(this.#inFlight)
    if (this.#failure !== undefined) throw this.#failure
  }

  async complete(commit: () => void = () => {}): Promise<{ jobId: string; received: number }> {
    const { client, jobId, receipt, addresses, file } = this.#options
    this.#chunker.end()
    await Promise.all(this.#inFlight)
    if (this.#failure !== undefined) throw this.#failure
    const { received } = this.#chunker
    if (received === 0) throw new EmptyUploadError('the body has no lines')
    const { tenantId, receivedAtMs, archived } = receipt
    const record = { tenant_id: tenantId, status: 'queued', received, received_at: receivedAtMs, chunks: this.#chunks }
    const choices = { ...(archived ? { archived: 1 } : {}), ...(addresses === 'full' ? {} : { addresses }) }
    const named = {
      ...(file.name === undefined ? {} : { file_name: file.name }),
      ...(file.source === undefined ? {} : { source: file.source }),
    }
    const fields = Object.entries({ ...record, next: 1, ...choices, ...named }).flat()
    const names = [keys.upload(jobId), keys.chunks(jobId), keys.job(jobId)]
    // One more beat behind the script would let the chunks of the job expire.
    await this.#heartbeat.stop()
    commit()
    this.#completing = true
    await this.#persist(async () => {
      const result = await completeUploadScript.run(client, names, [this.#chunks, keys.chunk(jobId, ''), ...fields])
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
    // Whether it became a job is not known: if so it is done whole, and if not its keys expire.
    if (this.#completing) return
    await client.unlink(keys.upload(jobId), ...chunkKeys(jobId, this.#chunks))
    await release()
  }

  #send(chunk: LineChunk): void {
    const { client, jobId } = this.#options
    const number = ++this.#chunks
    const before = this.#last
    const sent = this.#persist(() => spoolChunk(client, { jobId, number }, chunk), before)
      .then(() => this.#syncEarly(chunk.bytes.length))
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
    // Whether the disk took it is asked at the end.
    persisted(this.#options.client, true).catch(() => {})
  }

  /**
   * Repeats what is safe to repeat until Redis has taken it, or the deadline has passed.
   * @param before what has to be there first: chunks are sent one behind the other, but one may have to be sent again
   */
  async #persist(run: () => Promise<unknown>, before: Promise<void> = Promise.resolve()): Promise<void> {
    const { deadlineMs: patienceMs } = this.#options
    const deadlineMs = performance.now() + patienceMs
    const isFinal = (error: unknown) => error instanceof UnavailableError
    const persist = async () => {
      let result = await run()
      if (result === TOO_EARLY) {
        await before
        if (this.#failure !== undefined) throw this.#failure
        result = await run()
      }
      if (result === 0) throw new UnavailableError('the upload was interrupted for too long')
      if (result !== 1) throw new UnavailableError('a part of the upload is gone')
    }
    try {
      await retry(persist, { delay: RETRY_DELAY, deadlineMs, isFinal })
    } catch (error) {
      if (isFinal(error)) throw error
      throw new UnavailableError('the event store did not take the upload in time', { cause: error })
    }
  }
}

/** What holds the lines of an upload. @param count of its chunks */
function chunkKeys(jobId: string, count: number): string[] {
  return [keys.chunks(jobId), ...Array.from({ length: count }, (_, i) => keys.chunk(jobId, i + 1))]
}
