import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, IpidError, isApiErrorCode } from './errors.ts'
import { VERSION } from './version.ts'

/** A request of the API. */
export interface Request {
  readonly method: 'GET' | 'POST'
  /** With its query. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  /** Makes the body of one attempt. A stream cannot be sent twice; it is destroyed after the attempt. An error of it is thrown as it is. */
  readonly body?: () => string | Promise<Readable>
  /** `unless_taken`: only after answers and failures that say that the service has not taken it. */
  readonly repeats: 'always' | 'unless_taken'
  /** Milliseconds of one attempt, with the whole answer. Default: that of the client. */
  readonly timeoutMs?: number
}

/** A whole answer of 200 to 299. */
export interface Answer {
  readonly status: number
  readonly text: string
}

/** How the wait between attempts grows: full jitter under a limit that doubles. In milliseconds. */
export interface Backoff {
  readonly firstMs: number
  readonly maxMs: number
}

export interface TransportOptions {
  readonly key: string
  readonly url: string
  readonly requestTimeoutMs: number
  readonly backoff: Backoff
  readonly fetch: typeof globalThis.fetch
  readonly random: () => number
}

const AGENT = `ipid-client-typescript/${VERSION} node/${process.versions.node}`

/** Makes requests with the key. No error of it contains the key. */
export class Transport {
  readonly #key: string
  readonly #base: string
  readonly #options: TransportOptions

  /** @throws TypeError when key or URL cannot be sent; the message quotes neither, because both may contain a secret */
  constructor(options: TransportOptions) {
    this.#key = assertKey(options.key)
    this.#base = assertUrl(options.url)
    this.#options = options
  }

  /**
   * One attempt.
   * @throws IpidError unless the answer is whole and 200 to 299; an error of `body` as it is
   */
  async once(request: Request, stop?: AbortSignal): Promise<Answer> {
    const { method, path, headers, body, timeoutMs = this.#options.requestTimeoutMs } = request
    const content = await body?.()
    // `AbortSignal.any` with `AbortSignal.timeout` never fires on some versions of Node.js 20.
    const abort = new AbortController()
    const stopNow = () => abort.abort()
    let isLate = false
    const timer = setTimeout(() => {
      isLate = true
      abort.abort()
    }, timeoutMs)
    stop?.addEventListener('abort', stopNow)
    if (stop?.aborted) stopNow()
    try {
      const response = await this.#options.fetch(this.#base + path, {
        method,
        // A redirect would send the key to another host.
        redirect: 'manual',
        headers: { 'user-agent': AGENT, accept: 'application/json', ...headers, 'x-api-key': this.#key },
        signal: abort.signal,
        ...(typeof content === 'string' && { body: content }),
        ...(content instanceof Readable && {
          body: Readable.toWeb(content) as ReadableStream,
          duplex: 'half' as const,
        }),
      })
      const text = await response.text()
      if (response.status >= 200 && response.status < 300) return { status: response.status, text }
      throw errorOf(response, text)
    } catch (error) {
      if (error instanceof IpidError) throw error
      if (isLate) throw new IpidError('timeout', `no whole answer within ${timeoutMs} ms`, { mayBeStored: true })
      const cause = causeOf(error)
      throw new IpidError('network', `no whole answer: ${cause}`, { mayBeStored: cause !== 'ECONNREFUSED' })
    } finally {
      clearTimeout(timer)
      if (content instanceof Readable) content.destroy()
      stop?.removeEventListener('abort', stopNow)
    }
  }

  /**
   * Makes attempts until one succeeds, the failure is not temporary, the request may not be repeated, or the next wait would pass
   * `withinMs`.
   * @param read makes the result of an answer; a failure of it counts as one of the attempt
   * @throws IpidError the last one
   */
  async withRetries<T>(request: Request, withinMs: number, read: (answer: Answer) => T): Promise<T> {
    const deadlineMs = performance.now() + withinMs
    for (let attempt = 0; ; attempt++) {
      try {
        return read(await this.once(request))
      } catch (error) {
        if (!(error instanceof IpidError) || !error.isTemporary) throw error
        if (request.repeats === 'unless_taken' && !isNotTaken(error)) throw error
        const waitMs = this.waitMs(error, attempt)
        if (performance.now() + waitMs > deadlineMs) throw error
        await sleep(waitMs)
      }
    }
  }

