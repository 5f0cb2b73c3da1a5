import { hash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { readS3Url } from '../../config/archive-url.ts'
import { InputError, UnavailableError } from '../../run/errors.ts'
import { type S3Object, S3Store } from '../../stores/objects/s3-store.ts'
import {
  type Pull,
  PullDeniedError,
  type PullItem,
  type PullPlace,
  PullRefusedError,
  type PullRun,
  type PullSettings,
} from '../declaration/pull.ts'
import type { Source } from '../declaration/source.ts'
import { PULL_FORMATS } from './pulls/event-lines.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** How late an object may appear, at most: the time of an object that is uploaded in parts is that of its first part. */
const WINDOW_MS = 2 * DAY_MS
const WINDOW_MS_MIN = HOUR_MS
/** A prefix with more objects is listed as a whole only once a day. */
const LISTED_EACH_RUN_MAX = 10_000
const SWEEP_EVERY_MS = DAY_MS
/** With more marks the window shrinks. 100 bytes of Redis each. */
const MARKS_MAX = 100_000
/** The window is shrunk again after this many more. */
const MARKS_STEP = 10_000
/** Objects per question for marks. */
const PORTION = 500
const MARK_CHARS = 16

/**
 * Which objects of a prefix are done. It cannot name them all: a prefix may get thousands a day, for ever. And keys say little: some
 * exports name days by month first, some mix several sites, so a new object may come anywhere in the order of keys. So:
 *
 * - Everything last modified at or before `floorMs`, and not before `fromMs`, is done.
 * - What is done and newer has a mark (a hash of key and ETag). The floor follows two days after the newest object, and marks below
 *   it are dropped, so there are as many as objects of two days. With more than 100,000 the window shrinks, to an hour at least.
 * - A sweep lists the whole prefix in the order of keys. What is older than the next floor needs no mark, since the sweep itself goes
 *   on after `after`, also after a crash. At its end the floor rises.
 * - A prefix of more than 10,000 objects is swept once a day. The runs in between list from `tail` on, before which no object of the
 *   window lies. So they find new objects at the end of the order at once, and all others within a day.
 * - The past that a person asks for is a range of times before `fromMs`, fetched in the order of keys. After that `fromMs` is earlier,
 *   so asking again fetches nothing again, at any time.
 *
 * The store's clock counts, by the newest object seen, not ours.
 */
interface S3Cursor {
  readonly fromMs: number
  readonly floorMs: number
  readonly newestMs: number
  readonly windowMs: number
  readonly tail: string
  /** Objects that the last sweep listed. */
  readonly listed: number
  readonly sweptAtMs: number
  readonly sweep?: S3Sweep | undefined
  /** Newest first. Only the first one has begun. */
  readonly past: readonly S3Past[]
}

interface S3Sweep {
  readonly startedMs: number
  /** The floor after the sweep. */
  readonly toMs: number
  readonly after: string
  readonly listed: number
  /** Undefined: no object of the window has come yet. */
  readonly tail?: string | undefined
  /** When the oldest object that could not be read was written. The next floor stays below it. */
  readonly heldMs?: number | undefined
}

/** @param toMs exclusive */
interface S3Past {
  readonly fromMs: number
  readonly toMs: number
  readonly after: string
}

const pull: Pull = {
  everyMs: 300_000,
  options: ['url', 'format', 'credentials'],
  secretsOf: ({ credentials }) =>
    credentials === undefined
      ? [
          { name: 'accessKeyId', env: 'AWS_ACCESS_KEY_ID', title: 'access key id' },
          { name: 'secretAccessKey', env: 'AWS_SECRET_ACCESS_KEY', title: 'secret access key' },
          { name: 'sessionToken', env: 'AWS_SESSION_TOKEN' },
        ]
      : [],
  assertSettings(settings, env) {
    const { url, format = 'auto', credentials } = settings
    const { region = env.AWS_REGION, endpoint } = placeOf(settings)
    if (!region && endpoint === undefined) {
      throw new InputError(
        `--url ${JSON.stringify(url)}: add ?region=…, where the bucket is, such as ?region=us-east-1`,
      )
    }
    if (!PULL_FORMATS.includes(format)) {
      throw new InputError(`--format ${JSON.stringify(format)}: must be one of ${PULL_FORMATS.join(', ')}`)
    }
    if (credentials !== undefined && credentials !== 'instance') {
      throw new InputError(`--credentials ${JSON.stringify(credentials)}: must be instance, or left out`)
    }
  },
  placeOf: ({ url = '' }) => url,
  begin(createdAtMs): S3Cursor {
    const fromMs = Math.floor(createdAtMs / DAY_MS) * DAY_MS
    const none = { newestMs: 0, windowMs: WINDOW_MS, tail: '', listed: 0, sweptAtMs: 0, past: [] }
    return { fromMs, floorMs: fromMs - 1, ...none }
  },
  withPast(cursor, fromMs): S3Cursor | undefined {
    const { past, ...rest } = cursor as S3Cursor
    const last = past.at(-1)
    const earliest = last?.fromMs ?? rest.fromMs
    if (fromMs >= earliest) return undefined
    if (last?.after === '') return { ...rest, past: [...past.slice(0, -1), { ...last, fromMs }] }
    return { ...rest, past: [...past, { fromMs, toMs: earliest, after: '' }] }
  },
  pastOf(cursor) {
    const [first, ...others] = (cursor as S3Cursor).past
    if (first === undefined) return undefined
    const from = new Date((others.at(-1) ?? first).fromMs).toISOString().slice(0, 10)
    return `objects since ${from}${first.after === '' ? '' : `, at ${first.after}`}`
  },
  open: ({ settings, secrets, nowMs }) => {
    const { bucket, prefix, endpoint, region } = placeOf(settings)
    const { accessKeyId, secretAccessKey, sessionToken } = secrets
    const credentials =
      accessKeyId === undefined || secretAccessKey === undefined
        ? undefined
        : { accessKeyId, secretAccessKey, ...(sessionToken && { sessionToken }) }
    const store = new S3Store({ bucket, prefix: '', endpoint, region, credentials })
    return new S3Place(store, bucket, prefix, nowMs)
  },
}

/** @throws InputError */
function placeOf({ url }: PullSettings) {
  if (url === undefined)
    throw new InputError('--url is needed: s3://bucket/prefix?endpoint=http://host:port&region=name')
  try {
    const { path, ...place } = readS3Url(url)
    return { ...place, prefix: decodeURIComponent(path.replace(/^\//, '')) }
  } catch (error) {
    throw new InputError(`--url ${JSON.stringify(url)}: ${(error as Error).message}`)
  }
}

class S3Place implements PullPlace {
  readonly #store: S3Store
  readonly #bucket: string
  readonly #prefix: string
  readonly #nowMs: () => number

  constructor(store: S3Store, bucket: string, prefix: string, nowMs: () => number) {
    this.#store = store
    this.#bucket = bucket
    this.#prefix = prefix
    this.#nowMs = nowMs
  }

  async *items(run: PullRun): AsyncGenerator<PullItem, S3Cursor> {
    let cursor = run.cursor as S3Cursor
    // Not earlier: until the cursor is stored, an earlier one may come back and need them.
    await run.dropMarks(cursor.floorMs)
    const marks = await run.countMarks()
    const isDue = this.#nowMs() - cursor.sweptAtMs >= SWEEP_EVERY_MS || marks > MARKS_MAX
    const isSweep = isDue || run.isAsked || cursor.sweep !== undefined || cursor.listed <= LISTED_EACH_RUN_MAX
    cursor = yield* isSweep ? this.#sweep(cursor, marks, run) : this.#look(cursor, run)
    while (cursor.past.length > 0) cursor = yield* this.#past(cursor)
    return cursor
  }

  async *#sweep(cursor: S3Cursor, marksBefore: number, run: PullRun): AsyncGenerator<PullItem, S3Cursor> {
    let { windowMs, newestMs } = cursor
    const startedMs = cursor.sweep?.startedMs ?? this.#nowMs()
    const held = () => Math.min(cursor.sweep?.heldMs ?? Number.POSITIVE_INFINITY, run.oldestFailureMs())
    const floorBy = () => Math.max(cursor.floorMs, Math.min(startedMs, newestMs, held() - 1 + windowMs) - windowMs)
    let toMs = cursor.sweep?.toMs ?? floorBy()
    let { listed, tail, after } = cursor.sweep ?? { listed: 0, tail: undefined, after: '' }
    let marks = marksBefore
    let marksNext = MARKS_MAX
    for await (const objects of this.#portions(after)) {
      const fresh = await this.#fresh(objects, cursor.floorMs, run)
      for (const object of objects) {
        const { name, modifiedMs } = object
        listed++
        newestMs = Math.max(newestMs, modifiedMs)
        if (modifiedMs > toMs) tail ??= after
        after = name
        if (!fresh.has(object)) continue
        const heldMs = Number.isFinite(held()) ? held() : undefined
        const sweep = { startedMs, toMs, after, listed, tail, heldMs }
        const isMarked = modifiedMs > toMs
        yield this.#item(object, { ...cursor, windowMs, newestMs, sweep }, isMarked)
        if (!isMarked || ++marks <= marksNext) continue
        if (windowMs <= WINDOW_MS_MIN && marks > 2 * MARKS_MAX) {
          throw new Error(
            `more than ${MARKS_MAX} objects came within an hour: make a source for each part of the prefix`,
          )
        }
        windowMs = Math.max(WINDOW_MS_MIN, windowMs / 2)
        toMs = Math.max(toMs, floorBy())
        marksNext = marks + MARKS_STEP
      }
    }
    if (marks < MARKS_MAX / 4) windowMs = Math.min(WINDOW_MS, windowMs * 2)
    const swept = { floorMs: toMs, tail: tail ?? after, listed, sweptAtMs: startedMs, sweep: undefined }
    return { ...cursor, ...swept, windowMs, newestMs }
  }

  /** Takes new objects that come after `tail`. */
  async *#look(cursor: S3Cursor, run: PullRun): AsyncGenerator<PullItem, S3Cursor> {
    let { newestMs } = cursor
    for await (const objects of this.#portions(cursor.tail)) {
      const fresh = await this.#fresh(objects, cursor.floorMs, run)
      for (const object of objects) newestMs = Math.max(newestMs, object.modifiedMs)
      for (const object of fresh) yield this.#item(object, { ...cursor, newestMs }, true)
    }
    return { ...cursor, newestMs }
  }

  async *#past(cursor: S3Cursor): AsyncGenerator<PullItem, S3Cursor> {
    const [range, ...others] = cursor.past
    const { fromMs, toMs } = range!
    for await (const objects of this.#portions(range!.after)) {
      for (const object of objects) {
        const { name, modifiedMs, bytes } = object
        if (bytes === 0 || modifiedMs < fromMs || modifiedMs >= toMs) continue
        yield this.#item(object, { ...cursor, past: [{ ...range!, after: name }, ...others] }, false)
      }
    }
    return { ...cursor, fromMs, past: others }
  }

  /** The objects that are not done yet. An empty object is a folder. */
  async #fresh(objects: readonly S3Object[], floorMs: number, run: PullRun): Promise<ReadonlySet<S3Object>> {
    const newer = objects.filter(({ modifiedMs, bytes }) => modifiedMs > floorMs && bytes > 0)
    const have = await run.haveMarks(newer.map(markOf))
    return new Set(newer.filter((_, i) => !have[i]))
  }

  async *#portions(after: string): AsyncGenerator<S3Object[]> {
    try {
      let portion: S3Object[] = []
      for await (const object of this.#store.objects(this.#prefix, after)) {
        portion.push(object)
        if (portion.length < PORTION) continue
        yield portion
        portion = []
      }
      if (portion.length > 0) yield portion
    } catch (error) {
      throw explained(error)
    }
  }

  #item(object: S3Object, cursor: S3Cursor, isMarked: boolean): PullItem {
    const { name, etag, modifiedMs: atMs, bytes } = object
    return {
      id: `s3://${this.#bucket}/${name}\n${etag}`,
      name,
      atMs,
      cursor,
      ...(isMarked && { mark: markOf(object) }),
      canWait: isMarked,
      open: async (signal) => {
        const body = await this.#store.read(object).catch((error) => {
          const name = ((error as Error).cause as Error | undefined)?.name
          // Other objects may be readable: a bucket's policy or a key of its encryption may forbid this one. It is no outage.
          throw name === ACCESS_DENIED ? new Error((error as Error).message, { cause: error }) : explained(error)
        })
        return body && once({ bytes: whole(body, bytes, signal) })
      },
    }
  }

  close(): Promise<void> {
    return this.#store.close()
  }
}

