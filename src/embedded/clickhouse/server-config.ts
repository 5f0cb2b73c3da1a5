import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptFreeBytes, spaceOf } from '../../run/free-space.ts'
import { EMBEDDED_USER, ROOM_DISK } from '../../stores/clickhouse/failed-writes.ts'
import { ANALYST, type Passwords, sha256Of } from './passwords.ts'

/** The database in which analysts make tables and views of their own. */
export const WORKSPACE = 'workspace'

export interface ServerLimits {
  /** Memory of the whole process. A statement of an analyst may use half of it. */
  readonly memoryBytesMax: number
  /** Default time limit of a statement of an analyst, seconds; 0 for none. */
  readonly readSecondsMax: number
}

export interface ServerConfig {
  /** Absolute path of the data folder. */
  readonly path: string
  /** Port on 127.0.0.1. */
  readonly port: number
  /** Port of ClickHouse's own protocol on 127.0.0.1; undefined: closed. */
  readonly tcpPort: number | undefined
  readonly passwords: Passwords
  /** Whether statements may reach files, programs and other servers. */
  readonly external: boolean
  readonly limits: ServerLimits
}

/**
 * Writes the configuration that the server reads when it starts: config.xml and users.xml. Further files in `config.d` beside them are
 * merged by ClickHouse.
 * @returns the path of config.xml
 */
export function writeServerConfig(config: ServerConfig): string {
  const folder = join(config.path, 'config')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const users = join(folder, 'users.xml')
  const file = join(folder, 'config.xml')
  write(users, usersXml(config))
  write(file, configXml(users, config))
  return file
}

/** Does not write an unchanged file, so that a start works on a full disk. */
function write(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text, { mode: 0o600 })
}

/** How often ClickHouse compares its memory counter with the process's real use. Its default is 20 times a second. */
const MEMORY_CHECK_MS = 500

/**
 * How long merged source parts are kept. This server does not fsync, so they are the only copy if the merged part is damaged.
 * By default, they are removed within minutes.
 */
const OLD_PARTS_S = 480

/** Nothing listens there. */
const NOWHERE = 'http://127.0.0.1:9'

function configXml(users: string, { path, port, tcpPort, external, limits }: ServerConfig): string {
  const tcp = tcpPort === undefined ? '' : `<tcp_port>${tcpPort}</tcp_port>`
  // A table may name a disk of its own (`SETTINGS disk = disk(type = s3, …)`), which no right covers.
  const disks = external
    ? ''
    : `<custom_local_disks_base_directory>${xml(join(path, 'custom-disks'))}/</custom_local_disks_base_directory>
<proxy><http><uri>${NOWHERE}</uri></http><https><uri>${NOWHERE}</uri></https></proxy>
`
  return `<clickhouse>
<users_config>${xml(users)}</users_config>
<logger><log>${xml(join(path, 'log', 'clickhouse.log'))}</log><size>10M</size><count>1</count></logger>
<listen_host>127.0.0.1</listen_host>
<http_port>${port}</http_port>${tcp}
<enable_webterminal>false</enable_webterminal>
<keep_alive_timeout>30</keep_alive_timeout>
<max_server_memory_usage>${limits.memoryBytesMax}</max_server_memory_usage>
<memory_worker_period_ms>${MEMORY_CHECK_MS}</memory_worker_period_ms>
<merge_tree><old_parts_lifetime>${OLD_PARTS_S}</old_parts_lifetime></merge_tree>
<access_control_improvements>
<table_engines_require_grant>true</table_engines_require_grant>
<settings_constraints_replace_previous>true</settings_constraints_replace_previous>
</access_control_improvements>
${disks}<storage_configuration><disks>
<default><keep_free_space_bytes>${keptFreeBytes(spaceOf(path))}</keep_free_space_bytes></default>
<${ROOM_DISK}><type>local</type><path>${xml(join(path, ROOM_DISK))}/</path></${ROOM_DISK}>
</disks></storage_configuration>
<http_handlers>
${handlersXml(port)}
</http_handlers>
</clickhouse>
`
}

