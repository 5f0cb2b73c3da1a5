import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export interface EngineAccess {
  /** Whether statements may reach files, programs and other servers. */
  readonly external: boolean
}

/** Everything that stays within the engine's own tables. A source that is not granted cannot be read or written. */
const PRIVILEGES = [
  ...['CHECK', 'SHOW', 'SELECT', 'INSERT', 'ALTER TABLE', 'ALTER VIEW', 'ALTER DATABASE', 'OPTIMIZE', 'TRUNCATE'],
  ...['CREATE DATABASE', 'CREATE TABLE', 'CREATE VIEW', 'CREATE TEMPORARY TABLE', 'CREATE FUNCTION'],
  ...['DROP DATABASE', 'DROP TABLE', 'DROP VIEW', 'DROP FUNCTION', 'UNDROP TABLE', 'dictGet', 'KILL QUERY'],
  ...['SYSTEM MERGES', 'SYSTEM TTL MERGES', 'SYSTEM FLUSH LOGS'],
]

/** Settings that name a file, hold a piece of SQL, or have another grammar than the one that is looked at. */
const FIXED_SETTINGS = [
  ...['format_schema', 'format_template_row', 'format_template_resultset', 'dialect'],
  ...['additional_table_filters', 'additional_result_filter', 'allow_experimental_eval_table_function'],
]

/**
 * Writes what the engine reads when it opens.
 * @param folder made when it is not there
 * @returns the path of the file for `--config-file`
 */
export function writeEngineConfig(folder: string, access: EngineAccess): string {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const config = join(folder, 'config.xml')
  const users = join(folder, 'users.xml')
  writeFileSync(users, usersXml(access), { mode: 0o600 })
  writeFileSync(config, `<clickhouse><users_config>${escapeXml(users)}</users_config></clickhouse>\n`, { mode: 0o600 })
  return config
}

function usersXml({ external }: EngineAccess): string {
  const constraints = external ? '' : FIXED_SETTINGS.map((name) => `<${name}><const/></${name}>`).join('')
  const grants = external ? '' : `<grants><query>GRANT ${PRIVILEGES.join(', ')} ON *.*</query></grants>`
  return `<clickhouse>
<profiles><default><constraints>${constraints}</constraints></default></profiles>
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
