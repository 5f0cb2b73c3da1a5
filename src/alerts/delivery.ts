import type { AlertRecord } from '../../schemas/alert.ts'
import { cutText } from '../run/cut-text.ts'

/**
 * Queues of an alert's messages. `due`: from its evaluation; not sent while the alert is paused. `requested`: a person requested them, so
 * they are sent also then. `digest`: mails of a subscription to the digest or to an export; not sent while it is paused.
 */
export const QUEUES = ['due', 'requested', 'digest'] as const
export type Queue = (typeof QUEUES)[number]

/** Type of the message of a test. */
export const TEST_TYPE = 'alert.test'
/** Type of the mail that asks to confirm an address. */
export const CONFIRM_TYPE = 'alert.confirm'
/** How long its link confirms. */
export const CONFIRM_DAYS = 7
/** Type of a message with several companies of an alert. */
export const DIGEST_TYPE = 'alert.digest'
/** Type of the mail of a subscription to the digest. */
export const WEEK_TYPE = 'digest.week'
/** Type of the mail with a file of an export. */
export const FILE_TYPE = 'export.file'

/** Whether a message is a mail of a subscription. */
export function isSubscribed(type: string): boolean {
  return type === WEEK_TYPE || type === FILE_TYPE
}

/** An attempt to deliver a message. */
export interface Attempt {
  readonly atMs: number
  readonly tookMs: number
  /** Status of the answer; undefined: there was none. */
  readonly status?: number
  /** The beginning of the answer, in one line. Only the last attempt of a message has it. */
  readonly answer?: string
  /** Why it counts as failed, in one line; undefined: delivered. Shortened for earlier attempts. */
  readonly error?: string
  /** How long the receiver wants us to wait, at most `RETRY_AFTER_MAX_MS`. */
  readonly retryAfterMs?: number
}

/** Status of a receiver that wants no more messages: it disables the alert. */
export const GONE = 410
const TOO_MANY = 429
/** Statuses of a receiver under load (Standard Webhooks), and 503, which says so. */
const OVERLOADED: ReadonlySet<number | undefined> = new Set([TOO_MANY, 502, 503, 504])

/**
 * A message. It is `waiting` until an attempt succeeds, or the last one fails. Its id is sent with each attempt, so a receiver recognises
 * a repeat.
 */
export interface Delivery {
  readonly id: string
  /** Counts the changes of the record. A writer names the revision that it read, so that no one overwrites a later one. */
  readonly rev: number
  readonly alertId: string
  /** Name of the alert when the message was made. */
  readonly alertName: string
  /** One of `ALERT_TYPES`, `TEST_TYPE`, `CONFIRM_TYPE`, `DIGEST_TYPE`, `WEEK_TYPE` or `FILE_TYPE`. */
  readonly type: string
  readonly companyId: string
  readonly companyName: string
  readonly createdAtMs: number
  /** JSON, as a webhook sends it. */
  readonly body: string
  readonly state: 'waiting' | 'delivered' | 'failed'
  /** Failed attempts since it was last put into a queue. */
  readonly failures: number
  /** The latest ones. */
  readonly attempts: readonly Attempt[]
}

const SECOND_MS = 1_000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS
export const RETRY_AFTER_MAX_MS = 24 * HOUR_MS
/** While a message is younger, an answer 429 that says how long to wait is no failed attempt. */
const LIMITED_MAX_MS = 72 * HOUR_MS

/** Delays after a failed attempt. After the last attempt the alert is paused. */
const RETRY_DELAYS_MS = [
  ...[5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS],
  ...[2, 5, 10, 14, 20, 24].map((hours) => hours * HOUR_MS),
]
/** Receivers choose these texts, and Redis keeps them: with all of its attempts, a message has at most 3 KB of them. */
const ATTEMPTS_KEPT = 20
const ANSWER_BYTES_MAX = 256
const ERROR_BYTES_MAX = 400
const EARLIER_ERROR_BYTES_MAX = 80

/** An attempt whose texts are in one line, short, and without control characters. */
export function shortened({ answer, error, ...attempt }: Attempt): Attempt {
  return {
    ...attempt,
    ...(answer !== undefined && { answer: shortText(answer, ANSWER_BYTES_MAX) }),
    ...(error !== undefined && { error: shortText(error, ERROR_BYTES_MAX) }),
  }
}

function earlier({ answer: _, error, ...attempt }: Attempt): Attempt {
  return error === undefined ? attempt : { ...attempt, error: shortText(error, EARLIER_ERROR_BYTES_MAX) }
}

function shortText(text: string, maxBytes: number): string {
  // Through UTF-8: an unpaired surrogate becomes U+FFFD.
  const line = Buffer.from(text)
    .toString()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\uFFFD\s]+/gu, ' ')
    .trim()
  const bytes = Buffer.from(line)
  if (bytes.length <= maxBytes) return line
  // A character that is cut in two becomes U+FFFD.
  return `${bytes
    .subarray(0, maxBytes - 3)
    .toString('utf8')
    .replace(/\uFFFD$/, '')
    .trimEnd()}…`
}

/** A message after an attempt, and when it is due again. Undefined: it is finished. */
export function afterAttempt(delivery: Delivery, attempt: Attempt): { readonly delivery: Delivery; dueAtMs?: number } {
  const { retryAfterMs = 0, status } = attempt
  const isDelivered = attempt.error === undefined
  const isLimited =
    status === TOO_MANY && attempt.retryAfterMs !== undefined && attempt.atMs - delivery.createdAtMs < LIMITED_MAX_MS
  // Not for a test: a person is waiting for its result.
  const isOver = isDelivered || delivery.type === TEST_TYPE || status === GONE
  const retryMs = RETRY_DELAYS_MS[isLimited ? 0 : delivery.failures]
  const delayMs = isOver || retryMs === undefined ? undefined : Math.max(retryMs, retryAfterMs)
  const state = isDelivered ? 'delivered' : delayMs === undefined ? 'failed' : 'waiting'
  const next: Delivery = {
    ...delivery,
    rev: delivery.rev + 1,
    state,
    failures: isDelivered || isLimited ? delivery.failures : delivery.failures + 1,
    attempts: [...delivery.attempts.map(earlier), attempt].slice(-ATTEMPTS_KEPT),
  }
  if (delayMs === undefined) return { delivery: next }
  return { delivery: next, dueAtMs: attempt.atMs + attempt.tookMs + delayMs }
}

/** How long an alert sends no message after an attempt, milliseconds; undefined: its other messages are sent. */
export function holdAfter({ status, retryAfterMs }: Attempt): number | undefined {
  return retryAfterMs ?? (OVERLOADED.has(status) ? RETRY_DELAYS_MS[0] : undefined)
}

/** Why an alert is paused after the last attempt of a message. */
export function pausedAfter({ alertName, attempts }: Delivery, nowMs: number): NonNullable<AlertRecord['paused']> {
  const { error = '', status } = attempts.at(-1) ?? {}
  const reason =
    status === GONE
      ? 'its receiver answered 410 (gone) and wants no more messages, so the alert is disabled'
      : `a message of ${alertName} could not be delivered in ${RETRY_DELAYS_MS.length + 1} attempts: ${error}`
  return { at: new Date(nowMs).toISOString(), by: 'failures', reason: cutText(reason, 1_000) }
}