function markOf({ name, etag }: S3Object): string {
  return hash('sha256', `${name}\n${etag}`, 'base64url').slice(0, MARK_CHARS)
}

/** The bytes of an object. @throws UnavailableError when not all of them come */
async function* whole(body: Readable, bytes: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const stop = () => void body.destroy()
  signal.addEventListener('abort', stop)
  let read = 0
  try {
    for await (const piece of body as AsyncIterable<Buffer>) {
      read += piece.length
      yield piece
    }
  } catch (error) {
    throw new UnavailableError(`the answer broke off after ${read} of ${bytes} bytes: ${(error as Error).message}`)
  } finally {
    signal.removeEventListener('abort', stop)
    body.destroy()
  }
  if (read !== bytes) throw new UnavailableError(`the answer ended after ${read} of ${bytes} bytes`)
}

async function* once<T>(value: T): AsyncGenerator<T> {
  yield value
}

/** The storage classes of these objects have to be restored first. */
const FROZEN = 'InvalidObjectState'
/** The bucket is in another region. */
const MOVED = ['PermanentRedirect', 'AuthorizationHeaderMalformed']
const DENIED = [401, 403]
const ACCESS_DENIED = 'AccessDenied'

function explained(error: unknown): unknown {
  const cause = (error as Error).cause as { name?: string; $metadata?: { httpStatusCode?: number } } | undefined
  if (cause?.name === FROZEN) return new PullRefusedError('its storage class is an archive: restore it, then copy it')
  if (cause?.name === 'CredentialsProviderError') return new PullDeniedError('the instance has no AWS credentials')
  if (MOVED.includes(cause?.name ?? '')) {
    return new PullDeniedError(
      `the bucket is in another region: create the source again with its region in --url (${(error as Error).message})`,
    )
  }
  if (!DENIED.includes(cause?.$metadata?.httpStatusCode ?? 0)) return error
  return new PullDeniedError(
    `the bucket refuses these credentials: ${(error as Error).message}: "source set ID --secret" replaces those of a source`,
  )
}

/**
 * Objects of an S3 bucket: exports of Segment, RudderStack, PostHog and Snowplow, logs of CloudFront, load balancers and Logpush. Each
 * object becomes lines of a batch job, exactly once.
 */
export const s3: Source = {
  name: 's3',
  lane: 'batch',
  routes: [],
  tool: {
    title: 'S3 bucket',
    group: 'pulls',
    options: '--url "s3://BUCKET/PREFIX?region=REGION"',
    path: () => '',
    setup: ({ id }) => [
      {
        title: 'Older objects',
        about:
          'ipid lists the bucket every 5 minutes, and fetches new objects since the start of this day (UTC). The credentials need ' +
          's3:ListBucket on the bucket and s3:GetObject on its objects. Objects must be JSON lines or log lines, plain or gzip. Parquet ' +
          'is refused: let the export write JSON lines.',
        isSample: true,
        code: `./ipid source run ${id} --from YYYY-MM-DD`,
      },
      { title: 'Its state', isSample: true, code: './ipid source list TENANT' },
    ],
  },
  pull,
}
