import type { Config, Environment } from '../../config/config.ts'
import { variableOrFile } from '../../config/secret-files.ts'
import type { Setting } from '../../config/setting.ts'
import { SETTINGS, type SettingName } from '../../config/settings.ts'
import type { Finding } from './finding.ts'

/** Variables with a secret as their whole value. */
const SECRET = /(?:SECRET|PASSWORD|TOKEN|_KEY)(?:$|_)/
/** Shorter ones are found in innocent words. */
const LENGTH_MIN = 4

/**
 * Texts that hold secrets: values of settings, wherever they come from. A value that its setting refuses counts too.
 * @param read all values that were read, by the variables of their settings
 */
export function secretTextsOf(
  settings: readonly Setting<unknown>[],
  env: Environment,
  read: Readonly<Record<string, unknown>>,
): { readonly whole: readonly string[]; readonly urls: readonly string[] } {
  const ofSetting = (setting: Setting<unknown>) => [read[setting.env], rawOf(setting, env)].flat().filter(isText)
  const secret = settings.filter(({ holdsSecret }) => holdsSecret)
  return {
    whole: secret.filter(({ isSecret }) => isSecret).flatMap(ofSetting),
    urls: secret.flatMap(ofSetting),
  }
}

const isText = (value: unknown): value is string => typeof value === 'string'

function rawOf(setting: Setting<unknown>, env: Environment): string | undefined {
  try {
    return variableOrFile(setting, env)
  } catch {
    return undefined
  }
}

/** The values of a configuration, by the variables of their settings. */
export function valuesByVariable(config: Config): Readonly<Record<string, unknown>> {
  const own = Object.entries(SETTINGS).map(([name, { env }]) => [env, config[name as SettingName]])
  return { ...Object.fromEntries(own), ...config.own }
}

/** Secrets of the environment and of addresses, as they are written and decoded, and `whole`. As for `secretRemover`. */
export function secretsOf(
  env: Environment,
  urls: readonly (string | undefined)[],
  whole: readonly string[] = [],
): string[] {
  const values = Object.entries(env).flatMap(([name, value = '']) => [
    ...(SECRET.test(name) ? [value] : []),
    ...secretsIn(value),
  ])
  return [...whole, ...values, ...urls.flatMap((url = '') => secretsIn(url))]
}

/**
 * Removes secrets of the environment and of addresses from a finding. The checks name none, but errors of libraries and servers are
 * part of their text.
 * @param urls addresses, of which passwords are removed
 * @param whole texts that are secret from the first to the last character
 */
export function secretRemover(
  env: Environment,
  urls: readonly (string | undefined)[],
  whole: readonly string[] = [],
): (finding: Finding) => Finding {
  const secrets = secretsOf(env, urls, whole)
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
