import { InputError } from '../run/errors.ts'

/** Redis servers whose master Sentinel names: `redis-sentinel://` or, with TLS to both, `rediss-sentinel://`. */
export interface SentinelAddress {
  readonly sentinels: readonly HostPort[]
  /** The name under which the Sentinels watch the master. */
  readonly name: string
  readonly isTls: boolean
  /** User of the Redis servers. */
  readonly username: string | undefined
  readonly password: string | undefined
  readonly sentinelUsername: string | undefined
  readonly sentinelPassword: string | undefined
  readonly db: number
}

/** Nodes of a Redis Cluster that name the others: `redis-cluster://` or, with TLS, `rediss-cluster://`. */
interface ClusterAddress {
  readonly nodes: HostPort[]
  readonly isTls: boolean
  /** The same for all nodes. */
  readonly username: string | undefined
  readonly password: string | undefined
  readonly waitReplicas: number
}

export interface HostPort {
  readonly host: string
  readonly port: number
}

const SENTINEL = /^(rediss?)-sentinel:\/\/(?:([^@/?#\s]*)@)?([^@/?#\s]*)(?:\/([^@/?#\s]*))?(?:\?([^#\s]*))?$/
const EXAMPLE = 'as in redis-sentinel://h1:26379,h2:26379/mymaster'
const SENTINEL_PORT = 26_379
const PORT_MAX = 65_535
const DB_MAX = 1_000_000
const REPLICAS_MAX = 100
const SENTINEL_OPTIONS = ['db', 'sentinelUsername', 'sentinelPassword', 'waitReplicas']
const CLUSTER_OPTIONS = ['waitReplicas']
/** The client would take others, which replace options that keep commands from being sent twice. */
const SERVER_OPTIONS = ['family', 'db', 'username', 'password', 'waitReplicas']

export function isSentinelUrl(url: string): boolean {
  return /^rediss?-sentinel:/.test(url)
}

/**
 * Asserts the form of `redis[s]://[user:password@]host[:port][/db][?options]`.
 * @throws InputError that says which part is wrong, without a password
 */
export function assertServerUrl(url: string): void {
  const parsed = URL.canParse(url) ? new URL(url) : undefined
  if (parsed === undefined || !/^rediss?:$/.test(parsed.protocol) || parsed.hostname === '') {
    throw new InputError(
      `must be redis://host:port, rediss://host:port, unix:///path, redis-sentinel://h1:p1,h2:p2/name or redis-cluster://h1:p1,h2:p2${remedyFor(url)}`,
    )
  }
  if (url.includes('#')) throw new InputError(`must have no #${remedyFor(url)}`)
  if (!/^(?:\/\d{0,7})?$/.test(parsed.pathname)) {
    throw new InputError(`the path must be the number of a database, as in redis://host:6379/0${remedyFor(url)}`)
  }
  const option = [...parsed.searchParams.keys()].find((name) => !SERVER_OPTIONS.includes(name))
  if (option !== undefined) {
    throw new InputError(`options must be among ${SERVER_OPTIONS.join(', ')}${gotOption(option)}${remedyFor(url)}`)
  }
  for (const part of [parsed.username, parsed.password]) decoded(part)
  integerOf('db', parsed.searchParams.get('db'), DB_MAX)
  readWaitReplicas(url)
}

/** Another form may be the end of a password. */
function gotOption(name: string): string {
  return /^\w+$/.test(name) ? `, got ${name}` : ''
}

export function isClusterUrl(url: string): boolean {
  return /^rediss?-cluster:/.test(url)
}

/**
 * Reads `redis[s]-cluster://[user:password@]host:port,host:port[?waitReplicas=…]`.
 * @throws InputError that says which part is wrong, without a password
 */
export function readClusterUrl(url: string): ClusterAddress {
  const [scheme, rest = ''] = url.split(/:\/\/(.*)/s)
  const [before = '', query = ''] = rest.split(/\?(.*)/s)
  const at = before.lastIndexOf('@')
  const nodes = before.slice(at + 1).replace(/\/$/, '')
  const option = [...new URLSearchParams(query).keys()].find((name) => !CLUSTER_OPTIONS.includes(name))
  if (option !== undefined) {
    const got = `${CLUSTER_OPTIONS.join(', ')}${gotOption(option)}`
    throw new InputError(`options of ${scheme}:// must be among ${got}${remedyFor(url)}`)
  }
  if (nodes.includes('/')) throw new InputError(`${scheme}:// has only the database 0${remedyFor(url)}`)
  const { username, password } = credentialsOf(at < 0 ? undefined : before.slice(0, at))
  const hosts = nodes.split(',').map((node) => {
    const [, host, digits] = /^([^,@\s]+):(\d{1,5})$/.exec(node) ?? []
    const port = Number(digits)
    if (host === undefined || port < 1 || port > PORT_MAX) {
      throw new InputError(`a node of a cluster must be host:port, got ${JSON.stringify(node)}`)
    }
    return { host, port }
  })
  return { nodes: hosts, isTls: scheme === 'rediss-cluster', username, password, waitReplicas: readWaitReplicas(url) }
}

/** @param text the part before the @ */
function credentialsOf(text: string | undefined): Pick<ClusterAddress, 'username' | 'password'> {
  if (text === undefined) return { username: undefined, password: undefined }
  const colon = text.indexOf(':')
  if (colon < 0) throw new InputError('credentials must be user:password@ or :password@')
  if (/[@/?#\s]/.test(text)) throw new InputError(ENCODING)
  return {
    username: decoded(text.slice(0, colon)) || undefined,
    password: decoded(text.slice(colon + 1)) || undefined,
  }
}

const ENCODING = 'characters of a user or password must be percent-encoded, as %40 for @'

/** An @ that did not end the credentials means that one of their characters ended them before. */
function remedyFor(url: string): string {
  return url.includes('@') ? `; ${ENCODING}` : ''
}

/**
 * Reads `redis-sentinel://[user:password@]host[:port],…/name[?db=…&sentinelUsername=…&sentinelPassword=…&waitReplicas=…]`.
 * @throws InputError that says which part is wrong, without a password
 */
export function readSentinelUrl(url: string): SentinelAddress {
  const [, scheme, credentials, hosts = '', name = '', query = ''] = SENTINEL.exec(url) ?? []
  const remedy = remedyFor(url)
  if (scheme === undefined)
    throw new InputError(`must be redis-sentinel://host:port,host:port/name, ${EXAMPLE}${remedy}`)
  if (name === '') throw new InputError(`must end with the name of the master, ${EXAMPLE}${remedy}`)
  // In a query, + would be a space. It is as likely in a password.
  const options = new URLSearchParams(query.replaceAll('+', '%2B'))
  const unknown = [...options.keys()].find((option) => !SENTINEL_OPTIONS.includes(option))
  if (unknown !== undefined) {
    const got = `${SENTINEL_OPTIONS.join(', ')}${gotOption(unknown)}`
    throw new InputError(`options of redis-sentinel:// must be among ${got}${remedy}`)
  }
  const { username, password } = credentialsOf(credentials)
  readWaitReplicas(url)
  return {
    sentinels: hosts.split(',').map(readHost),
    name: decoded(name),
    isTls: scheme === 'rediss',
    username,
    password,
    sentinelUsername: options.get('sentinelUsername') || undefined,
    sentinelPassword: options.get('sentinelPassword') || undefined,
    db: integerOf('db', options.get('db'), DB_MAX),
  }
}

/**
 * How many replicas must have a write before it counts as stored: `waitReplicas` of a URL.
 * @returns 0 when the URL does not say
 * @throws InputError when it is not a number
 */
export function readWaitReplicas(url: string): number {
  const at = url.indexOf('?')
  const text = at < 0 ? null : new URLSearchParams(url.slice(at + 1)).get('waitReplicas')
  return integerOf('waitReplicas', text, REPLICAS_MAX)
}

function readHost(text: string): HostPort {
  const [, inBrackets, plain, digits] = /^(?:\[([0-9a-f:.]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/i.exec(text) ?? []
  const host = inBrackets ?? plain
  const port = digits === undefined ? SENTINEL_PORT : Number(digits)
  if (host === undefined || port < 1 || port > PORT_MAX) {
    throw new InputError(`a Sentinel must be host or host:port, got ${JSON.stringify(text)}`)
  }
  return { host, port }
}

function integerOf(name: string, text: string | null, max: number): number {
  if (text === null) return 0
  const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  if (!(number <= max)) throw new InputError(`${name} must be a whole number from 0 to ${max}`)
  return number
}

function decoded<T extends string | undefined>(text: T): T {
  try {
    return (text === undefined ? undefined : decodeURIComponent(text)) as T
  } catch {
    throw new InputError('user, password and name must be percent-encoded: % is %25')
  }
}