  /** Milliseconds until the next attempt; at least what the service asks for. */
  waitMs(error: IpidError, attempt: number): number {
    const { backoff, random } = this.#options
    const spread = random() * Math.min(backoff.maxMs, backoff.firstMs * 2 ** Math.min(attempt, 30))
    return error.retryAfterMs === undefined
      ? spread
      : error.retryAfterMs + random() * Math.min(backoff.firstMs, error.retryAfterMs)
  }
}

/** @throws IpidError when the text is not JSON */
export function jsonOf<T>({ status, text }: Answer): T {
  try {
    return JSON.parse(text) as T
  } catch {
    throw new IpidError('unexpected_answer', 'the answer is not JSON', { status, mayBeStored: true })
  }
}

/** A proxy may send other errors after the service has taken the request. */
function isNotTaken({ code, status, mayBeStored }: IpidError): boolean {
  return status === 429 || (code === 'network' && !mayBeStored)
}

function assertKey(key: string): string {
  const trimmed = typeof key === 'string' ? key.trim() : ''
  if (!/^[\x21-\x7e]+$/.test(trimmed)) throw new TypeError('key must be an API key: ipid_ and 64 characters')
  return trimmed
}

function assertUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('url must be the address of ipid, such as https://ipid.example.com')
  }
  if (url.username !== '' || url.password !== '') throw new TypeError('url must not contain a user or a password')
  return url.origin + (url.pathname.endsWith('/') ? url.pathname.slice(0, -1) : url.pathname)
}

/** The system's name of a failure. A message of `fetch` may quote a header. */
function causeOf(error: unknown): string {
  const { cause, code } = error as { cause?: { code?: unknown }; code?: unknown }
  const name = cause?.code ?? code
  return typeof name === 'string' ? name : 'the connection broke'
}

function errorOf(response: Response, text: string): IpidError {
  const { status, headers } = response
  const body = errorBodyOf(text)
  const facts = {
    status,
    requestId: headers.get('x-request-id') ?? undefined,
    retryAfterMs: retryAfterOf(status, headers),
    // An error of 400 to 499 says that nothing was taken; one of the server may follow a write.
    mayBeStored: status >= 500,
  }
  if (body === undefined) return new IpidError('unexpected_answer', 'the answer is not one of ipid', facts)
  const { code: serverCode, detail, errors } = body
  const code = isApiErrorCode(serverCode) ? serverCode : 'unknown_code'
  return new IpidError(code, detail, { ...facts, serverCode, errors })
}

interface ErrorBody {
  readonly code: string
  readonly detail: string
  readonly errors: readonly Fault[]
}

function errorBodyOf(text: string): ErrorBody | undefined {
  try {
    const { code, detail, errors } = JSON.parse(text)
    if (typeof code !== 'string' || typeof detail !== 'string') return undefined
    return { code, detail, errors: Array.isArray(errors) ? errors.filter(isFault) : [] }
  } catch {
    return undefined
  }
}

function isFault(value: unknown): value is Fault {
  const { path, message } = (value ?? {}) as Partial<Fault>
  return typeof path === 'string' && typeof message === 'string'
}

/** `retry-after` in seconds or as a date (RFC 9110, section 10.2.3); without it, `ratelimit-reset` of a 429. */
function retryAfterOf(status: number, headers: Headers): number | undefined {
  const after = headers.get('retry-after')
  if (after !== null) {
    if (/^\d{1,9}$/.test(after)) return Number(after) * 1_000
    const at = Date.parse(after)
    if (!Number.isNaN(at)) return Math.max(0, at - Date.now())
  }
  const reset = headers.get('ratelimit-reset')
  return status === 429 && reset !== null && /^\d{1,9}$/.test(reset) ? Number(reset) * 1_000 : undefined
}
