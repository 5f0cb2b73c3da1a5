/** The progress of a pull, as JSON of its kind. Its size is bounded. */
export type Cursor = object

/** A secret that a pull needs. Commands read it from the environment, or ask for it. */
export interface PullSecret {
  readonly name: string
  /** Environment variable of `source create`. */
  readonly env: string
  /** For the question, such as `API key`. Undefined: it is optional and not asked for. */
  readonly title?: string
}

/** Values by name, as `source create` was given them. */
export type PullSettings = Readonly<Record<string, string>>

/** A kind of source that ipid fetches by itself, on a schedule. */
export interface Pull {
  /** Pause between two runs by default. */
  readonly everyMs: number
  /** Names of the options of `source create` that are its settings. */
  readonly options: readonly string[]
  secretsOf(settings: PullSettings): readonly PullSecret[]
  /** Checks options. @param env environment of the command @throws InputError */
  assertSettings(settings: PullSettings, env: Readonly<Record<string, string | undefined>>): void
  /** The place, for people; without secrets. */
  placeOf(settings: PullSettings): string
  /** The cursor of a new source. It starts with the UTC day of `createdAtMs`. */
  begin(createdAtMs: number): Cursor
  /** The cursor that also fetches the past since a time. Undefined: the past is already fetched or planned. */
  withPast(cursor: Cursor, fromMs: number): Cursor | undefined
  /** The part of the past that is not fetched yet, for people. Undefined: none. */
  pastOf(cursor: Cursor): string | undefined
  open(access: PullAccess): PullPlace
}

export interface PullAccess {
  readonly settings: PullSettings
  readonly secrets: Readonly<Record<string, string>>
  /** A folder for files of this process, which exists and is emptied when the process starts. */
  readonly tempDir: string
  readonly nowMs: () => number
}

/** An open connection to the place of one source. */
export interface PullPlace {
  /**
   * Everything that is not fetched yet, in the order of the cursor. The caller takes an item whole before it asks for the next.
   * @returns the cursor after all of it
   * @throws PullDeniedError, or any error that a later run may not meet
   */
  items(run: PullRun): AsyncGenerator<PullItem, Cursor>
  close(): Promise<void>
}

/** Facts about the run. */
export interface PullRun {
  readonly cursor: Cursor
  readonly signal: AbortSignal
  /** Whether a person asked for this run. It then looks everywhere. */
  readonly isAsked: boolean
  /** Name of the item that the last runs could not read. Undefined: none, or it could wait. */
  readonly stuckAt: string | undefined
  /** When the oldest item that failed in this run was written, milliseconds; infinite: none failed. */
  oldestFailureMs(): number
  /** Which marks are kept, see `PullItem.mark`. */
  haveMarks(names: readonly string[]): Promise<readonly boolean[]>
  countMarks(): Promise<number>
  /** Forgets marks up to a time. */
  dropMarks(untilMs: number): Promise<void>
}

/** A part of a source that is fetched exactly once, such as an object of a bucket. */
export interface PullItem {
  /** Names this content for ever: lines without ids of their own get ids derived from it. */
  readonly id: string
  /** For people. */
  readonly name: string
  /** When it was written, milliseconds. */
  readonly atMs: number
  /** The cursor once it is done. */
  readonly cursor: Cursor
  /** Kept after the item is done, for cursors that cannot tell that it is. At most 24 characters. */
  readonly mark?: string
  /** Whether later items may be taken when this one fails. A later run finds it again. */
  readonly canWait: boolean
  /** Whether unreadable content is fetched again a few times before it is refused, because the server made it for this request. */
  readonly isMadeAnew?: boolean
  /** Undefined: it is empty or gone. @throws PullRefusedError, PullDeniedError, or an error that may pass */
  open(signal: AbortSignal): Promise<AsyncIterable<PullFile> | undefined>
}

/** A file of an item, read to its end before the next one. */
export interface PullFile {
  readonly bytes: AsyncIterable<Buffer>
}

/** An item that no later run can read. The message says why, and what to do about it. */
export class PullRefusedError extends Error {
  override name = 'PullRefusedError'
}

/** The place refuses the credentials. */
export class PullDeniedError extends Error {
  override name = 'PullDeniedError'
}
