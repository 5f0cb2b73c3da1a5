/** The work may succeed unchanged when it is tried again: a store is away, busy, or its answer was lost. */
export class UnavailableError extends Error {
  override name = 'UnavailableError'
  readonly retryAfterSeconds: number

  constructor(message: string, options: { cause?: unknown; retryAfterSeconds?: number } = {}) {
    super(message, { cause: options.cause })
    this.retryAfterSeconds = options.retryAfterSeconds ?? 1
  }
}

/** Intake is refused because a limit is reached; it opens again when the work behind it has drained. Answers 429. */
export class BackpressureError extends Error {
  override name = 'BackpressureError'
  readonly retryAfterSeconds: number
  readonly limit: 'intake' | 'jobs' | 'questions'

  constructor(message: string, retryAfterSeconds = 1, limit: BackpressureError['limit'] = 'intake') {
    super(message)
    this.retryAfterSeconds = retryAfterSeconds
    this.limit = limit
  }
}

/** The user's input is wrong. The message is one line that says what is wrong and where. Exit code 2, or status 4xx. */
export class InputError extends Error {
  override name = 'InputError'
}

/** The program cannot run here, for a reason that its message explains together with the remedy. Exit code 1. */
export class StartupError extends Error {
  override name = 'StartupError'
}

/** Another process does now what only one at a time may do. */
export class LeaseLostError extends Error {
  override name = 'LeaseLostError'
}
