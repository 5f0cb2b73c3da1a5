import { ClickHouseError } from '@clickhouse/client'
import { quoteName } from '../../stores/clickhouse/quote.ts'
import { type Finding, findingsOf } from './finding.ts'

/** Codes of errors about the user: https://github.com/ClickHouse/ClickHouse/blob/master/src/Common/ErrorCodes.cpp */
const NO_ACCESS: ReadonlySet<string> = new Set(['516', '192', '193', '194'])
const READ_ONLY = '164'
const DENIED = '497'

/** `ipid: Not enough privileges. To execute this query, it's necessary to have the grant SELECT(name) ON system.tables.` */
const GRANT = /necessary to have (?:the )?grant (.+?)\.?$/

/** The meaning and the remedy when ClickHouse refuses this user a query. Undefined: it refused for another reason. */
export function refusalOf(check: string, error: unknown, url: string): Finding | undefined {
  if (!(error instanceof ClickHouseError)) return undefined
  const { problem } = findingsOf(check)
  const user = userOf(url)
  if (NO_ACCESS.has(error.code)) {
    return problem(
      `ClickHouse refuses the password of the user ${user}, or has no such user`,
      'ipid does not start, and events wait in Redis.',
      `correct user and password in CLICKHOUSE_URL, or change the password: ALTER USER ${named(user)} IDENTIFIED BY 'PASSWORD'`,
    )
  }
  if (error.code === READ_ONLY) {
    return problem(
      `the user ${user} may only read, with the settings of its profile (readonly = 1)`,
      'ClickHouse refuses every statement that sets a setting, so every insert; events wait in Redis.',
      `give the user a profile with readonly = 0: ALTER USER ${named(user)} SETTINGS PROFILE 'default'`,
    )
  }
  if (error.code !== DENIED) return undefined
  const grant = GRANT.exec(error.message.trim())?.[1] ?? 'SELECT ON system.*'
  // The other tables would be refused, too.
  const wanted = / ON system\./.test(grant) ? 'SELECT ON system.*' : grant
  return problem(
    `the user ${user} lacks ${grant}`,
    'ipid reads versions, tables, settings and disks there, and says that ClickHouse is missing otherwise.',
    `GRANT ${wanted} TO ${named(user)}`,
  )
}

/** The user of a URL; ClickHouse's own default when it names none. */
export function userOf(url: string): string {
  return decodeURIComponent(new URL(url).username) || 'default'
}

/** The name of a user in a statement. */
export function named(user: string): string {
  return /^\w+$/.test(user) ? user : quoteName(user)
}
