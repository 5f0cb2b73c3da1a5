import { setTimeout as sleep } from 'node:timers/promises'
import { DAY_MS } from '../../pipeline/event/outcomes.ts'
import type { Clock } from '../../run/clock.ts'
import { cutText } from '../../run/cut-text.ts'
import { retryAfterMs } from '../../run/retry-after.ts'
import { CrmBusyError, CrmStoppedError } from '../crm.ts'

/** An answer of the API. Names of headers are in lower case. */
export interface WireAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** Sends a request, and throws when there is no answer. */
export type SendWire = (
  url: URL,
  request: {
    readonly method: 'GET' | 'POST'
    readonly headers: Readonly<Record<string, string>>
    readonly body: string | undefined
    readonly signal: AbortSignal
  },
) => Promise<WireAnswer>

export interface WireOptions {
  /** For example `https://api.hubapi.com`. */
  readonly origin: string
  readonly token: string
  readonly send: SendWire
  readonly clock: Clock
  /** Waits. Default: a timer. */
  readonly pause?: (ms: number, signal: AbortSignal) => Promise<unknown>
}

/** A private app may send 100 requests in 10 s. */
const GAP_MS = 110
/** All apps of an account together may search 5 times a second. */
const SEARCH_GAP_MS = 250
/** A longer wait ends the run. */
const WAIT_MAX_MS = 60_000
const WAIT_DAILY_MS = 3_600_000
/** Times that a request is refused for its rate before the run ends. */
const BUSY_MAX = 5
const MESSAGE_CHARS = 300
/** Waits for a 429 without `Retry-After`, by its `policyName`. */
const POLICY_WAIT_MS: Readonly<Record<string, number>> = {
  SECONDLY: 1_000,
  TEN_SECONDLY_ROLLING: 10_000,
  DAILY: WAIT_DAILY_MS,
}
/** The request itself is refused, or one of its inputs. */
const REFUSALS: ReadonlySet<number> = new Set([400, 404, 409, 413, 415, 422])

/** An error as HubSpot documents it. Each field may be missing. */
export interface WireError {
  readonly message?: string
  readonly category?: string
  readonly policyName?: string
  readonly id?: string
  readonly context?: Readonly<Record<string, readonly string[] | undefined>>
  readonly errors?: readonly WireError[]
}

/** HubSpot refuses a request for what is in it. */
export class WireRefusedError extends Error {
  override name = 'WireRefusedError'
}

/**
 * Calls of HubSpot's API, one at a time: https://developers.hubspot.com/docs/api-reference. Obeys its limits: it spaces requests, waits as
 * long as `Retry-After` or the policy of a 429 says, and when `X-HubSpot-RateLimit-Remaining` is 0, for the rest of the window.
 */
export class HubSpotWire {
  readonly #options: WireOptions
  readonly #nextMs = { any: 0, search: 0 }

  constructor(options: WireOptions) {
    this.#options = options
  }

  /**
   * @param path with its query
   * @param body undefined: a GET
   * @throws WireRefusedError, CrmStoppedError, CrmBusyError, or another error that may pass
   */
  async call<T>(path: string, body: object | undefined, signal: AbortSignal): Promise<T> {
    const isSearch = path.endsWith('/search')
    for (let busy = 1; ; busy++) {
      await this.#untilFree(isSearch, signal)
      const answer = await this.#send(path, body, signal)
      if (answer.status >= 200 && answer.status < 300) return parsed(answer) as T
      const error = errorIn(answer)
      if (answer.status !== 429) throw this.#failure(answer, error)
      const waitMs =
        this.#askedMs(answer) ?? POLICY_WAIT_MS[error.policyName ?? ''] ?? POLICY_WAIT_MS.TEN_SECONDLY_ROLLING!
      if (waitMs > WAIT_MAX_MS || busy >= BUSY_MAX) throw busyError(error, waitMs)
      await this.#pause(waitMs, signal)
    }
  }

