import { type ClickHouseClient, ClickHouseLogLevel, type ClickHouseSettings, createClient } from '@clickhouse/client'
import { callerLeft } from '../../run/caller.ts'
import { InputError } from '../../run/errors.ts'
import { timeLimit } from '../../run/time-limit.ts'
import { checkingWrites, EMBEDDED_USER } from './failed-writes.ts'

/** The database of all tables. */
export const DATABASE = 'ipid'

export interface ClickHouseClientOptions {
  /** Shown in ClickHouse's own logs. */
  readonly application: string
  /** `undefined`: the user's default. */
  readonly database?: string | undefined
  readonly requestTimeoutMs?: number
  readonly connectionsMax?: number
  /** Defaults for every statement. */
  readonly settings?: ClickHouseSettings
}

const REQUEST_TIMEOUT_MS = 60_000

/**
 * Makes it an error when a result reaches a limit of the user's profile. With `break`, a partial result would look
 * complete.
 */
const WHOLE_RESULTS = {
  result_overflow_mode: 'throw',
  read_overflow_mode: 'throw',
  timeout_overflow_mode: 'throw',
} as const

/** Below the shortest default keep-alive of a server, 3 s, so that the client closes first. */
const IDLE_SOCKET_TTL_MS = 2_000

/**
 * A client with the options that all parts share: inserts are answered when they are stored, errors are thrown and not
 * logged, and nothing is compressed.
 * @param url `http://` or `https://`, with or without `user:password@`
 * @throws InputError when it is neither
 */
export function connectClickHouse(url: string, options: ClickHouseClientOptions): ClickHouseClient {
  const { protocol, hostname, username, password, origin, pathname } = parse(url)
  if (protocol !== 'http:' && protocol !== 'https:') {
    throw new InputError('CLICKHOUSE_URL: must be http:// or https://, optionally with user:password@')
  }
  const compress = !/^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  const isEmbedded = username === EMBEDDED_USER
  const isReader = options.settings?.readonly !== undefined
  const make = (database: string | undefined, connectionsMax: number) =>
    createClient({
      url: `${origin}${pathname}`,
      ...(username === '' ? {} : { username: decodeURIComponent(username) }),
      ...(password === '' ? {} : { password: decodeURIComponent(password) }),
      ...(database === undefined ? {} : { database }),
      application: `ipid-${options.application}`,
      request_timeout: options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS,
      max_open_connections: connectionsMax,
      keep_alive: { enabled: true, idle_socket_ttl: IDLE_SOCKET_TTL_MS },
      compression: { request: false, response: compress },
      clickhouse_settings: {
        async_insert: 0,
        ...WHOLE_RESULTS,
        // An insert that fails by a limit would be repeated for ever.
        ...(isEmbedded && !isReader ? { max_memory_usage: '0' } : {}),
        ...options.settings,
      },
      log: { level: ClickHouseLogLevel.OFF },
    })
  const connectionsMax = options.connectionsMax ?? 10
  const client = make(options.database, connectionsMax)
  return isEmbedded && !isReader ? checkingWrites(client, make('system', connectionsMax)) : client
}

const GRACE_SECONDS = 3

/**
 * Aborts a query a little later than ClickHouse should have, so that a silent server does not hold the connection; or when the caller
 * leaves, see `forCaller`.
 */
export function givenUp(secondsMax: number): AbortSignal {
  return timeLimit((secondsMax + GRACE_SECONDS) * 1_000, callerLeft())
}

function parse(url: string): URL {
  try {
    return new URL(url)
  } catch (error) {
    throw new InputError('CLICKHOUSE_URL: not a URL', { cause: error })
  }
}
