import { type Static, Type } from 'typebox'
import { ALERT_KINDS, ALERT_LIMITS, ALERT_TYPES, PAUSED_BY } from '../alert.ts'

const Text = Type.Union([Type.String(), Type.Null()])
const Count = Type.Union([Type.Integer(), Type.Null()])
const AlertId = Type.String({ minLength: 1, maxLength: 64 })
const MessageId = Type.String({ minLength: 1, maxLength: 64 })

/** The result of sending a message. */
export const DeliveryAttempt = Type.Object({
  /** ISO 8601, UTC. */
  at: Type.String(),
  took_ms: Type.Integer(),
  /** HTTP status of the answer; null: there was none. */
  status: Count,
  /** The beginning of the answer. */
  answer: Type.String(),
  /** Why it counts as failed; null: it was delivered. */
  error: Text,
})
export type DeliveryAttempt = Static<typeof DeliveryAttempt>

const PAUSED = Type.Object({
  at: Type.String(),
  by: Type.Enum([...PAUSED_BY]),
  /** Empty when a person paused it. */
  reason: Type.String(),
})

export const ListedAlert = Type.Object({
  alert_id: Type.String(),
  name: Type.String(),
  on: Type.Enum([...ALERT_TYPES]),
  /** Only for `company.returned`. */
  after_days: Count,
  /** Null: every company. Without a name, the segment is gone. */
  segment: Type.Union([Type.Object({ segment_id: Type.String(), name: Text }), Type.Null()]),
  to: Type.Enum([...ALERT_KINDS]),
  /** Host of the URL, or the e-mail address. The rest of a URL may be secret. */
  target: Type.String(),
  digest: Type.Union([Type.Literal('weekly'), Type.Null()]),
  created_at: Type.String(),
  paused: Type.Union([PAUSED, Type.Null()]),
  /** E-mail address that must confirm before anything is sent; null: none. */
  unconfirmed: Text,
  /** Messages that are not delivered yet. */
  waiting: Type.Integer(),
  last_fired: Type.Union([
    Type.Object({ at: Type.String(), company_id: Type.String(), company_name: Type.String() }),
    Type.Null(),
  ]),
  last_attempt: Type.Union([DeliveryAttempt, Type.Null()]),
})
export type ListedAlert = Static<typeof ListedAlert>

/** `GET /api/tenants/:tenant/alerts`: oldest first. */
export const AlertsAnswer = Type.Object({
  alerts: Type.Array(ListedAlert),
  /** Whether this ipid sends e-mail: SMTP_URL is set. */
  can_email: Type.Boolean(),
  alerts_max: Type.Integer(),
})
export type AlertsAnswer = Static<typeof AlertsAnswer>

const WHEN = {
  on: Type.Enum([...ALERT_TYPES]),
  after_days: Type.Optional(Type.Integer({ minimum: ALERT_LIMITS.afterDaysMin, maximum: ALERT_LIMITS.afterDaysMax })),
  /** Only companies of this segment. */
  segment_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
}

/** `POST /api/tenants/:tenant/alerts/try`: when it would have fired. Changes nothing. */
export const TryAlertBody = Type.Object(WHEN, { additionalProperties: false })
export type TryAlertBody = Static<typeof TryAlertBody>

export const AlertTrialAnswer = Type.Object({
  /** The last days that were looked at: 90, or fewer when there are too many events. */
  days: Type.Integer(),
  times: Type.Integer(),
  /** Different companies. */
  companies: Type.Integer(),
  /** The newest first, at most 50. */
  latest: Type.Array(Type.Object({ day: Type.String(), company_id: Type.String(), name: Type.String() })),
})
export type AlertTrialAnswer = Static<typeof AlertTrialAnswer>

/** `POST /api/tenants/:tenant/alerts` switches a new alert on. */
export const CreateAlertBody = Type.Object(
  {
    name: Type.String({ maxLength: 500 }),
    ...WHEN,
    to: Type.Enum([...ALERT_KINDS]),
    target: Type.String({ maxLength: 4_000, description: 'URL or e-mail address' }),
    digest: Type.Optional(Type.Literal('weekly')),
  },
  { additionalProperties: false },
)
export type CreateAlertBody = Static<typeof CreateAlertBody>

/** The secret of a webhook is shown only here. Null: the destination has none. */
export const CreatedAlertAnswer = Type.Object({ alert: ListedAlert, secret: Text })
export type CreatedAlertAnswer = Static<typeof CreatedAlertAnswer>

/** `POST /api/tenants/:tenant/alerts/pause`, `/resume`, `/remove`, `/ask-again` and `/test` */
export const AlertBody = Type.Object({ alert_id: AlertId }, { additionalProperties: false })
export type AlertBody = Static<typeof AlertBody>

/** The answer to `pause` and `resume`. */
export const ChangedAlertAnswer = Type.Object({ alert: ListedAlert })
export type ChangedAlertAnswer = Static<typeof ChangedAlertAnswer>

/** The answer to `test`: the message that is being sent. */
export const TestedAlertAnswer = Type.Object({ message_id: Type.String() })
export type TestedAlertAnswer = Static<typeof TestedAlertAnswer>

export const MESSAGE_STATES = ['waiting', 'delivered', 'failed'] as const

/** Messages of a page. */
export const MESSAGES_PAGE = 50

/** `GET /api/tenants/:tenant/alerts/messages`: newest first. */
export const MessagesQuery = Type.Object(
  {
    state: Type.Optional(Type.Enum([...MESSAGE_STATES])),
    alert: Type.Optional(AlertId),
    before: Type.Optional(Type.String({ maxLength: 100, description: '`next` of the page before' })),
  },
  { additionalProperties: false },
)

export const ListedMessage = Type.Object({
  message_id: Type.String(),
  alert_id: Type.String(),
  /** Name of the alert when the message was made. */
  alert_name: Type.String(),
  /** Null: the alert was removed, so its messages are not sent any more. */
  alert_state: Type.Union([Type.Literal('on'), Type.Literal('paused'), Type.Null()]),
  /** One of `ALERT_TYPES`, `alert.test`, `alert.confirm` or `alert.digest`. */
  type: Type.String(),
  /** Empty for a digest, and for a mail that asks to confirm an address. */
  company_id: Type.String(),
  company_name: Type.String(),
  created_at: Type.String(),
  state: Type.Enum([...MESSAGE_STATES]),
  attempts: Type.Integer(),
  last_attempt: Type.Union([DeliveryAttempt, Type.Null()]),
  /** When it is sent next; null: it is not waiting. */
  next_attempt_at: Text,
})
export type ListedMessage = Static<typeof ListedMessage>

export const MessagesAnswer = Type.Object({
  messages: Type.Array(ListedMessage),
  /** Value of `before` for older messages; null: there are none. A page may be short, or empty, and have a next one. */
  next: Text,
})
export type MessagesAnswer = Static<typeof MessagesAnswer>

/** `GET /api/tenants/:tenant/alerts/messages/:message` */
export const MessageAnswer = Type.Object({
  ...ListedMessage.properties,
  /** JSON, as a webhook gets it. */
  body: Type.String(),
  /** The last ones, oldest first. */
  all_attempts: Type.Array(DeliveryAttempt),
})
export type MessageAnswer = Static<typeof MessageAnswer>

/** `POST /api/tenants/:tenant/alerts/messages/send-again` answers with the message. */
export const SendAgainBody = Type.Object({ message_id: MessageId }, { additionalProperties: false })
export type SendAgainBody = Static<typeof SendAgainBody>
