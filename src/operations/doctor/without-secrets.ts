import type { Environment } from '../../config/config.ts'
import type { Finding } from './finding.ts'

/** Variables with a secret as their whole value. */
const SECRET = /(?:SECRET|PASSWORD|TOKEN|_KEY)(?:$|_)/
/** Shorter ones are found in innocent words. */
const LENGTH_MIN = 4

/**
 * Secrets of the environment, and passwords of addresses, as they are written and decoded.
 * @param urls addresses of stores
 */
export function secretsOf(env: Environment, urls: readonly (string | undefined)[]): string[] {
  const values = Object.entries(env).flatMap(([name, value = '']) => [
    ...(SECRET.test(name) ? [value] : []),
    ...secretsIn(value),
  ])
  return [...values, ...urls.flatMap((url = '') => secretsIn(url))]
}

/**
 * Removes secrets of the environment and of addresses from a finding. The checks name none, but errors of libraries and servers are
 * part of their text.
 * @param urls addresses of stores
 */
export function secretRemover(env: Environment, urls: readonly (string | undefined)[]): (finding: Finding) => Finding {
  const secrets = secretsOf(env, urls)
  const long = [...new Set(secrets)].filter(({ length }) => length >= LENGTH_MIN).sort((a, b) => b.length - a.length)
  const clean = (text: string) => long.reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
  return ({ seen, why, remedy, ...finding }) => ({
    ...finding,
    seen: clean(seen),
    ...(why !== undefined && { why }),
    ...(remedy !== undefined && { remedy: clean(remedy) }),
  })
}

/** Passwords of a URL, as they are written and decoded. */
function secretsIn(url: string): string[] {
  const found = [
    /:\/\/[^:/@\s]*:(\S+)@/.exec(url)?.[1],
    ...[...url.matchAll(/[?&]\w*password=([^&\s]+)/gi)].map(([, text]) => text),
  ]
  return found.flatMap((text) => (text === undefined ? [] : [text, decoded(text)]))
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
