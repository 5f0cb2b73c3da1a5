import type { AddressMask } from './pseudonym.ts'

/** A valid event: the values of the columns, and the JSON text of everything else. */
export interface ReadEvent {
  readonly ip: string
  /** Undefined: the event has none. */
  readonly eventId: string | undefined
  /** Milliseconds since the Unix epoch. Undefined: the event has none. */
  readonly timestampMs: number | undefined
  /** This string and the following ones are `''` when the event has none. */
  readonly eventType: string
  readonly accountId: string
  readonly platform: string
  /** A whole number in decimal digits. */
  readonly sessionId: string
  /** JSON text exactly as sent, like the next two. */
  readonly properties: string
  readonly userProperties: string
  /** An object with all unknown keys and their values. */
  readonly extra: string
  /** Whether the strings before `properties` have no character that JSON or TabSeparated escapes. False: unknown. */
  readonly isPlain: boolean
  /** Whether the JSON texts have no character that TabSeparated escapes. False: unknown. */
  readonly isPlainJson: boolean
  /** Position of the event object in the text that it was read from. */
  readonly start: number
  /** Position after the object. */
  readonly end: number
}

/** Characters of the JSON texts, which decide how long an event takes. */
export function charsOf({ properties, userProperties, extra }: ReadEvent): number {
  return properties.length + userProperties.length + extra.length
}

/** Tenant, time and options that the events of a request or a chunk share. */
export interface EventContext {
  readonly tenantId: string
  readonly receivedAtMs: number
  /** `x-request-id` of a live request, 1 to 128 printable ASCII characters; undefined for lines of a batch job. */
  readonly requestId?: string
  /** The batch job; undefined for live events. */
  readonly job?: string | undefined
  /** The source whose key the request has; undefined: it has an API key. */
  readonly sourceId?: string | undefined
  /** Whether that key is a browser key, so that the events prove nothing about their visitors. Default: false. */
  readonly isBrowser?: boolean | undefined
  /** Whether the tenant has an archive. Default: false. */
  readonly archived?: boolean
  /** Replaces addresses. Undefined: they are stored in full. Masked events must be enriched before the stream. */
  readonly mask?: AddressMask | undefined
  /**
   * Number of partitions, when all events of a live request without an id must share one of them. Undefined: they may be in any.
   * See `GroupCommit`.
   */
  readonly colocateAmong?: number | undefined
}