const FOREIGN_PAGE = 'ClickHouse answers no other web page.\n'

/** The page /play may run its own script and the library of its charts, and ask only this server. */
const PLAY_POLICY = [
  "default-src 'none'",
  "script-src 'unsafe-inline' 'wasm-unsafe-eval' https://cdn.jsdelivr.net/npm/uplot@1.6.21/dist/uPlot.iife.min.js",
  "style-src 'unsafe-inline'",
  "img-src 'self' data: blob:",
  'font-src data:',
  "connect-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The conditions of a rule of `http_handlers`. A text that begins with `regex:` is an expression of RE2. */
interface Condition {
  readonly methods?: string
  readonly url?: string
  /** Whether the URL must have no query string. */
  readonly bare?: boolean
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * A browser that keeps the password sends it along with the requests of every page. So requests of other pages
 * are refused first. The first rule that fits decides. ClickHouse's own rules are left out: its other pages load scripts of other servers.
 */
function handlersXml(port: number): string {
  const own = `regex:^http://(127\\.0\\.0\\.1|localhost):${port}$`
  // Without the header its value is empty.
  const any = 'regex:.+'
  return [
    fixedAnswer(403, FOREIGN_PAGE, { headers: { 'Sec-Fetch-Site': 'regex:^(cross|same)-site$' } }),
    rule({ ...STATEMENTS, headers: { Origin: own } }, QUERY),
    fixedAnswer(403, FOREIGN_PAGE, { headers: { Origin: any } }),
    fixedAnswer(200, 'Ok.\n', { url: '/ping' }),
    fixedAnswer(200, 'Ok.\n', { url: '/', bare: true, methods: 'GET,HEAD' }),
    rule(STATEMENTS, QUERY),
    rule({ url: '/play' }, `<type>play</type>${headersXml({ 'Content-Security-Policy': PLAY_POLICY })}`),
  ].join('\n')
}

const QUERY = '<type>dynamic_query_handler</type><query_param_name>query</query_param_name>'
const STATEMENTS: Condition = { url: 'regex:^/(query)?$' }
const METHODS = 'GET,HEAD,POST,PUT,DELETE,OPTIONS'

function fixedAnswer(status: number, text: string, condition: Condition): string {
  const type = '<type>static</type><content_type>text/plain; charset=UTF-8</content_type>'
  return rule(condition, `${type}<status>${status}</status><response_content>${xml(text)}</response_content>`)
}

function rule({ methods = METHODS, url, bare, headers }: Condition, handler: string): string {
  const conditions = [
    `<methods>${methods}</methods>`,
    bare === true ? '<empty_query_string/>' : '',
    url === undefined ? '' : `<url>${xml(url)}</url>`,
    headers === undefined ? '' : `<headers>${elementsXml(headers)}</headers>`,
  ]
  return `<rule>${conditions.join('')}<handler>${handler}</handler></rule>`
}

function headersXml(headers: Readonly<Record<string, string>>): string {
  return `<http_response_headers>${elementsXml(headers)}</http_response_headers>`
}

function elementsXml(values: Readonly<Record<string, string | number>>): string {
  return Object.entries(values)
    .map(([name, value]) => `<${name}>${xml(String(value))}</${name}>`)
    .join('')
}

/**
 * How deep a definition may be that the server reads when it starts: more than in a statement, because the text that it stores has more
 * parentheses.
 */
const STORED_DEFINITIONS = { max_parser_depth: 10_000, max_parser_backtracks: 100_000_000 }

/** Rows of a block in memory. A mutation that builds a projection holds a block twice. With the default of 1,000,000 rows it does not fit into the server's memory. */
const MUTATED_BLOCKS = { min_insert_block_size_rows: 65_536, min_insert_block_size_bytes: 33_554_432 }

/** The default settings of all statements. */
const DEFAULTS: Readonly<Record<string, string | number>> = {
  // As in ClickHouse itself: a statement of a user makes few and large parts.
  ...{ min_insert_block_size_rows: 1_048_449, min_insert_block_size_bytes: 268_402_944 },
  async_insert: 0,
  implicit_select: 0,
  // Compiled aggregates compare times before 1970 as if they were after all others.
  compile_aggregate_expressions: 0,
  ...{ max_parser_depth: 1_000, max_parser_backtracks: 1_000_000 },
  // Its default of 1 GiB leaves one thread to a server with 1 GiB.
  max_threads_min_free_memory_per_thread: 268_435_456,
  // Row groups are built in memory. With the default of 1,000,000 rows an export of events needs 1.5 GB, with 100,000 0.3 GB.
  output_format_parquet_row_group_size: 100_000,
  output_format_parquet_row_group_size_bytes: 67_108_864,
  output_format_parquet_parallel_encoding: 0,
  // RESTORE asks its server before it asks for rights: by default 1,000 times, for 20 minutes.
  backup_restore_s3_retry_attempts: 0,
  s3_retry_attempts: 0,
}

/** The number of statements of analysts that run side by side; a further one is refused with code 202. */
const ANALYST_STATEMENTS = 16

/**
 * Settings that no user can change, because they name a file or a server and no right covers them, or because they are limits. This
 * program reads any path in them, as for a user who typed it.
 */
const FIXED = [
  ...['format_schema', 'format_schema_source', 'output_format_schema'],
  ...['format_template_resultset', 'format_template_row', 'format_avro_schema_registry_url'],
  ...['input_format_record_errors_file_path', 'errors_output_format'],
  ...['allow_introspection_functions', 'allow_get_client_http_header'],
  ...['backup_restore_s3_retry_attempts', 's3_retry_attempts'],
  ...['merge_tree_disk', 'merge_tree_storage_policy', 'max_concurrent_queries_for_user', 'max_sessions_for_user'],
  // The server does not start with a stored definition that it cannot parse.
  ...['max_memory_usage_for_user', 'max_parser_depth', 'max_parser_backtracks', 'max_ast_depth'],
]

/** Rights within tables, in addition to reading and `ALTER`. */
const TABLE_RIGHTS = [
  ...['INSERT', 'ALTER VIEW', 'OPTIMIZE', 'TRUNCATE', 'CREATE TABLE', 'CREATE VIEW'],
  ...['DROP TABLE', 'DROP VIEW', 'UNDROP TABLE'],
]

/** `ALTER TABLE` without FREEZE, whose files only a SYSTEM statement removes, and without commands that move parts. */
const ANALYST_ALTERS = [
  ...['ALTER UPDATE', 'ALTER DELETE', 'ALTER COLUMN', 'ALTER MODIFY COMMENT', 'ALTER INDEX', 'ALTER STATISTICS'],
  ...['ALTER PROJECTION', 'ALTER CONSTRAINT', 'ALTER TTL', 'ALTER SETTINGS'],
]

/** Engines that store in the data folder only. */
const ENGINES = [
  ...['MergeTree', 'ReplacingMergeTree', 'SummingMergeTree', 'AggregatingMergeTree', 'CollapsingMergeTree'],
  ...['VersionedCollapsingMergeTree', 'GraphiteMergeTree', 'CoalescingMergeTree'],
  ...['Log', 'TinyLog', 'StripeLog', 'Null', 'GenerateRandom'],
]

/** Engines whose rows stay in memory outside every limit, so that inserts of events find none; Set and Join load them at each start. */
const IN_MEMORY = ['Memory', 'Set', 'Join']

const onEngines = (names: readonly string[]) => names.map((name) => `GRANT TABLE ENGINE ON ${name}`)

/** Reads every table and may make tables and views in `workspace`. */
const ANALYST_GRANTS = [
  'GRANT SELECT, SHOW, dictGet, CREATE TEMPORARY TABLE ON *.*',
  `GRANT ${[...TABLE_RIGHTS, ...ANALYST_ALTERS].join(', ')} ON ${WORKSPACE}.*`,
  ...onEngines(ENGINES),
]

/** The product's own: every database, but no source, user, function or dictionary, and no SYSTEM statement that changes what runs. */
const OWN_GRANTS = [
  'GRANT SELECT, SHOW, CHECK, dictGet, KILL QUERY, CREATE DATABASE, DROP DATABASE, ALTER DATABASE ON *.*',
  `GRANT ${TABLE_RIGHTS.join(', ')}, ALTER TABLE, CREATE TEMPORARY TABLE, SYSTEM FLUSH LOGS ON *.*`,
  ...onEngines([...ENGINES, ...IN_MEMORY]),
]

/**
 * The session of the program itself is the user `default` without a password, which cannot be changed. It may only open the ports and
 * wait on its standard input, and as it holds its only session, no one else can become this user.
 */
const PROGRAM_GRANTS = ['GRANT SYSTEM LISTEN ON *.*', 'GRANT READ ON FILE', 'GRANT CREATE TEMPORARY TABLE ON *.*']

const EVERYTHING = ['GRANT ALL ON *.*']

function usersXml({ passwords, external, limits }: ServerConfig): string {
  const memory = Math.floor(limits.memoryBytesMax / 2)
  const profiles = [
    // Every other profile begins with this one.
    profile('default', { ...STORED_DEFINITIONS, ...MUTATED_BLOCKS }),
    profile('program', { max_sessions_for_user: 1 }),
    // An analyst's materialized view must not hold up the events.
    profile(
      'own',
      { ...DEFAULTS, max_memory_usage: memory, materialized_views_ignore_errors: 1 },
      external ? '' : fixed(FIXED),
    ),
    profile(
      ANALYST,
      {
        ...{ ...DEFAULTS, max_memory_usage: memory, max_execution_time: limits.readSecondsMax },
        max_memory_usage_for_user: memory,
        default_temporary_table_engine: 'Log',
        max_concurrent_queries_for_user: ANALYST_STATEMENTS,
        cancel_http_readonly_queries_on_client_close: 1,
      },
      `<max_memory_usage><min>1</min><max>${memory}</max></max_memory_usage>${external ? '' : fixed(FIXED)}`,
    ),
  ]
  const users = [
    user('default', 'program', '<password></password>', PROGRAM_GRANTS),
    user(EMBEDDED_USER, 'own', sha256Xml(passwords.own), external ? EVERYTHING : OWN_GRANTS),
    user(ANALYST, ANALYST, sha256Xml(passwords.analyst), external ? EVERYTHING : ANALYST_GRANTS, OWN_STATEMENTS),
  ]
  return `<clickhouse>
<profiles>
${profiles.join('\n')}
</profiles>
<quotas><default></default></quotas>
<users>
${users.join('\n')}
</users>
</clickhouse>
`
}

function profile(name: string, settings: Readonly<Record<string, string | number>>, constraints = ''): string {
  return `<${name}>${elementsXml(settings)}<constraints>${constraints}</constraints></${name}>`
}

const fixed = (names: readonly string[]) => names.map((name) => `<${name}><const/></${name}>`).join('')

/** Analysts see their own statements only: a statement may contain customers' text. */
const OWN_STATEMENTS =
  '<databases><system><processes><filter>user = currentUser()</filter></processes></system></databases>'

const sha256Xml = (password: string) => `<password_sha256_hex>${sha256Of(password)}</password_sha256_hex>`

function user(name: string, profileName: string, password: string, grants: readonly string[], policies = ''): string {
  return `<${name}>${password}<networks><ip>::1</ip><ip>127.0.0.0/8</ip></networks>
<profile>${profileName}</profile><quota>default</quota>
<grants>${grants.map((grant) => `<query>${grant}</query>`).join('')}</grants>${policies}</${name}>`
}

function xml(text: string): string {
  return text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`)
}
