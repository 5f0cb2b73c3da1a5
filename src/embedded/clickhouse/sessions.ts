import type { Connection } from './addon.ts'
import { Code, Exception } from './exception.ts'

/** The session parameters of a request. */
export interface SessionRequest {
  readonly id: string
  /** Whether the session must exist. */
  readonly mustExist: boolean
  readonly timeoutMs: number
  /** Whether to close the session after this request. */
  readonly close: boolean
}

/** Settings, database and temporary tables that requests share, one request at a time. */
export interface Session {
  readonly connection: Connection
  /** Settings that differ from the engine's defaults, by name. */
  settings: ReadonlyMap<string, string>
  database: string
  /** Names of settings that statements of the session have set. */
  readonly chosen: Set<string>
  hasTemporaryTables: boolean
  /** Set when the settings of a request could not be restored. */
  isBroken: boolean
}

interface Held {
  readonly session: Promise<Session>
  isBusy: boolean
  timer: NodeJS.Timeout | undefined
}

interface SessionsOptions {
  readonly sessionsMax: number
  open(): Promise<Session>
  /** Called when the session is idle. */
  close(session: Session): void
}

/** All sessions. Each expires after the timeout of its last request. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #held = new Map<string, Held>()

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  /**
   * Runs work in a session, and creates it if needed. The work sets `isBroken` when it could not restore the session.
   * @throws Exception when another request uses the session, a required one does not exist, or there are too many
   */
  async within<T>(request: SessionRequest, work: (session: Session) => Promise<T>): Promise<T> {
    const held = this.#take(request)
    held.isBusy = true
    clearTimeout(held.timer)
    try {
      return await work(await held.session)
    } finally {
      const isGone = await held.session.then(
        ({ isBroken }) => isBroken,
        () => true,
      )
      if (request.close || isGone) await this.#drop(request.id, held)
      else this.#keep(request, held)
    }
  }

  /** Closes all sessions. No statement may be running. */
  async close(): Promise<void> {
    for (const [id, held] of this.#held) await this.#drop(id, held)
  }

  #take({ id, mustExist }: SessionRequest): Held {
    const known = this.#held.get(id)
    if (known?.isBusy) {
      throw new Exception(Code.SessionIsLocked, `Session ${id} is locked by a concurrent client. (SESSION_IS_LOCKED)`)
    }
    if (known !== undefined) return known
    if (mustExist) throw new Exception(Code.SessionNotFound, `Session ${id} not found. (SESSION_NOT_FOUND)`)
    const { sessionsMax } = this.#options
    if (this.#held.size >= sessionsMax) {
      const message = `There are ${sessionsMax} sessions already: close some, or wait until they expire. (USER_SESSION_LIMIT_EXCEEDED)`
      throw new Exception(Code.UserSessionLimitExceeded, message)
    }
    const held: Held = { session: this.#options.open(), isBusy: true, timer: undefined }
    held.session.catch(() => {})
    this.#held.set(id, held)
    return held
  }

  #keep({ id, timeoutMs }: SessionRequest, held: Held): void {
    held.isBusy = false
    held.timer = setTimeout(() => void this.#drop(id, held), timeoutMs).unref()
  }

  async #drop(id: string, held: Held): Promise<void> {
    clearTimeout(held.timer)
    this.#held.delete(id)
    const session = await held.session.catch(() => undefined)
    if (session !== undefined) this.#options.close(session)
  }
}
