import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { IpidError } from './errors.ts'
import { queryOf, uploadOf } from './files.ts'
import { EventQueue, type FailedEvent, type QueueCounts, REQUEST_LIMITS } from './queue.ts'
import { jsonOf, type Request, Transport } from './transport.ts'
import type {
  AcceptedUpload,
  BulkResult,
  Company,
  CompanyDetails,
  CompanyFilter,
  EventFate,
  EventResult,
  Job,
  Lookup,
  LookupOptions,
  UploadOptions,
  VisitorEvent,
} from './types.ts'

/** Only `key` and `url` are required. Times are in milliseconds, sizes in bytes. */
export interface IpidOptions {
  /** An API key. It belongs on a server: never in a page or an app. */
  readonly key: string
  /** The address of ipid, such as `https://ipid.example.com`. */
  readonly url: string
  /** A request has at most this many events. Default and maximum: 100. */
  readonly batchEvents?: number
  /** … and this many bytes of events. Default 512 KiB; maximum 1 MiB. A larger event is sent alone. */
  readonly batchBytes?: number
  /** An event waits at most this long for others. Default 1,000. */
  readonly batchMs?: number
  /** Events in the queue and on their way. Default 10,000. */
  readonly queueEvents?: number
  /** Their bytes as JSON. Default 16 MiB. */
  readonly queueBytes?: number
  /** Requests with events at the same time. Default 4. */
  readonly requestsMax?: number
  /** A whole answer takes at most this long; one of an upload ten times this. Default 30,000. */
  readonly requestTimeoutMs?: number
  /** An event is tried until this long after `track`. Default 600,000; `Infinity` is allowed. */
  readonly retryMs?: number
  /** Another request, whose caller waits, fails when its next attempt would be later than this. Default 60,000. */
  readonly callRetryMs?: number
  /** How long the end of the process, or `close`, waits for deliveries. Default 10,000. */
  readonly exitMs?: number
  /** Called with the results of each request. */
  readonly onDelivered?: (results: readonly EventResult[]) => void
  /** Called with events that were not delivered. Default: a warning of the process with their number and the first error. */
  readonly onFailed?: (failed: readonly FailedEvent[]) => void
  /** Default: that of Node.js. */
  readonly fetch?: typeof globalThis.fetch
}

/** Options of `waitForJob`. */
export interface WaitOptions {
  /** Default: for ever. */
  readonly timeoutMs?: number
  readonly onProgress?: (job: Job) => void
}

/** Options of `request`. */
export interface RequestOptions {
  /** Further headers. With `idempotency-key` a POST is repeated after every temporary failure, on a path that takes it. */
  readonly headers?: Readonly<Record<string, string>>
}

const BACKOFF = { firstMs: 500, maxMs: 30_000 } as const
const POLL = { firstMs: 250, maxMs: 5_000 } as const

/**
 * A client of ipid. `track` and `deliver` send events through a queue; every event ends once, as delivered or as failed. All other methods
 * are requests of their own, repeated after 429, 5xx and broken connections; `request` repeats a POST more rarely.
 *
 * Call `close` before the process ends, or use `await using`. A process that has nothing else to do delivers by itself.
 */
export class Ipid implements AsyncDisposable {
  readonly #transport: Transport
  readonly #queue: EventQueue
  readonly #callRetryMs: number
  readonly #uploadTimeoutMs: number
  readonly #exitMs: number

