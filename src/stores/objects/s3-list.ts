import { UnavailableError } from '../../run/errors.ts'

interface ListedObject {
  readonly Key?: string | undefined
  readonly Size?: number | undefined
  readonly LastModified?: Date | undefined
  readonly ETag?: string | undefined
}

/** A page of a list, in the terms of the SDK. */
export interface ListPage {
  readonly Contents?: readonly ListedObject[] | undefined
  readonly IsTruncated?: boolean | undefined
  readonly NextContinuationToken?: string | undefined
  /** Only version 2 of the protocol returns the count. */
  readonly KeyCount?: number | undefined
}

/** Where a page begins: at the start, at a token, or after a key; `Marker` is that of version 1 of the protocol. */
interface ListStart {
  readonly StartAfter?: string
  readonly ContinuationToken?: string
  readonly Marker?: string
}

/** Amazon returns empty pages where many objects were deleted recently. */
const EMPTY_PAGES_MAX = 100

/** An object in a list. */
interface S3ListEntry {
  readonly name: string
  readonly bytes: number
  /** Undefined: the store does not say. */
  readonly modifiedMs: number | undefined
  readonly etag: string | undefined
}

/**
 * Lists all objects of a bucket under a prefix, in key order (by UTF-8). Follows all pages.
 * @param location for errors
 * @param prefix of full names
 * @param ask reads one page
 * @param after lists only names after this one
 * @throws UnavailableError for anything but a whole list: an incomplete one must not look complete
 */
export async function* listAll(
  location: string,
  prefix: string,
  ask: (start: ListStart) => Promise<ListPage>,
  after = '',
): AsyncGenerator<S3ListEntry> {
  const broken = (what: string) => new UnavailableError(`${location}: ${what}`)
  let last: string | undefined
  let start: ListStart = after === '' ? {} : { StartAfter: after }
  for (let emptyPages = 0; ; emptyPages++) {
    const page = await ask(start)
    const { Contents: contents = [], KeyCount: count = 0 } = page
    // Every store says whether more follows. A page of a console, or an empty body, would look like an empty list.
    if (typeof page.IsTruncated !== 'boolean')
      throw broken('its answer is not a list of objects: is this the right endpoint?')
    if (contents.length < count) throw broken(`it lists ${contents.length} of ${count} keys`)
    if (contents.length > 0) emptyPages = -1
    for (const { Key: name = '', Size: bytes, LastModified: modified, ETag: etag } of contents) {
      if (!name.startsWith(prefix)) throw broken(`it lists ${name}, which is not under ${prefix}`)
      // Keys must ascend, so that no page repeats and the list ends.
      if (last !== undefined && !isBefore(last, name)) throw broken(`it lists ${name} after ${last}`)
      if (bytes === undefined || !Number.isSafeInteger(bytes) || bytes < 0) {
        throw broken(`it gives ${bytes} as the size of ${name}`)
      }
      last = name
      // Some stores do not know where to start.
      if (after !== '' && !isBefore(after, name)) continue
      yield { name, bytes, modifiedMs: modified?.getTime(), etag }
    }
    const token = page.NextContinuationToken || undefined
    if (token === undefined && !page.IsTruncated) return
    if (emptyPages >= EMPTY_PAGES_MAX) throw broken(`it lists ${EMPTY_PAGES_MAX} pages without an object`)
    if (token !== undefined && token === start.ContinuationToken) {
      throw broken('its list repeats a continuation token')
    }
    if (token !== undefined) start = { ContinuationToken: token }
    else if (contents.length > 0) start = { Marker: last! }
    else throw broken('its list is cut off: it says that more follows, but gives no token for it')
  }
}

/** S3 compares bytes of UTF-8, strings here compare UTF-16. */
export function isBefore(a: string, b: string): boolean {
  return Buffer.compare(Buffer.from(a), Buffer.from(b)) < 0
}
