import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { ID_SETTING } from './cancelling.ts'
import { isOn } from './effective-settings.ts'
import { Code, Exception } from './exception.ts'
import type { SessionRequest } from './sessions.ts'
import { quote } from './statement.ts'

/** A statement as it comes over ClickHouse's HTTP interface, its body apart. */
export interface StatementRequest {
  /** Of the URL; the body follows it. */
  readonly query: string
  readonly queryId: string
  readonly database: string | undefined
  readonly settings: readonly (readonly [name: string, value: string])[]
  readonly session: SessionRequest | undefined
  readonly defaultFormat: string
  /** Whether it must change nothing. */
  readonly isRead: boolean
  /** Whether the answer begins when the result is whole. */
  readonly waitsForEnd: boolean
  /** Whether it comes from ipid's sink or migrations. */
  readonly isOwn: boolean
  /** Whether the answer may be compressed. */
  readonly compress: boolean
}

/** Parts of the URL that are no settings, and that nothing here depends on. */
const IGNORED = new Set([
  'user',
  'password',
  'quota_key',
  'buffer_size',
  'stacktrace',
  'client_protocol_version',
  'add_http_cors_header',
])

const OWN = new Set([
  ...['query', 'query_id', 'database', 'default_format', 'enable_http_compression', 'wait_end_of_query'],
  ...['session_id', 'session_check', 'session_timeout', 'close_session'],
])
const FORMAT_NAME = /^\w{1,100}$/
const SETTING_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

const SESSION_TIMEOUT_S = 60
const SESSION_TIMEOUT_S_MAX = 3_600

const OWN_CLIENT = /^ipid-(?:sink|migrate)\b/

/**
 * @param params of the URL
 * @throws Exception for what this server cannot do
 */
export function parseRequest(method: string, params: URLSearchParams, headers: IncomingHttpHeaders): StatementRequest {
  checkUser(params, headers)
  const isRead = method !== 'POST'
  return {
    query: params.get('query') ?? '',
    queryId: params.get('query_id') || randomUUID(),
    database: params.get('database') || header(headers, 'x-clickhouse-database') || undefined,
    settings: settingsOf(params, isRead),
    session: sessionOf(params),
    defaultFormat: defaultFormatOf(params, headers),
    isRead,
    waitsForEnd: isOn(params.get('wait_end_of_query')),
    isOwn: OWN_CLIENT.test(headers['user-agent'] ?? ''),
    compress: isOn(params.get('enable_http_compression')),
  }
}

/** The name goes into the answer's head, also where the engine never looks at it. */
function defaultFormatOf(params: URLSearchParams, headers: IncomingHttpHeaders): string {
  const format = params.get('default_format') || header(headers, 'x-clickhouse-format') || 'TabSeparated'
  if (FORMAT_NAME.test(format)) return format
  throw new Exception(Code.UnknownFormat, `Unknown format ${quote(format)} (default_format). (UNKNOWN_FORMAT)`)
}

function settingsOf(params: URLSearchParams, isRead: boolean): [string, string][] {
  const settings: [string, string][] = []
  for (const [name, value] of params) {
    if (OWN.has(name) || IGNORED.has(name)) continue
    if (name === 'role') throw notImplemented('roles (role=)')
    if ((name === 'compress' || name === 'decompress') && value !== '0') throw notImplemented(`${name}=${value}`)
    if (name === 'compress' || name === 'decompress') continue
    if (!SETTING_NAME.test(name) || name === ID_SETTING) {
      throw new Exception(Code.UnknownSetting, `Unknown setting ${quote(name)}. (UNKNOWN_SETTING)`)
    }
    if (!isRead || name !== 'readonly') settings.push([name, value])
  }
  return settings
}

function sessionOf(params: URLSearchParams): SessionRequest | undefined {
  const id = params.get('session_id')
  if (!id) return undefined
  const timeout = params.get('session_timeout') ?? String(SESSION_TIMEOUT_S)
  const seconds = /^\d{1,9}$/.test(timeout) ? Number(timeout) : Number.NaN
  if (!(seconds <= SESSION_TIMEOUT_S_MAX)) {
    const message = `Session timeout ${quote(timeout)} is not a number of seconds up to ${SESSION_TIMEOUT_S_MAX}. (INVALID_SESSION_TIMEOUT)`
    throw new Exception(Code.InvalidSessionTimeout, message)
  }
  const [mustExist, close] = [isOn(params.get('session_check')), isOn(params.get('close_session'))]
  return { id, mustExist, close, timeoutMs: seconds * 1_000 }
}

function notImplemented(what: string): Exception {
  return new Exception(Code.NotImplemented, `The embedded ClickHouse has no ${what}. (NOT_IMPLEMENTED)`)
}

/** There is one user, `default`, and no password. */
function checkUser(params: URLSearchParams, headers: IncomingHttpHeaders): void {
  const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1]
  const user =
    header(headers, 'x-clickhouse-user') ??
    (basic === undefined ? undefined : Buffer.from(basic, 'base64').toString().split(':')[0]) ??
    params.get('user') ??
    ''
  if (user === '' || user === 'default') return
  const message = `${user}: Authentication failed: the embedded ClickHouse has no user but default. (AUTHENTICATION_FAILED)`
  throw new Exception(Code.AuthenticationFailed, message)
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
