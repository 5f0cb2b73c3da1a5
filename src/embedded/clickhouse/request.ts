import { randomUUID } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { BodyForm } from './body.ts'
import { ID_SETTING } from './cancelling.ts'
import { acceptedEncoding, type Encoding } from './compression/encodings.ts'
import { Code, Exception } from './exception.ts'
import type { ExternalTable } from './external-tables.ts'
import type { Form } from './form.ts'
import { OWN_USER, type OwnClients } from './own-clients.ts'
import type { SessionRequest } from './sessions.ts'
import { quote } from './statement.ts'

/** A statement in a request of ClickHouse's HTTP interface, without the body. */
export interface StatementRequest {
  /** The text before the body: from the URL, and from the start of a large body. */
  readonly query: string
  readonly queryId: string
  readonly database: string | undefined
  readonly settings: readonly (readonly [name: string, value: string])[]
  readonly session: SessionRequest | undefined
  readonly defaultFormat: string
  /** `client_protocol_version`; 0 for none. */
  readonly protocolRevision: number
  /** Whether it must be read-only. */
  readonly isRead: boolean
  /** Whether the response waits for the complete result. */
  readonly waitsForEnd: boolean
  /** Whether it is from ipid's sink or migrations, as proven by the secret. */
  readonly isOwn: boolean
  /** Whether the answer says what the statement read. ipid's own processes do not need it. */
  readonly isMeasured: boolean
  /** Files of the request. */
  readonly tables: readonly ExternalTable[]
}

/** Compression of a response: one of the members, both, or none. */
export interface AnswerCoding {
  readonly encoding: Encoding | undefined
  /** Whether to use ClickHouse's frames, inside the encoding. */
  readonly isFramed: boolean
}

export const PLAIN: AnswerCoding = { encoding: undefined, isFramed: false }

/** Parameters of the URL that are not settings and have no effect here. */
const IGNORED = new Set(['user', 'password', 'quota_key', 'buffer_size', 'stacktrace', 'add_http_cors_header'])

const CHECKSUMS_OFF = 'http_native_compression_disable_checksumming_on_decompress'

const OWN = new Set([
  'client_protocol_version',
  ...['query', 'query_id', 'database', 'default_format', 'enable_http_compression', 'wait_end_of_query'],
  ...['session_id', 'session_check', 'session_timeout', 'close_session'],
  ...['compress', 'decompress', 'http_wait_end_of_query', CHECKSUMS_OFF],
])
const FORMAT_NAME = /^\w{1,100}$/
/** Parameters that describe the encoding. They must be known before the body is read. */
const OF_URL = new Set(['compress', 'decompress', 'enable_http_compression', CHECKSUMS_OFF])

const SETTING_NAME = /^[A-Za-z_][A-Za-z0-9_]*$/

const SESSION_TIMEOUT_S = 60
const SESSION_TIMEOUT_S_MAX = 3_600

/** An invalid flag counts as off here; `parseRequest` refuses it. */
export function answerCodingOf(params: URLSearchParams, headers: IncomingHttpHeaders): AnswerCoding {
  const isOn = (name: string) => readFlag(params.get(name)) === true
  return {
    encoding: isOn('enable_http_compression') ? acceptedEncoding(headers) : undefined,
    isFramed: isOn('compress'),
  }
}

/** @throws Exception when a flag is neither on nor off */
export function bodyFormOf(params: URLSearchParams): BodyForm {
  return { isFramed: isOn(params, 'decompress'), isVerified: !isOn(params, CHECKSUMS_OFF) }
}

/**
 * Appends the fields of a form to the parameters of the URL.
 * @throws Exception for a field that describes the encoding of the form itself
 */
export function withFields(params: URLSearchParams, { fields }: Pick<Form, 'fields'>): URLSearchParams {
  const all = new URLSearchParams(params)
  for (const [name, value] of fields) {
    if (OF_URL.has(name)) throw badArguments(`${name} belongs in the URL, not in a field of the form`)
    // Like ClickHouse: the URL goes first, and both parts of the statement are joined.
    if (name === 'query') all.set('query', `${all.get('query') ?? ''}${value}`)
    else if (!params.has(name)) all.append(name, value)
  }
  return all
}

