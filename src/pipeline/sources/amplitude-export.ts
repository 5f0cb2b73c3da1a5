import { createHash, randomUUID } from 'node:crypto'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openPromise } from 'yauzl'
import { InputError, UnavailableError } from '../../run/errors.ts'
import {
  type Pull,
  type PullAccess,
  PullDeniedError,
  type PullFile,
  type PullItem,
  type PullPlace,
  PullRefusedError,
  type PullRun,
} from '../declaration/pull.ts'
import type { Source } from '../declaration/source.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const MINUTE_MS = 60_000
/** An hour is complete this long after its end. */
const COMPLETE_AFTER_MS = 2 * HOUR_MS
/** Hours of one request. */
const HOURS_MAX = 24
/** Bytes of an answer for more than one hour; of more, fewer hours are asked for. */
const BYTES_MAX = 2 ** 30
/** The largest answer that Amplitude makes. */
const HOUR_BYTES_MAX = 2 ** 32
/** Amplitude packs the answer before it sends the first byte. */
const FIRST_BYTE_MS = 10 * MINUTE_MS
const SILENCE_MS = MINUTE_MS
const HOSTS: Readonly<Record<string, string>> = {
  us: 'https://amplitude.com',
  eu: 'https://analytics.eu.amplitude.com',
}
/** Answers to a range that is too large: 400 says so, 504 means it. */
const TOO_LARGE = [400, 413, 504]

/** Which hours are done: from `fromMs` until `nextMs`, which is not. Amplitude assigns an event to the hour when it got it. */
interface HoursCursor {
  readonly fromMs: number
  readonly nextMs: number
  /** The past that was asked for: `nextMs` to `fromMs` is left of it. */
  readonly past?: { readonly fromMs: number; readonly nextMs: number } | undefined
  /** Earlier than the past in progress. */
  readonly earlierMs?: number | undefined
}

const pull: Pull = {
  everyMs: HOUR_MS,
  options: ['region', 'endpoint'],
  secretsOf: () => [
    { name: 'apiKey', env: 'AMPLITUDE_API_KEY', title: 'API key of the project' },
    { name: 'secretKey', env: 'AMPLITUDE_SECRET_KEY', title: 'secret key of the project' },
  ],
  assertSettings({ region, endpoint }) {
    if (region === undefined || !Object.hasOwn(HOSTS, region)) {
      throw new InputError(`--region ${region === undefined ? 'is needed: us or eu' : `"${region}": must be us or eu`}`)
    }
    const url = endpoint !== undefined && URL.canParse(endpoint) ? new URL(endpoint) : undefined
    if (endpoint !== undefined && (url === undefined || !/^https?:$/.test(url.protocol) || url.username !== '')) {
      throw new InputError(`--endpoint "${endpoint}": must be http(s)://host, without credentials`)
    }
  },
  placeOf: ({ region = '', endpoint }) => endpoint ?? HOSTS[region] ?? '',
  begin(createdAtMs): HoursCursor {
    const fromMs = Math.floor(createdAtMs / DAY_MS) * DAY_MS
    return { fromMs, nextMs: fromMs }
  },
  withPast(cursor, fromMs): HoursCursor | undefined {
    const { past, earlierMs, ...done } = cursor as HoursCursor
    const earliest = earlierMs ?? past?.fromMs ?? done.fromMs
    if (fromMs >= earliest) return undefined
    if (past === undefined) return { ...done, past: { fromMs, nextMs: fromMs } }
    return { ...done, past, earlierMs: fromMs }
  },
  pastOf(cursor) {
    const { past, earlierMs, fromMs } = cursor as HoursCursor
    if (past === undefined) return undefined
    const [next, end] = [past.nextMs, fromMs].map((ms) => new Date(ms).toISOString().slice(0, 13))
    const then = earlierMs === undefined ? '' : `, then since ${new Date(earlierMs).toISOString().slice(0, 10)}`
    return `hours from ${next} to ${end}${then}`
  },
  open: (access) => new AmplitudePlace(access),
}

