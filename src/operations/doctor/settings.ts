import { realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Environment } from '../../config/config.ts'
import { fileVariableOf } from '../../config/secret-files.ts'
import type { Setting } from '../../config/setting.ts'
import { shellWord } from '../../run/shell-word.ts'
import { type Finding, findingsOf } from './finding.ts'

/**
 * Whether the settings can be read, and whether a variable is misspelt.
 * @param problems one line about each setting that cannot
 * @param variables names of all variables that ipid reads
 */
export function checkSettings(problems: readonly string[], env: Environment, variables: readonly string[]): Finding[] {
  const { problem, fine } = findingsOf('settings')
  const wrong = problems.map((line) => {
    const name = line.split(/[ :]/)[0]!
    const isLink = /^tcp:\/\//.test(env[name] ?? '')
    const remedy = isLink
      ? `it comes from a service of Kubernetes or Docker with that name: set enableServiceLinks: false, or ${name} yourself`
      : `correct ${name}, or unset it`
    return problem(line, 'ipid does not start.', remedy)
  })
  const set = variables.filter((name) => (env[name] ?? '') !== '')
  const seen = set.length === 0 ? 'none is set: all have their defaults' : `${set.join(', ')} can be read`
  return [...(wrong.length > 0 ? wrong : [fine(seen)]), ...misspelt(env, variables)]
}

/** Docker mounts each secret there with mode 0444, in a container that has no other users. */
const DOCKER_SECRETS = /^(?:\/var)?\/run\/secrets\//
const [OTHERS_READ, OTHERS_PASS] = [0o004, 0o001]

/**
 * Whether other users of the machine can read the files of secrets.
 * @param settings those that may come from files
 */
export async function checkSecretFiles(env: Environment, settings: readonly Setting<unknown>[]): Promise<Finding[]> {
  const { risk } = findingsOf('secret-files')
  const found = settings.map(async (setting) => {
    const variable = fileVariableOf(setting)
    const path = setting.holdsSecret ? env[variable] || undefined : undefined
    if (path === undefined || DOCKER_SECRETS.test(path) || !(await isOpenToAll(path))) return []
    const why = 'Every user and every program of this machine can read the secret.'
    const remedy = `chmod 640 ${shellWord(path)}, and give it to the user or the group of ipid; Kubernetes: defaultMode: 0440`
    return [risk(`every user can read ${path}, the file of ${setting.env}`, why, remedy)]
  })
  return (await Promise.all(found)).flat()
}

/** Whether others may read a file and pass every folder on the way to it. A file that cannot be read is another finding. */
async function isOpenToAll(path: string): Promise<boolean> {
  try {
    const real = await realpath(path)
    if (((await stat(real)).mode & OTHERS_READ) === 0) return false
    for (let folder = dirname(real); ; folder = dirname(folder)) {
      if (((await stat(folder)).mode & OTHERS_PASS) === 0) return false
      if (folder === dirname(folder)) return true
    }
  } catch {
    return false
  }
}

/** Leaves out other checks' findings about a wrong setting: they judged its default. */
export function withoutDefaultsOf(problems: readonly string[], findings: readonly Finding[]): Finding[] {
  const named = problems.map((line) => line.split(/[ :]/)[0]!)
  // A file that cannot be read leaves its setting at the default.
  const wrong = new Set(named.flatMap((name) => [name, name.replace(/_FILE$/, '')]))
  const names = (text: string) => text.match(/\w+/g) ?? []
  return findings.filter(({ seen, remedy = '' }) => !names(`${seen} ${remedy}`).some((name) => wrong.has(name)))
}

/** The number of letters that may differ, for names of at least this length. Shorter ones have too many neighbours. */
const SLIPS = [
  { length: 10, letters: 2 },
  { length: 6, letters: 1 },
] as const

/** Kubernetes and Docker set these for each service: `REDIS_PORT_6379_TCP_ADDR`. */
const SERVICE_VARIABLE = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP)|_PORT_\w+_TCP|_ENV_/
/** First words that no other program is likely to use. */
const OWN_WORDS = /^(?:IPID|REDIS|CLICKHOUSE|DASHBOARD|ARCHIVE|BACKUP|ENRICH|INGRESS|RDNS|SINK|RETENTION|SMTP)_/