/**
 * @param params parameters of the URL and of a form
 * @param own recognises ipid's own processes
 * @param tables files of the request
 * @throws Exception for unsupported features
 */
export function parseRequest(
  method: string,
  params: URLSearchParams,
  headers: IncomingHttpHeaders,
  own: OwnClients,
  tables: readonly ExternalTable[] = [],
): StatementRequest {
  const user = checkedUser(params, headers, own)
  for (const name of OF_URL) isOn(params, name)
  const isRead = method !== 'POST'
  return {
    query: params.get('query') ?? '',
    queryId: params.get('query_id') || header(headers, 'x-clickhouse-query-id') || randomUUID(),
    database: params.get('database') || header(headers, 'x-clickhouse-database') || undefined,
    settings: settingsOf(params, isRead),
    session: sessionOf(params),
    defaultFormat: defaultFormatOf(params, headers),
    protocolRevision: revisionOf(params),
    isRead,
    waitsForEnd: isOn(params, 'wait_end_of_query') || isOn(params, 'http_wait_end_of_query'),
    isOwn: own.mayPass(user, headers),
    isMeasured: user !== OWN_USER,
    tables,
  }
}

/** Validates the name, because it goes into a header even if the engine does not use it. */
function defaultFormatOf(params: URLSearchParams, headers: IncomingHttpHeaders): string {
  const format = params.get('default_format') || header(headers, 'x-clickhouse-format') || 'TabSeparated'
  if (FORMAT_NAME.test(format)) return format
  throw new Exception(Code.UnknownFormat, `Unknown format ${quote(format)} (default_format). (UNKNOWN_FORMAT)`)
}

function revisionOf(params: URLSearchParams): number {
  const text = params.get('client_protocol_version') || '0'
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new Exception(Code.BadArguments, `client_protocol_version ${quote(text)} is not a number. (BAD_ARGUMENTS)`)
}

function settingsOf(params: URLSearchParams, isRead: boolean): [string, string][] {
  const settings: [string, string][] = []
  for (const [name, value] of params) {
    if (OWN.has(name) || IGNORED.has(name)) continue
    if (name === 'role') throw notImplemented('roles (role=)')
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
  const [mustExist, close] = [isOn(params, 'session_check'), isOn(params, 'close_session')]
  return { id, mustExist, close, timeoutMs: seconds * 1_000 }
}

function notImplemented(what: string): Exception {
  return new Exception(Code.NotImplemented, `The embedded ClickHouse has no ${what}. (NOT_IMPLEMENTED)`)
}

/** @throws Exception when the flag is neither on nor off */
function isOn(params: URLSearchParams, name: string): boolean {
  const flag = readFlag(params.get(name))
  if (flag === undefined) throw badArguments(`${name}=${params.get(name)} must be 1 or 0`)
  return flag
}

function readFlag(value: string | null): boolean | undefined {
  if (value === null || /^(?:0|false|)$/i.test(value)) return false
  return /^(?:1|true)$/i.test(value) ? true : undefined
}

function badArguments(what: string): Exception {
  return new Exception(Code.BadArguments, `${what}. (BAD_ARGUMENTS)`)
}

/** All clients are the user `default`, without a password. */
function checkedUser(params: URLSearchParams, headers: IncomingHttpHeaders, own: OwnClients): string {
  const basic = /^Basic (.+)$/i.exec(headers.authorization ?? '')?.[1]
  const decoded = basic === undefined ? undefined : Buffer.from(basic, 'base64').toString()
  const colon = decoded?.indexOf(':') ?? -1
  const user =
    header(headers, 'x-clickhouse-user') ?? decoded?.slice(0, colon < 0 ? undefined : colon) ?? params.get('user') ?? ''
  const password =
    header(headers, 'x-clickhouse-key') ??
    (colon < 0 ? undefined : decoded?.slice(colon + 1)) ??
    params.get('password') ??
    ''
  if (user === '' || user === 'default' || (user === OWN_USER && own.knows(password))) return user
  const message = `${user}: Authentication failed: the embedded ClickHouse has no user but default. (AUTHENTICATION_FAILED)`
  throw new Exception(Code.AuthenticationFailed, message)
}

function header(headers: IncomingHttpHeaders, name: string): string | undefined {
  const value = headers[name]
  return Array.isArray(value) ? value[0] : value
}
