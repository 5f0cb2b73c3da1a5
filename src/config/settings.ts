import { ALERT_MESSAGES_PER_HOUR, EXPORT_PERIODS, EXPORT_TIME, RETENTION_DAYS_MAX } from '../../schemas/limits.ts'
import { readArchiveUrl } from './archive-url.ts'
import { availableMemory } from './memory.ts'
import { readNameServers } from './name-servers.ts'
import { optional, type Setting, type SettingValue, secret, setting, withPassword } from './setting.ts'
import { bytes, choice, folder, httpOrigin, integer, issuer, list, path, redisUrl, text, url } from './values.ts'

const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'] as const
/** The type of `Config` keeps this list equal to that of src/http/engine/choose.ts. */
export const HTTP_ENGINES = ['auto', 'uWebSockets.js', 'node:http'] as const
const PORT_MAX = 65_535
const DAY_MS = 86_400_000
const CLICKHOUSE_MEMORY_BYTES_MIN = 512 * 2 ** 20
/** The largest values of settings that `ipid plan` prints. */
export const SETTINGS_MAX = {
  intakeHighWaterEvents: 1_000_000_000,
  partitions: 1_024,
  ingressProcesses: 64,
  sinkShares: 64,
} as const

/**
 * Every setting, except those that sources and sinks declare. Flags, `--help`, the table in README.md beside this file, and
 * the type `Config` come from here.
 */
