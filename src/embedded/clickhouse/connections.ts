import type { ChdbAddon, Connection } from './addon.ts'
import type { EffectiveSettings } from './effective-settings.ts'
import { Code, Exception } from './exception.ts'
import { type Session, type SessionRequest, Sessions } from './sessions.ts'
import { quote, quoteName, shapeOf } from './statement.ts'

/** The context of a statement besides its session. */
export interface StatementContext {
  /** Undefined for the session's database, or `default`. */
  readonly database: string | undefined
  /** Settings that the session and the request override. */
  readonly defaults: readonly (readonly [name: string, value: string])[]
  /** Settings and parameters of the request, in its order. */
  readonly settings: readonly (readonly [name: string, value: string])[]
  readonly session: SessionRequest | undefined
  /** Whether the statement must be read-only. */
  readonly isRead: boolean
}

/** @param settings settings of the session and the request */
type Work<T> = (connection: Connection, settings: EffectiveSettings) => Promise<T>

/**
 * The native connections. Each statement has its own connection (0.3 ms), so that statements never share settings,
 * parameters or a database. Statements of a session use the session's connection, which is restored after each request.
 */
export class Connections {
  readonly #addon: ChdbAddon
  readonly #path: string
  readonly #sessions: Sessions

  constructor(addon: ChdbAddon, path: string, sessionsMax: number) {
    this.#addon = addon
    this.#path = path
    this.#sessions = new Sessions({
      sessionsMax,
      open: () => this.#openSession(),
      close: ({ connection }) => addon.CloseConnection(connection),
    })
  }

  /** Runs work on a connection that is set up for a context. */
  async within<T>(context: StatementContext, text: string, work: Work<T>): Promise<T> {
    const { session, isRead } = context
    if (session === undefined) return await this.fresh((connection) => this.#prepared(connection, context, work))
    return await this.#sessions.within(session, async (held) =>
      isRead ? await this.#readingCopy(held, context, work) : await this.#inSession(held, context, text, work),
    )
  }

  /** Runs work on a new connection. */
  async fresh<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.#addon.CreateConnection(this.#path)
    try {
      return await work(connection)
    } finally {
      this.#addon.CloseConnection(connection)
    }
  }

  /** Ends the sessions. No statement may be running. */
  close(): Promise<void> {
    return this.#sessions.close()
  }

  async #prepared<T>(
    connection: Connection,
    { database, defaults, settings, isRead }: StatementContext,
    work: Work<T>,
  ): Promise<T> {
    // `readonly` cannot be undone. It comes last, and only on a connection that is closed after the statement.
    const last = isRead ? ([['readonly', '1']] as const) : []
    await this.#set(connection, database, [...defaults, ...settings, ...last])
    return await work(connection, new Map(settings))
  }

  async #inSession<T>(
    session: Session,
    { database, defaults, settings: requested }: StatementContext,
    text: string,
    work: Work<T>,
  ): Promise<T> {
    const { connection } = session
    const { changesSession, isTemporaryTable } = shapeOf(text)
    const isReadonlySet = changesSession && /\breadonly\b/i.test(text)
    if (isReadonlySet || requested.some(([name]) => name === 'readonly')) throw notInSession('the setting readonly')
    const settings = [...defaults.filter(([name]) => !session.chosen.has(name)), ...requested]
    try {
      await this.#set(connection, database, settings)
      if (changesSession) await this.#restore(session, settings)
      const result = await work(connection, new Map([...session.settings, ...requested]))
      if (isTemporaryTable) session.hasTemporaryTables = true
      return result
    } finally {
      const left = changesSession ? this.#note(session) : this.#restore(session, settings)
      await left.catch(() => {
        session.isBroken = true
      })
    }
  }

  /** A read-only statement gets a copy of the session's connection, because `readonly` would lock its settings. */
  async #readingCopy<T>(session: Session, context: StatementContext, work: Work<T>) {
    if (session.hasTemporaryTables) throw notInSession('GET beside temporary tables; use POST')
    const { database = session.database, settings } = context
    const all = { ...context, database, settings: [...session.settings, ...settings] }
    return await this.fresh((connection) => this.#prepared(connection, all, work))
  }

  async #openSession(): Promise<Session> {
    const connection = this.#addon.CreateConnection(this.#path)
    return {
      connection,
      hasTemporaryTables: false,
      isBroken: false,
      chosen: new Set(),
      ...(await this.#stateOf(connection)),
    }
  }

  async #note(session: Session): Promise<void> {
    const { settings, database } = await this.#stateOf(session.connection)
    for (const [name, value] of settings) if (session.settings.get(name) !== value) session.chosen.add(name)
    Object.assign(session, { settings, database })
  }

  async #stateOf(connection: Connection): Promise<Pick<Session, 'settings' | 'database'>> {
    const sql =
      'SELECT currentDatabase(), CAST((groupArray(name), groupArray(value)), $$Map(String, String)$$) FROM system.settings WHERE changed'
    const { bytes } = await this.#addon.QueryAsyncConnection(connection, sql, 'JSONCompactEachRow')
    const [database, settings] = JSON.parse(Buffer.from(bytes).toString('utf8')) as [string, Record<string, string>]
    return { database, settings: new Map(Object.entries(settings)) }
  }

  async #set(
    connection: Connection,
    database: string | undefined,
    settings: StatementContext['settings'],
  ): Promise<void> {
    const use = database === undefined ? '' : `USE ${quoteName(database)}; `
    const values = settings.map(([name, value]) => `${name}=${quote(value)}`).join(', ')
    const set = values === '' ? '' : `SET ${values}`
    if (use !== '' || set !== '') await this.#addon.QueryAsyncConnection(connection, `${use}${set}`, 'Null')
  }

  /** Parameters cannot be unset, but they only affect statements that name them. */
  async #restore({ connection, settings, database }: Session, changed: StatementContext['settings']): Promise<void> {
    const names = [...new Set(changed.map(([name]) => name))].filter((name) => !name.startsWith('param_'))
    const values = names.map((name) => {
      const value = settings.get(name)
      return `${name}=${value === undefined ? 'DEFAULT' : quote(value)}`
    })
    const set = values.length === 0 ? '' : `; SET ${values.join(', ')}`
    await this.#addon.QueryAsyncConnection(connection, `USE ${quoteName(database)}${set}`, 'Null')
  }
}

function notInSession(what: string): Exception {
  return new Exception(Code.NotImplemented, `The embedded ClickHouse has no sessions with ${what}. (NOT_IMPLEMENTED)`)
}
