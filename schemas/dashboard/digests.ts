import { type Static, Type } from 'typebox'
import { EXPORT_PERIODS, EXPORT_TIME } from '../limits.ts'
import { DeliveryAttempt, ListedAlert } from './alerts.ts'

const Text = Type.Union([Type.String(), Type.Null()])

/** A subscription to the digest. */
export const ListedDigest = Type.Object({
  digest_id: Type.String(),
  address: Type.String(),
  every: Type.Enum([...EXPORT_PERIODS]),
  /** HH:MM, UTC. */
  at: Type.String(),
  /** Null: all companies. Without a name, the segment is gone. */
  segment: ListedAlert.properties.segment,
  /** Whether it is sent also when no company visited. */
  sends_empty: Type.Boolean(),
  paused: ListedAlert.properties.paused,
  /** The address, when it has to confirm first; null: it has not. */
  unconfirmed: Text,
  /** When the next one is due; null: it is paused, or waits for the confirmation. */
  next_at: Text,
  /** Messages that are not delivered yet. */
  waiting: Type.Integer(),
  last_attempt: Type.Union([DeliveryAttempt, Type.Null()]),
})
export type ListedDigest = Static<typeof ListedDigest>

/** `GET /api/tenants/:tenant/digests`: oldest first. */
export const DigestsAnswer = Type.Object({
  digests: Type.Array(ListedDigest),
  /** Whether this ipid sends e-mail: SMTP_URL is set. */
  can_email: Type.Boolean(),
  /** E-mail address of the user; null: it is not known. */
  own_address: Text,
})
export type DigestsAnswer = Static<typeof DigestsAnswer>

/** `POST /api/tenants/:tenant/digests` subscribes an address, or changes what it gets. Answers with the subscription. */
export const SubscribeBody = Type.Object(
  {
    address: Type.String({ maxLength: 400 }),
    every: Type.Enum([...EXPORT_PERIODS]),
    at: Type.String({ pattern: EXPORT_TIME }),
    segment_id: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
    sends_empty: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)
export type SubscribeBody = Static<typeof SubscribeBody>

/** `POST /api/tenants/:tenant/digests/send`, `/ask-again` and `/remove` */
export const DigestBody = Type.Object(
  { digest_id: Type.String({ minLength: 1, maxLength: 64 }) },
  { additionalProperties: false },
)
export type DigestBody = Static<typeof DigestBody>