export const SETTINGS = {
  port: setting('PORT', 'n', '8080', 'port of the API; 0: any free one', integer(0, PORT_MAX)),
  host: setting('HOST', 'host', '127.0.0.1', 'address that the API listens on', text(/^[\w.:%-]+$/, 'an address')),
  httpEngine: setting(
    'HTTP_ENGINE',
    'name',
    'auto',
    'auto, uWebSockets.js or node:http; auto: the fastest that runs here',
    choice(HTTP_ENGINES),
  ),
  httpIdleSeconds: optional(
    'HTTP_IDLE_SECONDS',
    'n',
    'seconds that an idle connection stays open; unset: 75 with node:http; uWebSockets.js takes 10 to 35 whatever is set, so with a value auto means node:http',
    integer(1, 3_600),
  ),
  apiUrl: optional(
    'API_URL',
    'url',
    'http(s)://host[:port] of the API for senders of events, when it is reached through a proxy; pages ask for it where it is unset',
    httpOrigin,
  ),
  dataDir: setting('DATA_DIR', 'dir', './data', 'folder for everything that is kept on this machine', path()),
  secretsKey: secret(
    optional(
      'SECRETS_KEY',
      'key',
      'key that encrypts the secrets of sources, alerts and CRMs, 64 hexadecimal characters; unset: secrets.key in DATA_DIR',
      text(/^[0-9a-f]{64}$/, '64 hexadecimal characters, as "openssl rand -hex 32" prints them'),
    ),
  ),
  redisUrl: withPassword(
    optional(
      'REDIS_URL',
      'url',
      'redis://, rediss://, unix:///path, redis-sentinel://h1:p1,h2:p2/name or redis-cluster://h1:p1,h2:p2 (rediss-… with TLS); unset: a private Redis under DATA_DIR',
      redisUrl(),
    ),
  ),
  clickhouseUrl: withPassword(
    optional(
      'CLICKHOUSE_URL',
      'url',
      'http(s)://user:password@host:port; unset: the embedded engine under DATA_DIR',
      url(['http:', 'https:']),
    ),
  ),
  clickhouseCluster: optional(
    'CLICKHOUSE_CLUSTER',
    'name',
    'cluster of CLICKHOUSE_URL, as system.clusters names it, whose hosts have the tables; unset: the tables of one server',
    text(/^[A-Za-z_]\w{0,63}$/, 'the name of a cluster: up to 64 letters, digits and _, no digit first'),
  ),
  clickhouseHosts: withPassword(
    optional(
      'CLICKHOUSE_HOSTS',
      'list',
      'http(s)://host:port of every host of CLICKHOUSE_CLUSTER, separated by commas, with the user of CLICKHOUSE_URL unless named; unset: no erase, tenant delete, replay, backup or restore on the cluster',
      list(url(['http:', 'https:'])),
    ),
  ),
  clickhousePort: setting(
    'CLICKHOUSE_PORT',
    'n',
    '8123',
    'port of the embedded ClickHouse on 127.0.0.1; 0: any free one',
    integer(0, PORT_MAX),
  ),
  clickhouseTcpPort: optional(
    'CLICKHOUSE_TCP_PORT',
    'n',
    "port on 127.0.0.1 for ClickHouse's own protocol (clickhouse-client), with the same users; a wrong password there ends the server, which starts again; unset: closed",
    integer(1, PORT_MAX),
  ),
  clickhouseExternal: setting(
    'CLICKHOUSE_EXTERNAL',
    'on|off',
    'off',
    'whether statements on the embedded ClickHouse may reach files, programs and other servers',
    choice(['on', 'off']),
  ),
  clickhouseMaxMemoryBytes: setting(
    'CLICKHOUSE_MAX_MEMORY',
    'size',
    'quarter',
    "memory of the embedded ClickHouse, half of it for the statements of analysts: bytes, 512mb, 4gb, or a quarter of the machine's, at least 1gb",
    (value) =>
      value === 'quarter'
        ? Math.max(2 ** 30, Math.floor(availableMemory() / 4))
        : bytes(CLICKHOUSE_MEMORY_BYTES_MIN)(value),
  ),
  clickhouseReadSeconds: setting(
    'CLICKHOUSE_READ_SECONDS',
    's',
    '600',
    'time limit of a statement that reads from the embedded ClickHouse, unless it sets max_execution_time, seconds; 0: none',
    integer(0, DAY_MS / 1_000),
  ),
  archiveUrl: optional(
    'ARCHIVE_URL',
    'url',
    's3://bucket/prefix?endpoint=…&region=… or file:///folder; unset: the folder archive under DATA_DIR',
    readArchiveUrl,
  ),
  archivePartBytes: setting(
    'ARCHIVE_PART_BYTES',
    'size',
    '16mb',
    'size of all open parts together at which they are closed, before compression',
    bytes(2 ** 16, 2 ** 30),
  ),
  archivePartAgeMs: setting(
    'ARCHIVE_PART_AGE_MS',
    'ms',
    '60000',
    'age at which parts of the archive are closed, milliseconds',
    integer(100, DAY_MS),
  ),
  backupUrl: optional(
    'BACKUP_URL',
    'url',
    's3://bucket/prefix?endpoint=…&region=… or file:///folder that exists, for scheduled backups of this instance only; unset: none',
    readArchiveUrl,
  ),
  backupEvery: setting(
    'BACKUP_EVERY',
    'period',
    'day',
    'how often a scheduled backup is written: day or week (on Mondays)',
    choice(EXPORT_PERIODS),
  ),
  backupAt: setting(
    'BACKUP_AT',
    'time',
    '03:00',
    'time of day of scheduled backups, UTC',
    text(new RegExp(EXPORT_TIME), 'a time of day from 00:00 to 23:59'),
  ),
  backupKeep: setting('BACKUP_KEEP', 'n', '7', 'scheduled backups that are kept', integer(1, 1_000)),
  retentionDays: optional(
    'RETENTION_DAYS',
    'n',
    'days that events are kept after they were received, unless the tenant has a number of its own; unset: for ever',
    integer(1, RETENTION_DAYS_MAX),
  ),
  enrichDir: optional(
    'ENRICH_DIR',
    'dir',
    'folder of enrichment data; unset: the starter data and the data of "db add"',
    folder(),
  ),
  defaultData: setting(
    'DEFAULT_DATA',
    'mode',
    'auto',
    'free AS and country data, used where no other data know the address: on, off, auto (on unless ENRICH_DIR is set)',
    choice(['auto', 'on', 'off'] as const),
  ),
  plansFile: optional('PLANS_FILE', 'file', 'JSON file that adds or overrides plans', path()),
  logLevel: setting('LOG_LEVEL', 'level', 'info', `${LOG_LEVELS.join(', ')}`, choice(LOG_LEVELS)),
  adminPort: setting(
    'ADMIN_PORT',
    'n',
    '9090',
    'port of GET /metrics, /progress and /readyz; 0: any free one',
    integer(0, PORT_MAX),
  ),
  adminHost: setting(
    'ADMIN_HOST',
    'host',
    '127.0.0.1',
    'address that GET /metrics listens on; it asks for no key, so others can read it if they reach this address',
    text(/^[\w.:%-]+$/, 'an address'),
  ),
  dashboardPort: setting('DASHBOARD_PORT', 'n', '8081', 'port of the dashboard; 0: any free one', integer(0, PORT_MAX)),
  dashboardHost: setting(
    'DASHBOARD_HOST',
    'host',
    '127.0.0.1',
    'address that the dashboard listens on',
    text(/^[\w.:%-]+$/, 'an address'),
  ),
  dashboardUrl: optional(
    'DASHBOARD_URL',
    'url',
    'http(s)://host[:port] of the dashboard for users, when it is reached through a proxy',
    url(['http:', 'https:']),
  ),
  dashboardFavicons: setting(
    'DASHBOARD_FAVICONS',
    'on|off',
    'on',
    "whether the dashboard shows companies' logos, which this server fetches from their sites; their servers then see that it asks; off: no request",
    choice(['on', 'off']),
  ),
  oidcIssuer: optional(
    'OIDC_ISSUER',
    'url',
    'https://host[/path] of an OpenID Connect provider that signs people in, as its metadata name it; http only on this machine; unset: none',
    issuer,
  ),
  oidcClientId: optional(
    'OIDC_CLIENT_ID',
    'id',
    'id of this ipid at OIDC_ISSUER',
    text(/^[\x20-\x7e]{1,512}$/, 'up to 512 characters of ASCII'),
  ),
  oidcClientSecret: secret(
    optional(
      'OIDC_CLIENT_SECRET',
      'secret',
      'secret of OIDC_CLIENT_ID',
      text(/^[\x20-\x7e]{1,2048}$/, 'up to 2048 characters of ASCII'),
    ),
  ),
  oidcName: setting(
    'OIDC_NAME',
    'name',
    'single sign-on',
    'name of OIDC_ISSUER on the sign-in page, after "Sign in with"',
    text(/^[^\p{Cc}\p{Cf}]{1,40}$/u, 'up to 40 characters'),
  ),
  oidcTrustEmail: setting(
    'OIDC_TRUST_EMAIL',
    'on|off',
    'off',
    'whether an address counts as verified if OIDC_ISSUER does not say it (no email_verified); only for a provider where people cannot choose their address',
    choice(['on', 'off']),
  ),
  alertMessagesPerHour: setting(
    'ALERT_MESSAGES_PER_HOUR',
    'n',
    String(ALERT_MESSAGES_PER_HOUR),
    'most messages that an alert sends in an hour; the rest is one digest',
    integer(1, 2_000),
  ),
  hubspotUrl: setting(
    'HUBSPOT_URL',
    'url',
    'https://api.hubapi.com',
    "https://host[:port] of HubSpot's API, or of a proxy to it; with WEBHOOK_PRIVATE=on also http",
    httpOrigin,
  ),
  webhookPrivate: setting(
    'WEBHOOK_PRIVATE',
    'on|off',
    'off',
    'whether alerts and HUBSPOT_URL may lead to private, loopback and link-local addresses',
    choice(['on', 'off']),
  ),
  smtpUrl: secret(
    optional(
      'SMTP_URL',
      'url',
      'smtp(s)://user:password@host:port for e-mail of alerts, sign-in links and invitations; unset: no e-mail',
      url(['smtp:', 'smtps:']),
    ),
  ),
  smtpFrom: setting(
    'SMTP_FROM',
    'address',
    'ipid@localhost',
    'sender of e-mail: an address, or Name <address>',
    text(/^[^\r\n@]*@[^\r\n]*$/, 'an e-mail address'),
  ),
  rdns: setting(
    'RDNS',
    'on|off',
    'off',
    'reverse DNS for events and all lookups; off: only for lookups that name hostname or rdns',
    choice(['on', 'off']),
  ),
  rdnsServers: optional(
    'RDNS_SERVERS',
    'list',
    "name servers for reverse DNS, address or address:port, separated by commas; unset: the machine's",
    readNameServers,
  ),
  rdnsDeadlineMs: setting(
    'RDNS_DEADLINE_MS',
    'ms',
    '500',
    'time limit of reverse DNS for an answer without a deadline of its own, milliseconds',
    integer(1, 10_000),
  ),
  rdnsConcurrency: setting('RDNS_CONCURRENCY', 'n', '64', 'concurrent reverse DNS queries', integer(1, 1_024)),
  batchQueueLimit: setting(
    'BATCH_QUEUE_LIMIT',
    'n',
    '10',
    'batch jobs of a tenant queued or running',
    integer(1, 10_000),
  ),
  batchSpoolBytesMax: setting(
    'BATCH_SPOOL_MAX',
    'size',
    '256mb',
    'most bytes, compressed, that the batch jobs of a tenant may hold while they are queued or running',
    bytes(2 ** 20),
  ),
  bulkQueueLimit: setting(
    'BULK_QUEUE_LIMIT',
    'n',
    '10',
    'bulk lookup jobs of a tenant queued or running',
    integer(1, 10_000),
  ),
  partitions: setting(
    'PARTITIONS',
    'n',
    '4',
    'partitions of the streams; fixed at the first start on a Redis, changed by a backup and a restore',
    integer(1, SETTINGS_MAX.partitions),
  ),
  ingressProcesses: setting(
    'INGRESS_PROCESSES',
    'n',
    '1',
    'ingress processes that share the port (Linux)',
    integer(1, SETTINGS_MAX.ingressProcesses),
  ),
  portShared: setting(
    'PORT_SHARED',
    'on|off',
    'off',
    'whether the ingress may share its port with that of another ipid on this machine, as during an upgrade (Linux)',
    choice(['on', 'off']),
  ),
  feederShares: setting(
    'FEEDER_SHARES',
    'n',
    '1',
    'shares of batch work that the processes with the role batch divide among them; must be the same for all processes',
    integer(1, 64),
  ),
  commitLingerMs: setting(
    'COMMIT_LINGER_MS',
    'ms',
    '1',
    'time that the first event of a group commit waits for others, milliseconds; after a commit of several small requests up to twice that, at most 20',
    integer(0, 1_000),
  ),
  writeDeadlineMs: setting(
    'WRITE_DEADLINE_MS',
    'ms',
    '1500',
    'time that Redis has to store a request before the answer is 500, milliseconds',
    integer(100, 60_000),
  ),
  intakeHighWaterEvents: optional(
    'INTAKE_HIGH_WATER_EVENTS',
    'n',
    'events that may wait in the pipeline; above it intake answers 429; unset: 2000000, as pipelines/ declares',
    integer(1_000, SETTINGS_MAX.intakeHighWaterEvents),
  ),
  stallMs: setting(
    'STALL_MS',
    'ms',
    '300000',
    'age of the oldest unfinished event in the streams from which status says stalled and GET /progress answers 503, milliseconds',
    integer(1_000, DAY_MS),
  ),
  claimIdleMs: setting(
    'CLAIM_IDLE_MS',
    'ms',
    '5000',
    'idle time after which the entries of a lost worker are taken over, milliseconds',
    integer(100, DAY_MS),
  ),
  deliveriesMax: optional(
    'DELIVERIES_MAX',
    'n',
    'deliveries after which a failing block is split; after twice as many, an event is a dead letter; unset: 5, as pipelines/ declares',
    integer(1, 1_000),
  ),
  sinkRowsMax: setting('SINK_ROWS_MAX', 'n', '100000', 'rows of one ClickHouse insert', integer(1, 1_000_000)),
  sinkLingerMs: setting(
    'SINK_LINGER_MS',
    'ms',
    '1000',
    'time between two inserts, milliseconds; shorter when SINK_ROWS_MAX rows wait, or a tenth of them and no more arrive',
    integer(0, 60_000),
  ),
  sinkShares: setting(
    'SINK_SHARES',
    'n',
    '1',
    'sinks that insert concurrently, each from its own partitions; at most PARTITIONS; must be the same for all processes',
    integer(1, SETTINGS_MAX.sinkShares),
  ),
  redisStartMs: setting(
    'REDIS_START_MS',
    'ms',
    '60000',
    'how long a start waits for Redis, milliseconds',
    integer(100, 3_600_000),
  ),
  redisRequestMs: setting(
    'REDIS_REQUEST_MS',
    'ms',
    '1000',
    'how long a request waits for one answer of Redis, milliseconds',
    integer(100, 60_000),
  ),
  redisLoopMs: setting(
    'REDIS_LOOP_MS',
    'ms',
    '10000',
    'time after which a command of a background loop counts as lost, milliseconds; at least 5000 for a command that waits for entries',
    integer(2_000, 600_000),
  ),
  redisFsync: setting(
    'REDIS_FSYNC',
    'when',
    'always',
    'when the embedded Redis writes to disk: always (before a request is answered), everysec (within one or two seconds) or no (when the system does)',
    choice(['always', 'everysec', 'no']),
  ),
  redisMaxMemoryBytes: setting(
    'REDIS_MAX_MEMORY',
    'size',
    'half',
    "memory of the embedded Redis: bytes, 512mb, 4gb, or half of the machine's",
    (value) => (value === 'half' ? Math.floor(availableMemory() / 2) : bytes(16 * 2 ** 20)(value)),
  ),
} as const satisfies Record<string, Setting<unknown>>

export type SettingName = keyof typeof SETTINGS

/** The values of all settings, by name. */
export type Settings = { readonly [Name in SettingName]: SettingValue<(typeof SETTINGS)[Name]> }

/** `DATA_DIR` → `--data-dir`. */
export function flagOf(setting: Setting<unknown>): string {
  return `--${setting.env.toLowerCase().replaceAll('_', '-')}`
}