class AmplitudePlace implements PullPlace {
  readonly #access: PullAccess

  constructor(access: PullAccess) {
    this.#access = access
  }

  async *items(run: PullRun): AsyncGenerator<PullItem, HoursCursor> {
    let cursor = run.cursor as HoursCursor
    const complete = Math.floor((this.#access.nowMs() - COMPLETE_AFTER_MS) / HOUR_MS) * HOUR_MS
    for await (const step of this.#hours(cursor.nextMs, complete, run)) {
      cursor = { ...cursor, nextMs: step.toMs }
      yield* itemsOf(step, cursor)
    }
    while (cursor.past !== undefined) {
      const { past, earlierMs } = cursor
      for await (const step of this.#hours(past.nextMs, cursor.fromMs, run)) {
        cursor = { ...cursor, past: { ...past, nextMs: step.toMs } }
        yield* itemsOf(step, cursor)
      }
      const next = earlierMs === undefined ? undefined : { fromMs: earlierMs, nextMs: earlierMs }
      cursor = { ...cursor, fromMs: past.fromMs, past: next, earlierMs: undefined }
    }
    return cursor
  }

  /** Fetches one answer after another, each for as many hours as Amplitude can give. */
  async *#hours(fromMs: number, endMs: number, { signal, isRetry }: PullRun): AsyncGenerator<Fetched> {
    let hours = isRetry ? 1 : HOURS_MAX
    for (let at = fromMs; at < endMs; ) {
      const toMs = Math.min(endMs, at + hours * HOUR_MS)
      const file = join(this.#access.tempDir, `${randomUUID()}.zip`)
      try {
        const isOne = toMs - at === HOUR_MS
        const answer = await this.#download(file, at, toMs - HOUR_MS, isOne ? HOUR_BYTES_MAX : BYTES_MAX, signal)
        if (answer === 'too large' && !isOne) {
          hours = Math.max(1, Math.floor((toMs - at) / HOUR_MS / 2))
          continue
        }
        yield { fromMs: at, toMs, file, answer }
        at = toMs
      } finally {
        await rm(file, { force: true })
      }
    }
  }

  /** @param lastMs the last hour of the range */
  async #download(
    file: string,
    firstMs: number,
    lastMs: number,
    bytesMax: number,
    signal: AbortSignal,
  ): Promise<Fetched['answer']> {
    const { settings, secrets } = this.#access
    const query = new URLSearchParams({ start: hourOf(firstMs), end: hourOf(lastMs) })
    const basic = Buffer.from(`${secrets.apiKey}:${secrets.secretKey}`).toString('base64')
    const silence = new Silence(signal)
    try {
      silence.allow(FIRST_BYTE_MS)
      const response = await fetch(new URL(`/api/2/export?${query}`, pull.placeOf(settings)), {
        headers: { authorization: `Basic ${basic}` },
        signal: silence.signal,
      })
      const { status, body } = response
      if (status !== 200) await body?.cancel()
      if (status === 404) return 'no data'
      if (TOO_LARGE.includes(status)) return 'too large'
      if (status === 401 || status === 403) {
        throw new PullDeniedError(
          `Amplitude refuses the API key or the secret key (${status}): "source set ID --secret" replaces them`,
        )
      }
      if (status === 429) throw new UnavailableError('Amplitude takes no more requests for now (429)')
      if (status !== 200 || body === null) throw new UnavailableError(`Amplitude answered ${status}`)
      const length = Number(response.headers.get('content-length') ?? Number.NaN)
      const bytes = await this.#save(file, body, bytesMax, silence)
      if (bytes > bytesMax) return 'too large'
      if (bytes !== length && !Number.isNaN(length) && !response.headers.has('content-encoding')) {
        throw new UnavailableError(`Amplitude's answer ended after ${bytes} of ${length} bytes`)
      }
      return 'data'
    } catch (error) {
      if (error instanceof UnavailableError || error instanceof PullDeniedError) throw error
      const { message, cause } = error as Error
      const reason = cause instanceof Error ? cause.message : message
      throw new UnavailableError(`Amplitude's answer failed: ${reason}`, { cause: error })
    } finally {
      silence.end()
    }
  }

  /** @returns the number of bytes; above `bytesMax` it stops */
  async #save(file: string, body: AsyncIterable<Uint8Array>, bytesMax: number, silence: Silence): Promise<number> {
    const handle = await open(file, 'wx', 0o600)
    let bytes = 0
    try {
      for await (const piece of body) {
        silence.allow(SILENCE_MS)
        bytes += piece.length
        if (bytes > bytesMax) break
        await handle.writeFile(piece)
      }
    } finally {
      await handle.close()
    }
    return bytes
  }

