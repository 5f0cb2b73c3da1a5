import type { Environment } from '../../config/config.ts'
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

/** Leaves out other checks' findings about a wrong setting: they judged its default. */
export function withoutDefaultsOf(problems: readonly string[], findings: readonly Finding[]): Finding[] {
  const wrong = new Set(problems.map((line) => line.split(/[ :]/)[0]))
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

/**
 * Finds variables that look like settings but are not, so that nothing reads them. Shows names only.
 * @param settings names of the variables that ipid reads
 */
export function misspelt(env: Environment, settings: readonly string[]): Finding[] {
  const { problem, risk } = findingsOf('setting-names')
  const known = new Set(settings)
  const names = Object.keys(env).filter(
    (name) => (env[name] ?? '') !== '' && !known.has(name) && !FOREIGN_VARIABLES.has(name),
  )
  return names.sort().flatMap((name) => {
    const meant = settings.find((setting) => isSlipOf(name, setting))
    if (meant !== undefined) {
      const seen = `${name} is set, which is no setting; ${meant} is one`
      if ((env[meant] ?? '') !== '') return [risk(seen, `ipid ignores it, and takes ${meant}.`, `unset ${name}`)]
      return [
        problem(seen, `ipid ignores it and uses the default of ${meant}.`, `rename it to ${meant}, or unset ${name}`),
      ]
    }
    if (!OWN_WORDS.test(name) || SERVICE_VARIABLE.test(name)) return []
    const seen = `${name} is set, which is no setting of ipid`
    const remedy = `${remedyFor(name)}; it does no harm if another program reads it`
    return [risk(seen, 'ipid ignores it.', remedy)]
  })
}

/** Settings that users of other programs look for. */
function remedyFor(name: string): string {
  const store = /^(REDIS|CLICKHOUSE|SMTP)_(?:HOST|ADDRESS|USER|USERNAME|PASS|PASSWORD|DB|DATABASE)$/.exec(name)?.[1]
  if (store !== undefined) return `put it into ${store}_URL`
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
