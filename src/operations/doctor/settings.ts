import type { Environment } from '../../config/config.ts'
import { type Finding, findingsOf } from './finding.ts'
import { misspelt } from './setting-names.ts'

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
