import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import type { S3Client } from '@aws-sdk/client-s3'
import { UnavailableError } from '../../run/errors.ts'
import { timeLimit } from '../../run/time-limit.ts'
import { assertKey, type FileFacts, type ObjectEntry, type ObjectStore } from './object-store.ts'
import { listAll } from './s3-list.ts'

type Sdk = typeof import('@aws-sdk/client-s3')

export interface S3StoreOptions {
  readonly bucket: string
  /** Common prefix of all names, without slashes at its ends; `''`: none. */
  readonly prefix: string
  /** `http(s)://host:port`; undefined: Amazon's. */
  readonly endpoint: string | undefined
  /** Undefined: from the environment. */
  readonly region: string | undefined
  /** Undefined: from the environment, a profile or the machine. */
  readonly credentials?:
    | { readonly accessKeyId: string; readonly secretAccessKey: string; readonly sessionToken?: string }
    | undefined
  /** Time limit for one object, including retries, milliseconds. */
  readonly deadlineMs?: number
  /** Time limit for connecting, and for silence on a connection, milliseconds. */
  readonly idleMs?: number
  /** A larger file is sent in parts of this size; at least 5 MiB. */
  readonly partBytes?: number
}

/** An object as a list names it. */
export interface S3Object {
  /** Its whole name. */
  readonly name: string
  readonly bytes: number
  readonly modifiedMs: number
  readonly etag: string
}

const DEADLINE_MS = 60_000
const IDLE_MS = 15_000
/** One request may send 5 GB, and a part that breaks off is sent again alone. */
const PART_BYTES = 268_435_456
const PARTS_MAX = 10_000
/** The slowest upload of a file that is not given up. */
const FILE_BYTES_PER_MS = 500
const CONNECT_MS = 5_000
/** The SDK retries with a growing delay. The archive sink retries after that. */
const TRIES_MAX = 3
/** Self-hosted stores often have no regions, but a signature needs one. */
const OWN_REGION = 'us-east-1'

/**
 * Objects in a bucket of Amazon S3 or a compatible store. Each put has the length and MD5 of its object, which every
 * compatible store checks, so that a cut-off object is never stored. Credentials come from the environment, a profile or
 * the machine, in the order of the SDK.
 */
export class S3Store implements ObjectStore {
  readonly location: string
  readonly #options: S3StoreOptions
  readonly #closing = new AbortController()
  #loaded: Promise<{ readonly sdk: Sdk; readonly client: S3Client }> | undefined

  constructor(options: S3StoreOptions) {
    this.#options = options
    const { bucket, prefix, endpoint } = options
    this.location = `s3://${bucket}/${prefix}${endpoint === undefined ? '' : ` at ${endpoint}`}`
  }

  /** Does not contact the store: its availability matters only when there is something to write. */
  async prepare(): Promise<void> {
    await this.#load()
  }

  /**
   * Nothing to do: a cut-off request stores nothing. Parts of a large file that a killed process left are no object; a rule of the
   * bucket removes them.
   */
  async removeLeftovers(): Promise<void> {}

