import { createHash, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
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
import { type DownloadLimits, download, LateAnswerError } from './pulls/download.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** An hour is complete this long after its end. */
const COMPLETE_AFTER_MS = 2 * HOUR_MS
/** Hours of one request. */
const HOURS_MAX = 24
/** Bytes of an answer for more than one hour. If there are more, fewer hours are asked for. */
const BYTES_MAX = 2 ** 30
/** The largest answer that Amplitude makes. */
const HOUR_BYTES_MAX = 2 ** 32
/** Amplitude packs the whole answer before it sends the head. */
const LIMITS: DownloadLimits = { connectMs: 30_000, answerMs: 600_000, silenceMs: 60_000 }
const HOSTS: Readonly<Record<string, string>> = {
  us: 'https://amplitude.com',
  eu: 'https://analytics.eu.amplitude.com',
}
/** Amplitude documents 400 for an answer of more than 4 GB. */
const TOO_LARGE = [400, 413]
/** Amplitude documents this for an answer that it could not pack in time. */
const TOO_SLOW = 504

interface Progress {
  readonly nextMs: number
  /** Limits a request to `hours` until this time, because Amplitude could not pack more. */
  readonly short?: { readonly hours: number; readonly untilMs: number } | undefined
}

/** Which hours are done: from `fromMs` until `nextMs`, which is not. Amplitude assigns an event to the hour when it got it. */
interface HoursCursor extends Progress {
  readonly fromMs: number
  /** A requested backfill. Its hours from `nextMs` until `fromMs` are not fetched yet. */
  readonly past?: (Progress & { readonly fromMs: number }) | undefined
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

export class AmplitudePlace implements PullPlace {
  readonly #access: PullAccess
  readonly #limits: DownloadLimits

  constructor(access: PullAccess, limits: DownloadLimits = LIMITS) {
    this.#access = access
    this.#limits = limits
  }

  async *items(run: PullRun): AsyncGenerator<PullItem, HoursCursor> {
    let cursor = run.cursor as HoursCursor
    const complete = Math.floor((this.#access.nowMs() - COMPLETE_AFTER_MS) / HOUR_MS) * HOUR_MS
    for await (const [progress, answer] of this.#answers(cursor, complete, run)) {
      cursor = { ...cursor, ...progress }
      yield await itemOf(answer, cursor)
    }
    while (cursor.past !== undefined) {
      const { past, earlierMs } = cursor
      for await (const [progress, answer] of this.#answers(past, cursor.fromMs, run)) {
        cursor = { ...cursor, past: { ...past, ...progress } }
        yield await itemOf(answer, cursor)
      }
      const next = earlierMs === undefined ? undefined : { fromMs: earlierMs, nextMs: earlierMs }
      cursor = { ...cursor, fromMs: past.fromMs, past: next, earlierMs: undefined }
    }
    return cursor
  }

  /** Fetches one answer after another, and reports the progress after each. */
  async *#answers(begun: Progress, endMs: number, run: PullRun): AsyncGenerator<readonly [Progress, Answer]> {
    for (let progress = begun; progress.nextMs < endMs; ) {
      const { nextMs: fromMs, short } = progress
      const toMs = Math.min(endMs, fromMs + (short?.hours ?? HOURS_MAX) * HOUR_MS)
      const hours = (toMs - fromMs) / HOUR_MS
      // The last run could not read this range. Asked for hour by hour, only the bad hour is refused in the end.
      const isStuck = hours > 1 && run.stuckAt?.startsWith(hourOf(fromMs)) === true
      const range = { fromMs, toMs, file: join(this.#access.tempDir, `${randomUUID()}.zip`) }
      try {
        const result = isStuck ? 'too large' : await this.#download(range, run.signal)
        if (hours > 1 && (result === 'too large' || result === 'too slow')) {
          const short = { hours: isStuck ? 1 : Math.floor(hours / 2), untilMs: fromMs + DAY_MS }
          progress = { nextMs: fromMs, short }
          yield [progress, { ...range, result: 'no data' }]
        } else {
          progress = { nextMs: toMs, short: shortAt(toMs, short) }
          yield [progress, { ...range, result }]
        }
      } finally {
        await rm(range.file, { force: true })
      }
    }
  }

  /** @throws for network errors and other statuses, which do not shrink the range: they say nothing about its size */
  async #download({ fromMs, toMs, file }: Range, signal: AbortSignal): Promise<Result> {
    const { settings, secrets } = this.#access
    const lastMs = toMs - HOUR_MS
    const bytesMax = fromMs === lastMs ? HOUR_BYTES_MAX : BYTES_MAX
    const query = new URLSearchParams({ start: hourOf(fromMs), end: hourOf(lastMs) })
    const url = new URL(`/api/2/export?${query}`, pull.placeOf(settings))
    const basic = Buffer.from(`${secrets.apiKey}:${secrets.secretKey}`).toString('base64')
    const headers = { authorization: `Basic ${basic}` }
    const answer = await download(url, { headers, file, bytesMax, limits: this.#limits, signal }).catch((error) => {
      if (error instanceof LateAnswerError) return undefined
      throw new UnavailableError(`Amplitude's answer failed: ${(error as Error).message}`, { cause: error })
    })
    if (answer === undefined || answer.status === TOO_SLOW) return 'too slow'
    const { status, bytes } = answer
    if (TOO_LARGE.includes(status) || bytes > bytesMax) return 'too large'
    if (status === 200) return 'data'
    if (status === 404) return 'no data'
    if (status === 401 || status === 403) {
      throw new PullDeniedError(
        `Amplitude refuses the API key or the secret key (${status}): "source set ID --secret" replaces them`,
      )
    }
    if (status === 429) throw new UnavailableError('Amplitude takes no more requests for now (429)')
    throw new UnavailableError(`Amplitude answered ${status}`)
  }

  async close(): Promise<void> {}
}

/** After a day of short ranges, longer ones are tried again. */
function shortAt(atMs: number, short: Progress['short']): Progress['short'] {
  if (short === undefined || atMs < short.untilMs) return short
  const hours = 2 * short.hours
  return hours < HOURS_MAX ? { hours, untilMs: atMs + DAY_MS } : undefined
}

interface Range {
  readonly fromMs: number
  /** Exclusive. */
  readonly toMs: number
  readonly file: string
}

type Result = 'data' | 'no data' | 'too large' | 'too slow'

interface Answer extends Range {
  readonly result: Result
}

async function itemOf({ fromMs, toMs, file, result }: Answer, cursor: HoursCursor): Promise<PullItem> {
  const name = `${hourOf(fromMs)} to ${hourOf(toMs - HOUR_MS)}`
  const shared = { id: name, name, atMs: toMs, cursor, canWait: false, isMadeAnew: true }
  const failing = (error: Error): PullItem => ({
    ...shared,
    open: async () => {
      throw error
    },
  })
  if (result === 'no data') return { ...shared, open: async () => undefined }
  if (result === 'too large')
    return failing(new PullRefusedError('the hour is larger than Amplitude exports: use its export to S3'))
  if (result === 'too slow') {
    return failing(
      new UnavailableError('Amplitude did not pack the hour in time: use its export to S3 if this stays so'),
    )
  }
  try {
    // The same names, sizes and checksums are the same content in the same order, so a large answer can be continued in its middle.
    const id = `amplitude ${name}\n${await digestOf(file)}`
    return { ...shared, id, open: async () => filesOf(file) }
  } catch (error) {
    return failing(new PullRefusedError(`Amplitude's ZIP file is damaged: ${(error as Error).message}`))
  }
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

/** Amplitude's Export API. Fetches the events of each hour as soon as the hour is complete. */
export const amplitudeExport: Source = {
  name: 'amplitude-export',
  lane: 'batch',
  routes: [],
  tool: {
    title: 'Amplitude export',
    group: 'pulls',
    options: '--region us',
    path: () => '',
    setup: ({ id }) => [
      {
        title: 'Older events',
        about:
          'ipid asks Amplitude every hour, and gets each hour two hours after its end, since the start of this day (UTC). Amplitude keeps ' +
          'the address of an event unless the project drops it. Events without one find no company.',
        isSample: true,
        code: `./ipid source run ${id} --from YYYY-MM-DD`,
      },
      { title: 'Its state', isSample: true, code: './ipid source list TENANT' },
    ],
  },
  pull,
}
