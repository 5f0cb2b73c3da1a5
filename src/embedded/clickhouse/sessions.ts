import type { Connection } from './addon.ts'
import { Code, Exception } from './exception.ts'

/** What a request says of the session that it belongs to. */
export interface SessionRequest {
  readonly id: string
  /** Whether it must be there already. */
  readonly mustExist: boolean
  readonly timeoutMs: number
  /** Whether it ends behind this request. */
  readonly close: boolean
}

/** Settings, database and temporary tables that requests share; one request at a time. */
export interface Session {
  readonly connection: Connection
  /** Settings that differ from the engine's defaults, by name. */
  settings: ReadonlyMap<string, string>
  database: string
  /** Names of settings that a statement of the session has set. */
  readonly chosen: Set<string>
  hasTemporaryTables: boolean
  /** What a request set could not be taken back. */
  isBroken: boolean
}

interface Held {
  readonly session: Promise<Session>
  isBusy: boolean
  timer: NodeJS.Timeout | undefined
}

export interface SessionsOptions {
  readonly sessionsMax: number
  open(): Promise<Session>
  /** No statement of it runs. */
  close(session: Session): void
}

/** The sessions that there are. Each is forgotten when nobody has used it for as long as its last request said. */
export class Sessions {
  readonly #options: SessionsOptions
  readonly #held = new Map<string, Held>()

  constructor(options: SessionsOptions) {
    this.#options = options
  }

  /**
   * Runs work in a session, which is made when there is none. The work says when the session is not as it was left.
   * @throws Exception when another request is in it, when it must be there and is not, and when there are too many
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

  /** Ends all. No statement may be running. */
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