  async put(key: string, bytes: Buffer): Promise<void> {
    const name = this.#name(key)
    const ContentMD5 = createHash('md5').update(bytes).digest('base64')
    const tag = await this.#ask(async ({ sdk, client }, Bucket, abortSignal) => {
      const object = { Bucket, Key: name, Body: bytes, ContentLength: bytes.length, ContentMD5 }
      const command = new sdk.PutObjectCommand({ ...object, ContentType: 'application/gzip' })
      const { ETag } = await client.send(command, { abortSignal })
      return ETag
    })
    // A web server may answer 200 to anything. Some object stores send no ETag: then read the object back.
    if (!tag && !(await this.#has(key, bytes))) {
      throw new UnavailableError(`${this.location}: ${name} was not stored: is this the right endpoint?`)
    }
  }

  async putFile(key: string, path: string, { bytes, md5, contentType }: FileFacts): Promise<void> {
    const Key = this.#name(key)
    const partBytes = Math.max(this.#options.partBytes ?? PART_BYTES, Math.ceil(bytes / PARTS_MAX))
    if (bytes > partBytes) await this.#putParts({ Key, ContentType: contentType }, path, bytes, partBytes)
    else {
      const object = { Key, ContentLength: bytes, ContentMD5: md5, ContentType: contentType }
      await this.#send(path, { from: 0, bytes }, ({ sdk, client }, Bucket, abortSignal, Body) =>
        client.send(new sdk.PutObjectCommand({ ...object, Bucket, Body }), { abortSignal }),
      )
    }
    // A web server may answer 200 to anything.
    if ((await this.head(key)) !== bytes) {
      throw new UnavailableError(`${this.location}: ${Key} was not stored: is this the right endpoint?`)
    }
  }

  /** Sends a file in parts. The object exists when all have been sent. Not by @aws-sdk/lib-storage, which holds whole parts in memory. */
  async #putParts(
    object: { readonly Key: string; readonly ContentType: string },
    path: string,
    bytes: number,
    partBytes: number,
  ): Promise<void> {
    const { Key } = object
    const { UploadId } = await this.#ask(({ sdk, client }, Bucket, abortSignal) =>
      client.send(new sdk.CreateMultipartUploadCommand({ ...object, Bucket }), { abortSignal }),
    )
    try {
      const Parts: { PartNumber: number; ETag: string | undefined }[] = []
      for (let from = 0; from < bytes; from += partBytes) {
        const part = { from, bytes: Math.min(partBytes, bytes - from) }
        const PartNumber = Parts.length + 1
        Parts.push({ PartNumber, ETag: await this.#putPart({ Key, UploadId, PartNumber }, path, part) })
      }
      await this.#ask(({ sdk, client }, Bucket, abortSignal) =>
        client.send(new sdk.CompleteMultipartUploadCommand({ Bucket, Key, UploadId, MultipartUpload: { Parts } }), {
          abortSignal,
        }),
      )
    } catch (error) {
      await this.#ask(({ sdk, client }, Bucket, abortSignal) =>
        client.send(new sdk.AbortMultipartUploadCommand({ Bucket, Key, UploadId }), { abortSignal }),
      ).catch(() => {})
      throw error
    }
  }

  /** @returns its tag */
  async #putPart(
    name: { readonly Key: string; readonly UploadId: string | undefined; readonly PartNumber: number },
    path: string,
    part: FileRange,
  ): Promise<string | undefined> {
    const hash = createHash('md5')
    for await (const piece of readRange(path, part)) hash.update(piece as Buffer)
    const request = { ...name, ContentLength: part.bytes, ContentMD5: hash.digest('base64') }
    for (let tries = 1; ; tries++) {
      try {
        const { ETag } = await this.#send(path, part, ({ sdk, client }, Bucket, abortSignal, Body) =>
          client.send(new sdk.UploadPartCommand({ ...request, Bucket, Body }), { abortSignal }),
        )
        return ETag
      } catch (error) {
        // The SDK does not repeat a request whose body is a stream.
        if (tries === TRIES_MAX || this.#closing.signal.aborted) throw error
      }
    }
  }

  /** A request with a part of a file. */
  #send<T>(
    path: string,
    range: FileRange,
    work: (...args: [...Parameters<Work<T>>, body: Readable | Buffer]) => Promise<T>,
  ): Promise<T> {
    const { deadlineMs = DEADLINE_MS } = this.#options
    return this.#ask(
      async (loaded, bucket, signal) => {
        const body = range.bytes === 0 ? Buffer.alloc(0) : readRange(path, range)
        try {
          return await work(loaded, bucket, signal, body)
        } finally {
          if (!Buffer.isBuffer(body)) body.destroy()
        }
      },
      deadlineMs + range.bytes / FILE_BYTES_PER_MS,
    )
  }

  async #has(key: string, bytes: Buffer): Promise<boolean> {
    const stored = await this.get(key)
    return stored !== undefined && bytes.equals(await buffer(stored))
  }

  async get(key: string): Promise<Readable | undefined> {
    const Key = this.#name(key)
    const found = await this.#find(({ sdk, client }, Bucket) => client.send(new sdk.GetObjectCommand({ Bucket, Key })))
    return found?.Body as Readable | undefined
  }

  async head(key: string): Promise<number | undefined> {
    const Key = this.#name(key)
    const found = await this.#find(({ sdk, client }, Bucket, abortSignal) =>
      client.send(new sdk.HeadObjectCommand({ Bucket, Key }), { abortSignal }),
    )
    return found?.ContentLength
  }

  async *list(prefix: string): AsyncGenerator<ObjectEntry> {
    const start = this.#start()
    for await (const { name, bytes } of this.#names(start + prefix, '')) yield { key: name.slice(start.length), bytes }
  }

  /**
   * Objects of any names, written by others, in the order of their names.
   * @param prefix of whole names
   * @param after lists only names after this one
   */
  async *objects(prefix: string, after: string): AsyncGenerator<S3Object> {
    for await (const { modifiedMs, etag, ...entry } of this.#names(prefix, after)) {
      if (modifiedMs === undefined || Number.isNaN(modifiedMs) || etag === undefined) {
        throw new UnavailableError(`${this.location}: it lists ${entry.name} without a time or an ETag`)
      }
      yield { ...entry, modifiedMs, etag }
    }
  }

  /** Reads an object of any name. Undefined when it no longer exists, or another one has replaced it. */
  async read({ name, etag }: S3Object): Promise<Readable | undefined> {
    const found = await this.#find(({ sdk, client }, Bucket) =>
      client.send(new sdk.GetObjectCommand({ Bucket, Key: name, IfMatch: etag })),
    )
    const body = found?.Body as Readable | undefined
    if (found?.ETag === undefined || found.ETag === etag) return body
    // Some stores do not check IfMatch.
    body?.destroy()
    return undefined
  }

  async delete(key: string): Promise<void> {
    const Key = this.#name(key)
    await this.#ask(({ sdk, client }, Bucket, abortSignal) =>
      client.send(new sdk.DeleteObjectCommand({ Bucket, Key }), { abortSignal }),
    )
  }

  abort(): void {
    this.#closing.abort()
  }

  async close(): Promise<void> {
    this.abort()
    const loaded = await this.#loaded?.catch(() => undefined)
    loaded?.client.destroy()
  }

  #names(Prefix: string, after: string) {
    const page = ({ ContinuationToken, Marker, StartAfter }: Parameters<Parameters<typeof listAll>[2]>[0]) =>
      this.#ask(({ sdk, client }, Bucket, abortSignal) =>
        Marker === undefined
          ? client.send(new sdk.ListObjectsV2Command({ Bucket, Prefix, ContinuationToken, StartAfter }), {
              abortSignal,
            })
          : client.send(new sdk.ListObjectsCommand({ Bucket, Prefix, Marker }), { abortSignal }),
      )
    return listAll(this.location, Prefix, page, after)
  }

  #start(): string {
    const { prefix } = this.#options
    return prefix === '' ? '' : `${prefix}/`
  }

  #name(key: string): string {
    assertKey(key)
    return this.#start() + key
  }

  async #find<T>(work: Work<T>): Promise<T | undefined> {
    try {
      return await this.#ask(work)
    } catch (error) {
      const cause = (error as Error).cause as { name?: string } | undefined
      if (ABSENT.includes(cause?.name ?? '')) return undefined
      throw error
    }
  }

  async #ask<T>(work: Work<T>, deadlineMs = this.#options.deadlineMs ?? DEADLINE_MS): Promise<T> {
    const { bucket } = this.#options
    const signal = timeLimit(Math.ceil(deadlineMs), this.#closing.signal)
    try {
      return await work(await this.#load(), bucket, signal)
    } catch (error) {
      if (error instanceof UnavailableError) throw error
      const { name, message } = error as Error
      throw new UnavailableError(`${this.location}: ${[name, message].filter(Boolean).join(': ')}`, { cause: error })
    }
  }

  #load() {
    this.#loaded ??= this.#connect().catch((error) => {
      this.#loaded = undefined
      throw error
    })
    return this.#loaded
  }

  /** Loads the SDK only when it is used: it takes half a second and 23 MB. */
  async #connect() {
    const sdk = await import('@aws-sdk/client-s3')
    const { endpoint, region = endpoint === undefined ? undefined : OWN_REGION, idleMs = IDLE_MS } = this.#options
    const client = new sdk.S3Client({
      ...(region === undefined ? {} : { region }),
      ...(this.#options.credentials && { credentials: this.#options.credentials }),
      ...(endpoint === undefined ? {} : { endpoint, forcePathStyle: true }),
      maxAttempts: TRIES_MAX,
      // Other stores than Amazon's do not support its newer checksums.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      requestHandler: { connectionTimeout: CONNECT_MS, socketTimeout: idleMs },
    })
    await client.config.region().catch(() => {
      throw new UnavailableError(`${this.location} has no region: add ?region=… to its URL, or set AWS_REGION`)
    })
    return { sdk, client }
  }
}

/** Error names for a missing or replaced object. */
const ABSENT = ['NoSuchKey', 'NotFound', 'PreconditionFailed']

type Work<T> = (
  loaded: { readonly sdk: Sdk; readonly client: S3Client },
  bucket: string,
  signal: AbortSignal,
) => Promise<T>

interface FileRange {
  readonly from: number
  readonly bytes: number
}

function readRange(path: string, { from, bytes }: FileRange): Readable {
  return createReadStream(path, { start: from, end: from + bytes - 1 })
}
