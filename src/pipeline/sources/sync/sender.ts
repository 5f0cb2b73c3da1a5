import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import {
  addFiltered,
  type FilteredBy,
  type FilteredCounts,
  filteredBy,
  withOthers,
} from '../../../../schemas/filtered.ts'
import { cutText } from '../../../run/cut-text.ts'
import { InputError, StartupError } from '../../../run/errors.ts'
import { type DelayBounds, growingDelay, pause } from '../../../run/loop.ts'
import { retryAfterMs } from '../../../run/retry-after.ts'

const compress = promisify(gzip)

/** The end of a wait that the user asked for. */
export class StoppedError extends Error {
  override name = 'StoppedError'
}

export interface SenderOptions {
  /** `http://host:port` */
  readonly base: string
  readonly key: string
  /** How long to repeat a request that fails, milliseconds. */
  readonly patienceMs: number
  /** Advice to the user after that, for the error. */
  readonly remedy: string
  /** Ends the waits between repeats. A request under way is finished. */
  readonly stop: AbortSignal
  /** Called once for each series of failures. */
  readonly onTrouble: (problem: string) => void
  readonly delay?: DelayBounds
}

const DELAY: DelayBounds = { minMs: 500, maxMs: 30_000 }
/** A request that takes longer is repeated. Its events have the same ids. */
const TIMEOUT_MS = 60_000
const JOB_TIMEOUT_MS = 10_000
const REPEATED = new Set([408, 425, 429])

/** The result of an accepted request. */
export interface SentAnswer {
  /** Events that do not fit the schema. */
  readonly rejected: number
  /** Noise: counted but not stored. */
  readonly filtered: FilteredCounts
  /** Events with an invalid address, and events without one. */
  readonly invalidIp: number
  readonly noIp: number
  /** The job that judges the events of a large request later; all numbers are 0 until then. */
  readonly jobId?: string | undefined
}

/** Sends events to a source of kind `http`. */
export class SourceSender {
  readonly #options: SenderOptions
  readonly #url: URL

  constructor(options: SenderOptions) {
    this.#options = options
    this.#url = new URL(`/s/http/${encodeURIComponent(options.key)}`, options.base)
  }

  /**
   * Resolves when the events are durable. Repeats the request on 429, 5xx and broken connections.
   * @param lines NDJSON
   * @throws StoppedError after `stop`; InputError when the key is refused; StartupError when the API refuses, or does not answer in time
   */
  async send(lines: readonly string[]): Promise<SentAnswer> {
    const body = await compress(lines.join('\n'), { level: 1 })
    const deadlineMs = performance.now() + this.#options.patienceMs
    for (let failures = 0; ; failures++) {
      const tried = await this.#try(body)
      if ('answer' in tried) return tried.answer
      if (failures === 0) this.#options.onTrouble(tried.problem)
      const delayMs = Math.max(growingDelay(failures, this.#options.delay ?? DELAY), tried.afterMs)
      if (performance.now() + delayMs > deadlineMs) {
        throw new StartupError(`${tried.problem}; ${this.#options.remedy}`)
      }
      await pause(delayMs, this.#options.stop)
      if (this.#options.stop.aborted) throw new StoppedError('stopped')
    }
  }

  /** What became of the events of a job; undefined: it is not known yet; `never`: this API does not know the job; `failed`: it ended early. */
  async judged(jobId: string): Promise<SentAnswer | 'never' | 'failed' | undefined> {
    try {
      const url = `${this.#url.href}?job=${encodeURIComponent(jobId)}`
      const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(JOB_TIMEOUT_MS) })
      const { job_id, status, result_summary: summary } = objectOf(await response.text())
      if (response.status === 404 || (response.ok && job_id === undefined)) return 'never'
      if (status === 'failed') return 'failed'
      return status === 'completed' ? answerOf(summary) : undefined
    } catch {
      return undefined
    }
  }

  async #try(body: Buffer): Promise<{ answer: SentAnswer } | { problem: string; afterMs: number }> {
    let response: Response
    let text: string
    try {
      response = await fetch(this.#url, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/x-ndjson', 'content-encoding': 'gzip' },
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      text = await response.text()
    } catch (error) {
      return { problem: `cannot reach ${this.#options.base}: ${problemOf(error)}`, afterMs: 0 }
    }
    const { status } = response
    if (status >= 200 && status < 300) return { answer: answerOf(objectOf(text)) }
    const problem = `${this.#options.base} answered ${status}: ${detailOf(text)}`
    if (status >= 500 || REPEATED.has(status)) {
      const afterMs = retryAfterMs(response.headers.get('retry-after'), Date.now(), Number.POSITIVE_INFINITY)
      return { problem, afterMs: afterMs ?? 0 }
    }
    if (status === 401 || status === 403) {
      throw new InputError(
        `${problem}. The source key is wrong, revoked, or of another kind: "./ipid source create TENANT http" makes one`,
      )
    }
    if (status === 404) throw new InputError(`${problem}. Is this the address of ipid's API? Name it with --url`)
    throw new StartupError(problem)
  }
}

/** `fetch` puts the reason into the cause. */
function problemOf(error: unknown): string {
  const { message, cause } = error as Error & { cause?: NodeJS.ErrnoException }
  return cause?.message || cause?.code || message
}

function detailOf(text: string): string {
  const { detail } = objectOf(text)
  return typeof detail === 'string' ? detail : cutText(text, 200)
}

/** @param found an answer of the API, or the summary of a job */
function answerOf(found: unknown): SentAnswer {
  const { rejected, filtered, filtered_reasons, invalid_ip, no_ip, job_id } = Object(found) as Record<string, unknown>
  const count = (value: unknown) => (typeof value === 'number' ? value : 0)
  const reasons: Partial<Record<FilteredBy, number>> = {}
  for (const [name, events] of Object.entries(Object(filtered_reasons))) {
    addFiltered(reasons, filteredBy('', name), count(events))
  }
  return {
    ...{ rejected: count(rejected), filtered: withOthers(reasons, count(filtered)) },
    ...{ invalidIp: count(invalid_ip), noIp: count(no_ip) },
    jobId: typeof job_id === 'string' ? job_id : undefined,
  }
}

function objectOf(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text)) as Readonly<Record<string, unknown>>
  } catch {
    return {}
  }
}
