/** An event of valid JSON that holds to the schema, as far as it is read: what is queried, and the text of all else. */
export interface ReadEvent {
  readonly ip: string
  /** Undefined: the caller gave none. */
  readonly eventId: string | undefined
  /** Milliseconds since the Unix epoch; undefined: the caller gave none. */
  readonly timestampMs: number | undefined
  /** `''` where the event has none, as in what follows. */
  readonly eventType: string
  readonly accountId: string
  readonly platform: string
  /** A whole number in decimal digits. */
  readonly sessionId: string
  /** JSON text, to the letter, as in what follows. */
  readonly properties: string
  readonly userProperties: string
  /** The unknown keys and their values as one object. */
  readonly extra: string
  /** None of the texts that are queried has a character that JSON or TabSeparated would escape. */
  readonly isPlain: boolean
  /** None of the JSON texts has a character that TabSeparated would escape. */
  readonly isPlainJson: boolean
  /** Where the event object stands in the text that it was read from. */
  readonly start: number
  /** Behind it. */
  readonly end: number
}