/** Variables of programs that ipid uses or that its pages tell to set. */
const FOREIGN_VARIABLES: ReadonlySet<string> = new Set([
  ...['IPID_API_KEY', 'IPID_MEMORY', 'REDIS_MEMORY', 'CLICKHOUSE_MEMORY'],
  ...['CLICKHOUSE_USER', 'CLICKHOUSE_DB', 'REDISCLI_AUTH'],
])

/** Names of all variables that settings are read from, also those with the path of a file. */
export function variablesOf(settings: readonly Setting<unknown>[]): string[] {
  return settings.flatMap((setting) => [setting.env, ...(setting.holdsSecret ? [fileVariableOf(setting)] : [])])
}

/**
 * Finds variables that look like settings but are not, so that nothing reads them. Shows names only.
 * @param settings names of the variables that ipid reads: see `variablesOf`
 */
export function misspelt(env: Environment, settings: readonly string[]): Finding[] {
  const { problem, risk } = findingsOf('setting-names')
  const known = new Set(settings)
  const names = Object.keys(env).filter(
    (name) => (env[name] ?? '') !== '' && !known.has(name) && !FOREIGN_VARIABLES.has(name),
  )
  return names.sort().flatMap((name) => {
    const meant = isUnreadFile(name, settings) ? undefined : settings.find((setting) => isSlipOf(name, setting))
    if (meant !== undefined) {
      const seen = `${name} is set, which is no setting; ${meant} is one`
      if ((env[meant] ?? '') !== '') return [risk(seen, `ipid ignores it, and takes ${meant}.`, `unset ${name}`)]
      return [
        problem(seen, `ipid ignores it and uses the default of ${meant}.`, `rename it to ${meant}, or unset ${name}`),
      ]
    }
    if (!isUnreadFile(name, settings) && (!OWN_WORDS.test(name) || SERVICE_VARIABLE.test(name))) return []
    const seen = `${name} is set, which is no setting of ipid`
    const remedy = `${remedyFor(name)}; it does no harm if another program reads it`
    return [risk(seen, 'ipid ignores it.', remedy)]
  })
}

/** Variables for files that the AWS SDK reads. */
const AWS_FILES: ReadonlySet<string> = new Set([
  ...['AWS_SHARED_CREDENTIALS_FILE', 'AWS_CONFIG_FILE', 'AWS_WEB_IDENTITY_TOKEN_FILE'],
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
])

/** Whether a variable looks like the file of a setting or of a credential, and nothing reads it. */
function isUnreadFile(name: string, settings: readonly string[]): boolean {
  if (!name.endsWith('_FILE') || AWS_FILES.has(name)) return false
  return name.startsWith('AWS_') || settings.includes(name.slice(0, -'_FILE'.length))
}

/** Settings that users of other programs look for. */
function remedyFor(name: string): string {
  const [, store, file = ''] =
    /^(REDIS|CLICKHOUSE|SMTP)_(?:HOST|ADDRESS|USER|USERNAME|PASS|PASSWORD|DB|DATABASE)(_FILE)?$/.exec(name) ?? []
  if (store !== undefined)
    return `put it into ${store}_URL${file && `, or the whole address into the file of ${store}_URL_FILE`}`
  if (/^AWS_.*_FILE$/.test(name)) return 'name a file of credentials with AWS_SHARED_CREDENTIALS_FILE'
  if (name.endsWith('_FILE') && !OWN_WORDS.test(name)) return `set ${name.slice(0, -'_FILE'.length)} itself`
  return `unset ${name}; "./ipid start --help" lists the settings`
}

function isSlipOf(name: string, setting: string): boolean {
  const [one, other] = [name, setting].map((text) => text.toUpperCase().replaceAll('_', '')) as [string, string]
  if (one === other) return true
  const most = SLIPS.find(({ length }) => other.length >= length)?.letters ?? 0
  return Math.abs(one.length - other.length) <= most && distance(one, other) <= most
}

/** Letters to insert, remove, replace, or swap with their neighbour, to make one text of the other. */
function distance(one: string, other: string): number {
  let [before, row]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, i) => i)]
  for (let i = 1; i <= one.length; i++) {
    const next = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      const best = Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (isSame ? 0 : 1))
      const isSwap = i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      next.push(isSwap ? Math.min(best, before[j - 2]! + 1) : best)
    }
    ;[before, row] = [row, next]
  }
  return row[other.length]!
}
