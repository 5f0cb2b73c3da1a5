import type { Readable } from 'node:stream'

/** An object in a list. */
export interface ObjectEntry {
  readonly key: string
  /** Stored size. */
  readonly bytes: number
}

/** A complete local file that becomes an object. */
export interface FileFacts {
  readonly bytes: number
  /** Base64. */
  readonly md5: string
  readonly contentType: string
}

/**
 * Named objects that are written whole. Keys are paths without a leading slash, see `assertKey`. Every method rejects with
 * `UnavailableError` on failure; calling it again is safe.
 */
export interface ObjectStore {
  /** Its location, for messages; without secrets. */
  readonly location: string
  /** Call it before the first use, and again after a failure. */
  prepare(): Promise<void>
  /** Removes leftovers of killed writers from before that time. A write that is still running from then fails. */
  removeLeftovers(beforeMs: number): Promise<void>
  /** Resolves when the object is durable. Replaces an object of the same key atomically. */
  put(key: string, bytes: Buffer): Promise<void>
  /** The same for a local file of any size, which is not held in memory. */
  putFile(key: string, path: string, facts: FileFacts): Promise<void>
  /** Undefined when it does not exist. Read the stream to its end without long pauses, or destroy it. */
  get(key: string): Promise<Readable | undefined>
  /** Stored size; undefined when it does not exist. */
  head(key: string): Promise<number | undefined>
  /** Objects whose keys begin with `prefix`, in key order, read page by page. */
  list(prefix: string): AsyncIterable<ObjectEntry>
  /** Succeeds when it does not exist. */
  delete(key: string): Promise<void>
  /** Fails all operations in progress. */
  abort(): void
  close(): Promise<void>
}

/** Allowed parts of a key between its slashes. */
const NAME_PART = /^[A-Za-z0-9_][A-Za-z0-9_=.-]{0,199}$/

/** Whether a file or folder of this name can be part of a key. */
export function isNamePart(name: string): boolean {
  return NAME_PART.test(name) && !name.includes('..')
}

/** @throws when a key could lead out of the store, or mean another object in another store */
export function assertKey(key: string): void {
  if (key.length > 900 || !key.split('/').every(isNamePart)) {
    throw new Error(`${JSON.stringify(key)} is not a valid key of an object`)
  }
}
