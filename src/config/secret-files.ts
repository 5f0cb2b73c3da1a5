import { readFileSync, statSync } from 'node:fs'
import { InputError } from '../run/errors.ts'
import type { Setting } from './setting.ts'

/** More than any secret has. */
const FILE_MAX_BYTES = 65_536

/** The variable with the path of the file that holds a secret, as images of databases for Docker name it. */
export const fileVariableOf = ({ env }: Pick<Setting<unknown>, 'env'>): string => `${env}_FILE`

/**
 * The variable of a setting, or the contents of the file that `NAME_FILE` names, as Docker, Kubernetes and systemd mount secrets. The line
 * break at the end of the file does not count. Undefined when neither is set.
 * @throws InputError that names the variable and the file, and nothing of its contents
 */
export function variableOrFile(
  setting: Setting<unknown>,
  env: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const value = env[setting.env] || undefined
  const variable = fileVariableOf(setting)
  const path = setting.holdsSecret ? env[variable] || undefined : undefined
  if (path === undefined) return value
  if (value !== undefined) throw new InputError(`${setting.env} and ${variable} are both set: give one of them`)
  const wrong = (reason: string) => new InputError(`${variable} ${JSON.stringify(path)}: ${reason}`)
  try {
    const found = statSync(path)
    if (!found.isFile()) throw wrong('must be a file')
    if (found.size > FILE_MAX_BYTES) throw wrong(`has ${found.size} bytes, and a secret at most ${FILE_MAX_BYTES}`)
    const text = readFileSync(path, 'utf8').replace(/\r?\n$/, '')
    if (text === '') throw wrong('the file is empty')
    return text
  } catch (error) {
    if (error instanceof InputError) throw error
    throw wrong(`cannot be read: ${(error as NodeJS.ErrnoException).code ?? (error as Error).message}`)
  }
}