  async #send(path: string, body: object | undefined, signal: AbortSignal): Promise<WireAnswer> {
    const { origin, token, send } = this.#options
    const answer = await send(new URL(path, origin), {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        accept: 'application/json',
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    })
    if (Number(headerOf(answer, 'x-hubspot-ratelimit-remaining') ?? 1) <= 0) {
      const windowMs = Number(headerOf(answer, 'x-hubspot-ratelimit-interval-milliseconds') ?? 0)
      this.#nextMs.any = Math.max(this.#nextMs.any, this.#nowMs() + Math.min(windowMs || 0, WAIT_MAX_MS))
    }
    return answer
  }

  async #untilFree(isSearch: boolean, signal: AbortSignal): Promise<void> {
    const next = this.#nextMs
    const waitMs = Math.max(next.any, isSearch ? next.search : 0) - this.#nowMs()
    // After the clock was set back, the next time is far ahead.
    if (waitMs > 0) await this.#pause(Math.min(waitMs, WAIT_MAX_MS), signal)
    signal.throwIfAborted()
    next.any = this.#nowMs() + GAP_MS
    if (isSearch) next.search = this.#nowMs() + SEARCH_GAP_MS
  }

  #failure(answer: WireAnswer, error: WireError): Error {
    const { status } = answer
    const said = messageOf(error) || `it answers ${status}`
    if (status === 401) {
      return new CrmStoppedError(
        'HubSpot does not accept the token: it is wrong, or its private app is gone. Connect again with a new one',
      )
    }
    if (status === 403) {
      const scopes = scopesOf(error)
      if (scopes.length > 0) {
        const [what, them] = scopes.length === 1 ? ['the scope', 'it'] : ['scopes:', 'them']
        return new CrmStoppedError(
          `the private app lacks ${what} ${scopes.join(', ')}. Add ${them} in HubSpot, then sync`,
        )
      }
      const notAllowed = `HubSpot does not allow it: ${said}`
      // Other reasons may pass, for example a block of this address.
      if (error.category !== 'MISSING_SCOPES') return new Error(notAllowed)
      return new CrmStoppedError(`${notAllowed}. Give the private app the scopes it needs, then sync`)
    }
    if (REFUSALS.has(status)) return new WireRefusedError(said)
    const waitMs = this.#askedMs(answer)
    if (waitMs !== undefined) return busyError(error, waitMs)
    if (status >= 300 && status < 400) return new Error(`HubSpot redirects (${status}), which is not followed`)
    return new Error(`HubSpot fails: ${said}`)
  }

  #askedMs(answer: WireAnswer): number | undefined {
    return retryAfterMs(headerOf(answer, 'retry-after'), this.#options.clock.now(), DAY_MS)
  }

  #nowMs(): number {
    return this.#options.clock.now()
  }

  async #pause(ms: number, signal: AbortSignal): Promise<void> {
    const { pause = (waitMs, left) => sleep(waitMs, undefined, { signal: left }) } = this.#options
    await pause(ms, signal)
  }
}

function busyError(error: WireError, waitMs: number): CrmBusyError {
  const what = error.policyName === 'DAILY' ? 'its requests of the day are used up' : 'it gets too many requests'
  return new CrmBusyError(`HubSpot asks to wait: ${what}`, waitMs)
}

function headerOf({ headers }: WireAnswer, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}

function parsed({ text }: WireAnswer): unknown {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null) return value
  } catch {}
  throw new Error('the answer is not the JSON that HubSpot documents: is HUBSPOT_URL its address?')
}

function errorIn(answer: WireAnswer): WireError {
  try {
    return parsed(answer) as WireError
  } catch {
    return {}
  }
}

/** What HubSpot says about an error, in one line. */
export function messageOf({ message, errors }: WireError): string {
  const text = typeof message === 'string' && message !== '' ? message : errors?.[0]?.message
  return cutText(String(text ?? '').replace(/\s+/g, ' '), MESSAGE_CHARS)
}

function scopesOf({ context, errors = [] }: WireError): string[] {
  const names = ['requiredGranularScopes', 'requiredScopes', 'missingScopes']
  const found = [context, ...errors.map((one) => one.context)].flatMap((of) =>
    names.flatMap((name) => of?.[name] ?? []),
  )
  return [...new Set(found)].slice(0, 10)
}
