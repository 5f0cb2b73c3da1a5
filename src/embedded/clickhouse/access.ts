import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readEngineSettings } from './engine-settings.ts'
import { keptFreeBytes } from './write-watch.ts'

export interface EngineAccess {
  /** Whether statements may reach files, programs and other servers. */
  readonly external: boolean
}

export interface EngineLimits {
  /** Of the whole process; a statement that reads may take half of it. */
  readonly memoryBytesMax: number
  /** How long a statement that reads may take unless it says otherwise; 0: for ever. */
  readonly readSecondsMax: number
}

/** Everything that stays within the engine's own tables. A source that is not granted cannot be read or written. */
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
 * Writes what the engine reads when it opens.
 * @param folder made when it is not there
 * @returns the path of the file for `--config-file`
 */
export function writeEngineConfig(folder: string, options: EngineAccess & EngineLimits): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const config = join(folder, 'config.xml')
  const users = join(folder, 'users.xml')
  write(users, usersXml(options))
  write(config, configXml(users, keptFreeBytes(folder), options))
  return config
}

/** A disk that is full holds up no start: what is there already is not written. */
function write(path: string, text: string): void {
  if (existsSync(path) && readFileSync(path, 'utf8') === text) return
  writeFileSync(path, text, { mode: 0o600 })
}

/** How often ClickHouse holds what it has counted against what the process takes; by itself, 20 times a second. */
const MEMORY_LOOK_MS = 500

/**
 * How long the parts stay that others took the place of: this engine does not wait for the disk, and a merged part that is damaged
 * has nothing else. The engine in chdb would remove them within minutes, at its next look.
 */
const OLD_PARTS_S = 480

function configXml(users: string, keptFree: number, { memoryBytesMax }: EngineLimits): string {
  return `<clickhouse>
<users_config>${escapeXml(users)}</users_config>
<max_server_memory_usage>${memoryBytesMax}</max_server_memory_usage>
<memory_worker_period_ms>${MEMORY_LOOK_MS}</memory_worker_period_ms>
<merge_tree><old_parts_lifetime>${OLD_PARTS_S}</old_parts_lifetime></merge_tree>
<storage_configuration><disks><default>
<keep_free_space_bytes>${keptFree}</keep_free_space_bytes>
</default></disks></storage_configuration>
</clickhouse>
`
}

/** A result that is wanted as a whole may be this large, in the engine's own measure; others have no limit. */
const WHOLE_RESULT_BYTES_MAX = 536_870_912

/** What every statement finds unless it says otherwise. */
function profileOf({ memoryBytesMax, readSecondsMax }: EngineLimits): Record<string, string | number> {
  return {
    async_insert: 0,
    implicit_select: 0,
    max_execution_time: readSecondsMax,
    max_memory_usage: Math.floor(memoryBytesMax / 2),
    max_result_bytes: WHOLE_RESULT_BYTES_MAX,
    // A row group is built in memory: with the default of 1,000,000 rows an export of events takes 1.5 GB, with these 0.3.
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
