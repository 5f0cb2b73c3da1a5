/** The same work may succeed later: a store is down or busy, or its answer was lost. */
export class UnavailableError extends Error {
  override name = 'UnavailableError'
  readonly retryAfterSeconds: number

  constructor(message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}

/** A query needs more time or memory than it has: a part of it may succeed. */
export class TooMuchError extends UnavailableError {
  override name = 'TooMuchError'
}

/** Intake refuses work because a limit is reached, and accepts again when the queue has drained. Answered with 429. */
export class BackpressureError extends Error {
  override name = 'BackpressureError'
  readonly retryAfterSeconds: number
  readonly limit: 'intake' | 'jobs' | 'questions' | 'requests' | 'rate'

  constructor(message: string, retryAfterSeconds = 1, limit: BackpressureError['limit'] = 'intake') {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
    this.limit = limit
  }
}

/** The user's input is wrong. The message names the fault and its place in one line. Exit code 2, or status 4xx. */
export class InputError extends Error {
  override name = 'InputError'
  /** The field of a form that is wrong; undefined: another input, or several fields together. */
  readonly field: string | undefined

  constructor(message: string, options: { readonly cause?: unknown; readonly field?: string } = {}) {
    super(message, { cause: options.cause })
    this.field = options.field
  }
}

/** The program cannot run here. The message gives the reason and the remedy. Exit code 1. */
export class StartupError extends Error {
  override name = 'StartupError'
  /** The message without the remedy, if both are known apart. */
  readonly reason: string
  readonly remedy: string | undefined

  constructor(
    message: string,
    options: { readonly cause?: unknown; readonly reason?: string; readonly remedy?: string } = {},
  ) {
    super(message, { cause: options.cause })
    this.reason = options.reason ?? message
    this.remedy = options.remedy
  }

  /** An error of a reason and its remedy, with both in its message. */
  static of(reason: string, remedy: string): StartupError {
    return new StartupError(`${reason}: ${remedy}`, { reason, remedy })
  }
}

/** Stored data are of a later version. The message names it if it is known, and says what to do. */
export class NewerDataError extends StartupError {
  override name = 'NewerDataError'
}

/** Throws an uncaught error, so that it is logged and the process ends. */
export function throwLater(reason: Error): void {
  setImmediate(() => {
    throw reason
  })
}

/** Another process holds a right that only one process may hold. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError'
}
