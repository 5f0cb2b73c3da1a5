import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keptFreeBytes, spaceOf } from '../../run/free-space.ts'
import { readEngineSettings } from './engine-settings.ts'

export interface EngineAccess {
  /** Whether statements may reach files, programs and other servers. */
  readonly external: boolean
}

export interface EngineLimits {
  /** Memory of the whole process. A read may use half of it. */
  readonly memoryBytesMax: number
  /** Default time limit of a read, seconds; 0 for none. */
  readonly readSecondsMax: number
}

/** Every privilege within the engine's own tables. A source without a grant can be neither read nor written. */
const PRIVILEGES = [
  ...['CHECK', 'SHOW', 'SELECT', 'INSERT', 'ALTER TABLE', 'ALTER VIEW', 'ALTER DATABASE', 'OPTIMIZE', 'TRUNCATE'],
  ...['CREATE DATABASE', 'CREATE TABLE', 'CREATE VIEW', 'CREATE TEMPORARY TABLE', 'CREATE FUNCTION'],
  ...[
    'DROP DATABASE',
    'DROP TABLE',
    'DROP VIEW',
    'DROP DICTIONARY',
    'DROP FUNCTION',
    'UNDROP TABLE',
    'dictGet',
    'KILL QUERY',
  ],
  ...['SYSTEM FLUSH LOGS'],
]

/**
 * Writes the configuration that the engine reads when it opens.
 * @param folder created if missing
 * @returns the path of the file for `--config-file`
 */
export function writeEngineConfig(folder: string, options: EngineAccess & EngineLimits): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const config = join(folder, 'config.xml')
  const users = join(folder, 'users.xml')
  write(users, usersXml(options))
  write(config, configXml(users, keptFreeBytes(spaceOf(folder)), options))
  return config
}

/** Does not write an unchanged file, so that a start works on a full disk. */
function write(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text, { mode: 0o600 })
}

/** How often ClickHouse compares its memory counter with the process's real use. Its default is 20 times a second. */
const MEMORY_CHECK_MS = 500

/**
 * How long merged source parts are kept. This engine does not fsync, so they are the only copy if the merged part is damaged.
 * By default, chdb removes them within minutes.
 */
const OLD_PARTS_S = 480

function configXml(users: string, keptFree: number, { memoryBytesMax }: EngineLimits): string {
  return `<clickhouse>
<users_config>${escapeXml(users)}</users_config>
<max_server_memory_usage>${memoryBytesMax}</max_server_memory_usage>
<memory_worker_period_ms>${MEMORY_CHECK_MS}</memory_worker_period_ms>
<merge_tree><old_parts_lifetime>${OLD_PARTS_S}</old_parts_lifetime></merge_tree>
<storage_configuration><disks><default>
<keep_free_space_bytes>${keptFree}</keep_free_space_bytes>
</default></disks></storage_configuration>
</clickhouse>
`
}

/** Limit for results that must be complete before they are sent, by the engine's measure. Streamed results have none. */
const WHOLE_RESULT_BYTES_MAX = 536_870_912

/** Free memory for each thread of a statement: with less, it takes fewer threads. */
const THREAD_BYTES = 268_435_456

/** The default settings of all statements. */
function profileOf({ memoryBytesMax, readSecondsMax }: EngineLimits): Record<string, string | number> {
  return {
    async_insert: 0,
    implicit_select: 0,
    max_execution_time: readSecondsMax,
    max_memory_usage: Math.floor(memoryBytesMax / 2),
    max_result_bytes: WHOLE_RESULT_BYTES_MAX,
    // Its default of 1 GiB leaves one thread to a server with 1 GiB.
    max_threads_min_free_memory_per_thread: THREAD_BYTES,
    // Row groups are built in memory. With the default of 1,000,000 rows an export of events needs 1.5 GB, with 100,000 0.3 GB.
    output_format_parquet_row_group_size: 100_000,
    output_format_parquet_row_group_size_bytes: 67_108_864,
    output_format_parquet_parallel_encoding: 0,
  }
}

function usersXml({ external, ...limits }: EngineAccess & EngineLimits): string {
  const profile = Object.entries(profileOf(limits)).map(([name, value]) => `<${name}>${value}</${name}>`)
  const refused = external ? [] : readEngineSettings().refused
  const constraints = refused.map((name) => `<${name}><const/></${name}>`).join('')
  const grants = external ? '' : `<grants><query>GRANT ${PRIVILEGES.join(', ')} ON *.*</query></grants>`
  return `<clickhouse>
<profiles><default>${profile.join('')}<constraints>${constraints}</constraints></default></profiles>
<quotas><default></default></quotas>
<users><default>
<password></password><networks><ip>::/0</ip></networks><profile>default</profile><quota>default</quota>
${grants}
</default></users>
</clickhouse>
`
}

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (character) => `&#${character.charCodeAt(0)};`)
}
