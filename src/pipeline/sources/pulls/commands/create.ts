import type { SourceFacts } from '../../../../../schemas/api-key.ts'
import type { Config } from '../../../../config/config.ts'
import { InputError } from '../../../../run/errors.ts'
import { SecretBox } from '../../../../secrets/secret-box.ts'
import type { StoredSource } from '../../../../tenants/stores.ts'
import type { CliContext } from '../../../../terminal/context.ts'
import { askSecret } from '../../../../terminal/secret.ts'
import type { Pull } from '../../../declaration/pull.ts'

/** Options of `source create` for sources that ipid pulls. */
export interface PullOptions {
  readonly url?: string
  readonly format?: string
  readonly credentials?: string
  readonly region?: string
  readonly endpoint?: string
  readonly every?: string
}

const SETTINGS = ['url', 'format', 'credentials', 'region', 'endpoint'] as const

/** The facts of a new source, besides its kind and name. */
interface NewPull {
  readonly facts: NonNullable<SourceFacts['pull']>
  /** Undefined: it has no secrets. */
  readonly secret: ((id: string) => string) | undefined
}

/**
 * Reads the options, and the secrets from the environment or the terminal.
 * @throws InputError
 */
export async function newPull(pull: Pull, options: PullOptions, config: Config, context: CliContext): Promise<NewPull> {
  const given = SETTINGS.flatMap((name) => (options[name] === undefined ? [] : [[name, options[name]] as const]))
  const foreign = given.find(([name]) => !pull.options.includes(name))
  if (foreign !== undefined) throw new InputError(`--${foreign[0]} is not an option of this kind`)
  const settings = Object.fromEntries(given)
  pull.assertSettings(settings, context.env)
  const everyMs = options.every === undefined ? pull.everyMs : readDuration(options.every)
  const secrets = await readSecrets(pull, settings, context)
  const box = new SecretBox(config)
  return {
    facts: { every_ms: everyMs, settings },
    secret: secrets === undefined ? undefined : (id) => box.seal(JSON.stringify(secrets), id),
  }
}

/** @throws InputError when an option of pulls is given for a source of another kind */
export function assertNoPullOptions(options: PullOptions): void {
  const given = (['format', 'credentials', 'region', 'endpoint', 'every'] as const).find(
    (name) => options[name] !== undefined,
  )
  if (given !== undefined) throw new InputError(`--${given} is not an option of this kind`)
}

/**
 * New secrets of a source, encrypted for it. Reads them from the environment or the terminal.
 * @throws InputError
 */
export async function newSecrets(pull: Pull, source: StoredSource, config: Config, context: CliContext) {
  if (source.revokedAt !== undefined) throw new InputError(`source ${source.prefix} is revoked`)
  const secrets = await readSecrets(pull, source.source.pull?.settings ?? {}, context)
  if (secrets === undefined) throw new InputError(`source ${source.prefix} uses the credentials of the instance`)
  return new SecretBox(config).seal(JSON.stringify(secrets), source.prefix)
}

async function readSecrets(
  pull: Pull,
  settings: Readonly<Record<string, string>>,
  context: CliContext,
): Promise<Record<string, string> | undefined> {
  const wanted = pull.secretsOf(settings)
  if (wanted.length === 0) return undefined
  const secrets: Record<string, string> = {}
  for (const { name, env, title } of wanted) {
    const value = context.env[env] || (title && (await askSecret(`${title}: `, context))) || ''
    if (value !== '') secrets[name] = value
    else if (title !== undefined) throw new InputError(`the ${title} is needed: set ${env}, or answer in a terminal`)
  }
  return secrets
}

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 }
const DAYS_MAX = 31

function readDuration(text: string): number {
  const [, count, unit] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  const ms = count === undefined ? Number.NaN : Number(count) * UNITS_MS[unit!]!
  if (ms >= UNITS_MS.s! && ms <= DAYS_MAX * UNITS_MS.d!) return ms
  throw new InputError(`--every ${JSON.stringify(text)}: must be like 30s, 5m, 1h or 1d, at most ${DAYS_MAX}d`)
}
