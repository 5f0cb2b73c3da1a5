import type { Readable } from 'node:stream'

/** An object as a list shows it. */
export interface ObjectEntry {
  readonly key: string
  /** Size as it is stored. */
  readonly bytes: number
}

/**
 * Named objects that are written whole. Keys are paths without a leading slash, see `assertKey`. Every method rejects with
 * `UnavailableError` when the store did not do it, which may pass; doing it again does no harm.
 */
export interface ObjectStore {
  /** Where it is, for people; without secrets. */
  readonly location: string
  /** Called before the first use, and again behind a failure. */
  prepare(): Promise<void>
  /** Removes what writers that were killed before that time have left. A write of then that is under way fails. */
  removeLeftovers(beforeMs: number): Promise<void>
  /** Resolves when the object is stored for good. It takes the place of one of the same key; nobody sees a part of it. */
  put(key: string, bytes: Buffer): Promise<void>
  /** Undefined when there is none. Whoever takes the stream reads it to its end, without long pauses, or destroys it. */
  get(key: string): Promise<Readable | undefined>
  /** Size as it is stored; undefined when there is none. */
  head(key: string): Promise<number | undefined>
  /** Those whose keys begin with `prefix`, in the order of their keys, a page at a time. */
  list(prefix: string): AsyncIterable<ObjectEntry>
  /** Succeeds when there is none. */
  delete(key: string): Promise<void>
  /** What is under way fails. */
  abort(): void
  close(): Promise<void>
}

/** What the parts of a key between its slashes are made of. */
const NAME_PART = /^[A-Za-z0-9_][A-Za-z0-9_=.-]{0,199}$/

/** @throws when a key could lead out of its place, or mean another one elsewhere */
export function assertKey(key: string): void {
  const isSafe = key.length <= 900 && key.split('/').every((part) => NAME_PART.test(part) && !part.includes('..'))
  if (!isSafe) throw new Error(`${JSON.stringify(key)} is no key of an object`)
}