  async close(): Promise<void> {}
}

/** The answer to a request for some hours. @see AmplitudePlace */
interface Fetched {
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly file: string
  readonly answer: 'data' | 'no data' | 'too large'
}

/** Aborts after some time without a sign of life, and with another signal. */
class Silence {
  readonly #controller = new AbortController()
  readonly signal: AbortSignal
  #timer: NodeJS.Timeout | undefined

  constructor(outer: AbortSignal) {
    this.signal = AbortSignal.any([outer, this.#controller.signal])
  }

  allow(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#controller.abort(new Error(`nothing came for ${ms / 1_000} s`)), ms)
  }

  end(): void {
    clearTimeout(this.#timer)
  }
}

async function* itemsOf({ fromMs, toMs, file, answer }: Fetched, cursor: HoursCursor): AsyncGenerator<PullItem> {
  if (answer === 'no data') return
  const name = `${hourOf(fromMs)} to ${hourOf(toMs - HOUR_MS)}`
  const shared = { name, atMs: toMs, cursor, canWait: false, isMadeAnew: true }
  if (answer === 'too large') {
    const refuse = async () => {
      throw new PullRefusedError('the hour is larger than Amplitude exports: use its export to S3')
    }
    yield { ...shared, isMadeAnew: false, id: name, open: refuse }
    return
  }
  // The same names, sizes and checksums are the same content in the same order, so a large answer can be continued in its middle.
  const digest = await digestOf(file).catch((error: Error) => {
    throw new UnavailableError(`Amplitude's ZIP file is damaged: ${error.message}`)
  })
  yield { ...shared, id: `amplitude ${name}\n${digest}`, open: async () => filesOf(file) }
}

async function digestOf(file: string): Promise<string> {
  const digest = createHash('sha256')
  const zip = await openPromise(file)
  try {
    for await (const { fileName, uncompressedSize, crc32 } of zip.eachEntry()) {
      digest.update(JSON.stringify([fileName, uncompressedSize, crc32]))
    }
  } finally {
    zip.close()
  }
  return digest.digest('hex')
}

async function* filesOf(file: string): AsyncGenerator<PullFile> {
  const zip = await openPromise(file)
  try {
    for await (const entry of zip.eachEntry()) {
      if (entry.fileName.endsWith('/')) continue
      yield { bytes: await zip.openReadStreamPromise(entry) }
    }
  } finally {
    zip.close()
  }
}

/** `YYYYMMDDTHH` */
function hourOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 13).replaceAll('-', '')
}

/** Amplitude's Export API: what Amplitude got in each hour, as soon as the hour is complete. */
export const amplitudeExport: Source = {
  name: 'amplitude-export',
  lane: 'batch',
  routes: [],
  tool: {
    title: 'Amplitude export',
    group: 'pulls',
    options: '--region us',
    path: () => '',
    setup: (
      _base,
      id,
    ) => `ipid asks Amplitude every hour, and gets each hour two hours after its end, since the start of this day (UTC).
Older events: ./ipid source run ${id} --from 2026-01-31
How it fares: ./ipid source list TENANT

Amplitude keeps the address of an event unless the project drops it. Events without one find no company.
`,
  },
  pull,
}
