import { type Static, Type } from 'typebox'
import { AFTER_DAYS_MAX, AFTER_DAYS_MIN, AFTER_DAYS_USUAL, LABEL_CHARS_MAX } from './dashboard/limits.ts'
import { EXPORT_NAME, EXPORT_PERIODS, EXPORT_TIME } from './limits.ts'
import { Maker } from './maker.ts'

/** An alert about jobs instead of companies. */
export const JOB_TYPE = 'job.ended'

/** The occasion of an alert. */
export const ALERT_TYPES = [
  ...(['company.first_seen', 'company.returned', 'segment.entered', 'company.corrected'] as const),
  JOB_TYPE,
] as const
export type AlertType = (typeof ALERT_TYPES)[number]

/** The occasion of a record: that of an alert, the schedule of a subscription to the digest, or a file of an export. */
export const RECORD_TYPES = [...ALERT_TYPES, 'digest', 'export'] as const

/** The destination of an alert's messages. */
export const ALERT_KINDS = ['webhook', 'slack', 'teams', 'email'] as const
export type AlertKind = (typeof ALERT_KINDS)[number]

export const ALERT_LIMITS = {
  nameMaxChars: LABEL_CHARS_MAX,
  /** Alerts of a tenant, subscriptions to its digest, and to files of its exports. */
  alertsMax: 20,
  digestsMax: 100,
  exportMailsMax: 100,
  afterDaysMin: AFTER_DAYS_MIN,
  afterDaysMax: AFTER_DAYS_MAX,
  /** Default of `after_days`. */
  afterDays: AFTER_DAYS_USUAL,
  /** Companies that an alert remembers at a time: those of its segment, or those that it has reported lately. */
  companiesMax: 50_000,
  /** Requested messages of an alert that wait. */
  waitingMax: 2_000,
  /** Companies of a digest that are listed by name; all are counted. */
  digestMax: 500,
  /** Reported companies of a tenant that are checked for corrections. */
  reportedMax: 10_000,
  /** How long messages are kept, and how many of a tenant. */
  deliveryDays: 30,
  deliveriesMax: 10_000,
  /** Tests of a member, and to a destination, in this many minutes. */
  testsMax: 5,
  testsMinutes: 10,
} as const

/** Why an alert is paused: a person did it, the last attempt of a message failed, it reached a limit, it comes from a backup, or its
 * e-mail address is not confirmed. */
export const PAUSED_BY = ['person', 'failures', 'limit', 'restore', 'unconfirmed'] as const

const time = (description: string) => Type.String({ format: 'rfc3339', description })

/** An alert, or a subscription to the digest or to files of an export, as Redis keeps it. */
export const AlertRecord = Type.Object({
  name: Type.String({ minLength: 1, maxLength: ALERT_LIMITS.nameMaxChars }),
  on: Type.Enum([...RECORD_TYPES]),
  after_days: Type.Optional(Type.Integer({ minimum: ALERT_LIMITS.afterDaysMin, maximum: ALERT_LIMITS.afterDaysMax })),
  segment_id: Type.Optional(Type.String({ maxLength: 64 })),
  to: Type.Enum([...ALERT_KINDS]),
  target: Type.String({ maxLength: 2_048, description: 'Where it goes, for people: without what is secret in it' }),
  secret: Type.Optional(
    Type.String({
      maxLength: 16_384,
      description:
        'Encrypted: JSON of its URL and, for a webhook, its signing secret; the key of the link that ends a subscription',
    }),
  ),
  digest: Type.Optional(Type.Literal('weekly')),
  every: Type.Optional(Type.Enum([...EXPORT_PERIODS])),
  at: Type.Optional(
    Type.String({ pattern: EXPORT_TIME, description: 'HH:MM, UTC: with `every`, the schedule of a digest' }),
  ),
  sends_empty: Type.Optional(Type.Literal(true, { description: 'A digest is sent also when no company visited' })),
  export: Type.Optional(
    Type.Object(
      { id: Type.String({ maxLength: 64 }), name: Type.String({ pattern: EXPORT_NAME }) },
      { description: 'Of a subscription to its files' },
    ),
  ),
  once: Type.Optional(Type.Literal(true, { description: 'A subscription to an export ends after one file' })),
  created_at: time('ISO 8601, UTC'),
  made_by: Type.Optional(Maker),
  active_since: time('It reports what happens from here on: its creation, or when it was last resumed or restored'),
  unconfirmed: Type.Optional(
    Type.String({ maxLength: 2_048, description: 'Its e-mail address, see `normalAddress`, until it is confirmed' }),
  ),
  paused: Type.Optional(
    Type.Object({
      at: time('ISO 8601, UTC'),
      by: Type.Enum([...PAUSED_BY]),
      reason: Type.String({ maxLength: 1_000 }),
    }),
  ),
})
export type AlertRecord = Static<typeof AlertRecord>

/** Spellings of an e-mail address are one address. */
export function normalAddress(text: string): string {
  return text.trim().toLowerCase()
}
