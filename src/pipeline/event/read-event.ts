/** A valid event: the values of the columns, and the JSON text of everything else. */
export interface ReadEvent {
  readonly ip: string
  /** Undefined: the event has none. */
  readonly eventId: string | undefined
  /** Milliseconds since the Unix epoch. Undefined: the event has none. */
  readonly timestampMs: number | undefined
  /** This and the following strings are `''` when the event has none. */
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