  /** @throws TypeError when an option is wrong */
  constructor(options: IpidOptions) {
    const count = (name: keyof IpidOptions, usual: number, max = Number.POSITIVE_INFINITY): number => {
      const value = options[name] ?? usual
      if (typeof value === 'number' && value >= 1 && value <= max) return value
      throw new TypeError(`${name} must be a number from 1${max === Number.POSITIVE_INFINITY ? '' : ` to ${max}`}`)
    }
    const requestTimeoutMs = count('requestTimeoutMs', 30_000)
    this.#uploadTimeoutMs = 10 * requestTimeoutMs
    this.#callRetryMs = count('callRetryMs', 60_000)
    this.#exitMs = count('exitMs', 10_000)
    this.#transport = new Transport({
      ...{ key: options.key, url: options.url, requestTimeoutMs, backoff: BACKOFF, random: Math.random },
      fetch: options.fetch ?? globalThis.fetch,
    })
    this.#queue = new EventQueue(this.#transport, {
      batchEvents: count('batchEvents', REQUEST_LIMITS.eventsMax, REQUEST_LIMITS.eventsMax),
      batchBytes: count('batchBytes', REQUEST_LIMITS.bodyMaxBytes / 2, REQUEST_LIMITS.bodyMaxBytes - 64),
      batchMs: count('batchMs', 1_000),
      queueEvents: count('queueEvents', 10_000),
      queueBytes: count('queueBytes', 16 * 1_048_576),
      requestsMax: count('requestsMax', 4),
      retryMs: count('retryMs', 600_000),
      exitMs: this.#exitMs,
      onDelivered: options.onDelivered ?? (() => {}),
      onFailed: options.onFailed ?? warn,
    })
  }

  /**
   * Puts an event into the queue. It gets its `event_id` and `timestamp` here, unless it has them.
   * @returns false when it failed at once, and `onFailed` has said why: the queue is full, the client is closed, or it is no event
   */
  track(event: VisitorEvent): boolean {
    return this.#queue.add(event)
  }

  /**
   * Puts an event into the queue, waiting while it is full, and resolves when the service has taken the event. `onFailed` is not called
   * for it.
   * @throws IpidError when it was not delivered
   */
  deliver(event: VisitorEvent): Promise<EventResult> {
    return this.#queue.deliver(event)
  }

  /** Sends all waiting events now, and resolves when all events that were given before have ended. */
  flush(): Promise<void> {
    return this.#queue.flush()
  }

  /** Takes no further events, and delivers those that wait. Events that are left after `timeoutMs` (default: `exitMs`) fail. */
  close({ timeoutMs = this.#exitMs }: { readonly timeoutMs?: number } = {}): Promise<void> {
    return this.#queue.close(timeoutMs)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get counts(): QueueCounts {
    return this.#queue.counts
  }

  /** Looks an address up. Nothing is stored. @throws IpidError */
  lookup(ip: string, options: LookupOptions = {}): Promise<Lookup> {
    return this.#json({ method: 'POST', path: '/v1/lookup', ...jsonBody({ ...options, ip }), repeats: 'always' })
  }

  /** Looks up to 512 addresses up, and returns their results in the same order. @throws IpidError */
  bulk(ips: readonly string[], options: LookupOptions = {}): Promise<BulkResult[]> {
    const { headers, body } = jsonBody({ ...options, ips })
    const request = {
      method: 'POST',
      path: '/v1/bulk',
      headers: { ...headers, accept: NDJSON },
      body,
      repeats: 'always',
    } as const
    return this.#transport.withRetries(request, this.#callRetryMs, ({ status, text }) => {
      const lines = text.split('\n').filter((line) => line !== '')
      if (lines.length === ips.length) return lines.map((line) => jsonOf<BulkResult>({ status, text: line }))
      throw new IpidError('unexpected_answer', 'the answer has not one line for each address', { status })
    })
  }

  /**
   * Uploads a file of events, NDJSON or CSV, plain or as `.gz`. It is read while it is sent. All attempts have one key, so the file
   * becomes one job. Give an `idempotencyKey` of your own to send it again after an error, within 24 hours, without a second job.
   * @throws IpidError; the error of Node.js when the file cannot be opened
   */
  uploadFile(file: string, options: UploadOptions = {}): Promise<AcceptedUpload> {
    const request = { ...uploadOf(file, options), timeoutMs: this.#uploadTimeoutMs }
    return this.#transport.withRetries(request, this.#callRetryMs, jsonOf<AcceptedUpload>)
  }

  /** A batch job. @throws IpidError `unknown_job` */
  job(jobId: string): Promise<Job> {
    return this.#json(get(`/v1/ingest/batch/${encodeURIComponent(jobId)}`))
  }

  /** The job when it has ended: `completed` or `failed`. @throws IpidError `timeout` when that takes too long */
  async waitForJob(
    jobId: string,
    { timeoutMs = Number.POSITIVE_INFINITY, onProgress }: WaitOptions = {},
  ): Promise<Job> {
    const deadlineMs = performance.now() + timeoutMs
    for (let waitMs: number = POLL.firstMs; ; waitMs = Math.min(POLL.maxMs, waitMs * 1.5)) {
      const job = await this.job(jobId)
      onProgress?.(job)
      if (job.status === 'completed' || job.status === 'failed') return job
      if (performance.now() + waitMs > deadlineMs) throw new IpidError('timeout', `job ${jobId} is ${job.status}`)
      await sleep(waitMs)
    }
  }

  /** What became of an event. @throws IpidError `unknown_event` */
  event(eventId: string): Promise<EventFate> {
    return this.#json(get(`/v1/events/${encodeURIComponent(eventId)}`))
  }

  /** All companies of a filter, page after page, in the order of their ids. @throws IpidError */
  async *companies(filter: CompanyFilter = {}): AsyncGenerator<Company, void, undefined> {
    let cursor: string | undefined
    do {
      const path = `/v1/companies${queryOf({ ...filter, cursor })}`
      const page = await this.#json<CompanyPage>(get(path))
      yield* page.companies
      cursor = page.next_cursor ?? undefined
    } while (cursor !== undefined)
  }

  /** A company and its last days: 1 to 366, default 30. @throws IpidError `unknown_company` */
  company(companyId: string, options: { readonly days?: number } = {}): Promise<CompanyDetails> {
    const path = `/v1/companies/${encodeURIComponent(companyId)}${queryOf({ days: options.days })}`
    return this.#json(get(path))
  }

  /**
   * Any other request of the API, with its key and its errors. A GET is repeated like all requests. A POST is repeated only when the
   * service has not taken it, after 429 or a refused connection, unless it has an `idempotency-key`. On paths that take such a key it gets
   * one here.
   * @param path with its query, such as `/v1/ingest/batch?limit=5`
   * @param body is sent as JSON
   * @throws IpidError
   */
  async request<T>(
    method: 'GET' | 'POST',
    path: string,
    body?: unknown,
    { headers: more = {} }: RequestOptions = {},
  ): Promise<T> {
    const content = body === undefined ? undefined : jsonBody(body)
    // Names in lower case, so that each header is sent once.
    const headers = { ...content?.headers, ...Object.fromEntries(new Headers(more)) }
    if (method === 'POST' && KEYED_PATHS.has(path.split('?')[0]!)) headers['idempotency-key'] ??= randomUUID()
    const repeats = method === 'GET' || headers['idempotency-key'] !== undefined ? 'always' : 'unless_taken'
    return await this.#json({ method, path, headers, repeats, ...(content && { body: content.body }) })
  }

  #json<T>(request: Request): Promise<T> {
    return this.#transport.withRetries(request, this.#callRetryMs, jsonOf<T>)
  }
}

interface CompanyPage {
  readonly companies: readonly Company[]
  readonly next_cursor: string | null
}

/** Where the API takes `Idempotency-Key`. A bulk lookup with `mode=sync` ignores it, and creates nothing. */
const KEYED_PATHS: ReadonlySet<string> = new Set(['/v1/bulk', '/v1/ingest/batch'])
const NDJSON = 'application/x-ndjson'

function get(path: string): Request {
  return { method: 'GET', path, repeats: 'always' }
}

function jsonBody(value: unknown): Required<Pick<Request, 'headers' | 'body'>> {
  const text = JSON.stringify(value)
  return { headers: { 'content-type': 'application/json' }, body: () => text }
}

function warn(failed: readonly FailedEvent[]): void {
  const { message, code } = failed[0]!.error
  process.emitWarning(`${failed.length} events were not delivered: ${message}`, { type: 'IpidWarning', code })
}
