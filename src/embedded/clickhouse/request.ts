import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import { Code, Exception } from './exception.ts'
import { quote, quoteName } from './statement.ts'

/** A statement as it comes over ClickHouse's HTTP interface, its body apart. */
export interface StatementRequest {
  /** Of the URL; the body follows it. */
  readonly query: string
  readonly queryId: string
  readonly defaultFormat: string
  /** Whether it must change nothing. */
  readonly isRead: boolean
  /** Statements that put a fresh connection into the state that the request asks for. */
  readonly prelude: string
  /** Whether the answer may be compressed. */
  readonly compress: boolean
}

/** Parts of the URL that are no settings, and that nothing here depends on. */
const IGNORED = new Set([
  'user',
  'password',
  'quota_key',
  'buffer_size',
  'wait_end_of_query',
  'session_timeout',
  'stacktrace',
  'close_session',
  'client_protocol_version',
  'add_http_cors_header',
])

const OWN = new Set(['query', 'query_id', 'database', 'default_format', 'enable_http_compression'])
const SETTING_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

/** Statements of interactive users may not fill the memory with a result that is not handed on piece by piece. */
const RESULT_BYTES_MAX = 536_870_912

/**
 * @param params of the URL
 * @throws Exception for what this server cannot do
 */
export function parseRequest(method: string, params: URLSearchParams, headers: IncomingHttpHeaders): StatementRequest {
  checkUser(params, headers)
  const isRead = method !== 'POST'
  const settings = ['async_insert=0', 'implicit_select=0', `max_result_bytes=${RESULT_BYTES_MAX}`]
  for (const [name, value] of params) {
    if (OWN.has(name) || IGNORED.has(name)) continue
    if (name === 'session_id' || name === 'session_check') throw notImplemented('sessions')
    if ((name === 'compress' || name === 'decompress') && value !== '0') throw notImplemented(`${name}=${value}`)
    if (name === 'compress' || name === 'decompress') continue
    if (!SETTING_NAME.test(name)) {
      throw new Exception(Code.UnknownSetting, `Unknown setting ${quote(name)}. (UNKNOWN_SETTING)`)
    }
    if (!isRead || name !== 'readonly') settings.push(`${name}=${quote(value)}`)
  }
  if (isRead) settings.push('readonly=1')
  const database = params.get('database') || header(headers, 'x-clickhouse-database')
  return {
    query: params.get('query') ?? '',
    queryId: params.get('query_id') || randomUUID(),
    defaultFormat: params.get('default_format') || header(headers, 'x-clickhouse-format') || 'TabSeparated',
    prelude: `${database ? `USE ${quoteName(database)}; ` : ''}SET ${settings.join(', ')}`,
    isRead,
    compress: isOn(params.get('enable_http_compression')),
  }
}

function isOn(value: string | null): boolean {
  return value === '1' || value === 'true'
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
