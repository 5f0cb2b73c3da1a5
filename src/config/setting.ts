/** The name, reader, default and explanation of one setting. */
export interface Setting<T> {
  /** The environment variable. The flag is the same in lower case with dashes. */
  readonly env: string
  /** Placeholder for the value in help texts. */
  readonly value: string
  /** The text that is read when neither flag nor variable is given; undefined: the setting is then undefined. */
  readonly default: string | undefined
  /** One phrase for users, with the unit. */
  readonly about: string
  /** Throws `InputError` that says what is accepted. */
  readonly read: (text: string) => T
  /** Errors do not show its value. Default: false. */
  readonly isSecret?: boolean
  /** It may hold a secret, so a file may give it: see `variableOrFile`. Default: false. */
  readonly holdsSecret?: boolean
}

/** The same setting, of which errors show nothing: all of it is a secret. */
export function secret<S extends Setting<unknown>>(
  setting: S,
): S & { readonly isSecret: true; readonly holdsSecret: true } {
  return { ...setting, isSecret: true, holdsSecret: true }
}

/** The same setting, which may have a password in it. Errors leave the password out. */
export function withPassword<S extends Setting<unknown>>(setting: S): S & { readonly holdsSecret: true } {
  return { ...setting, holdsSecret: true }
}

/** A setting with a default. */
export function setting<T>(
  env: string,
  value: string,
  fallback: string,
  about: string,
  read: (text: string) => T,
): Setting<T> & { readonly default: string } {
  return { env, value, default: fallback, about, read }
}

/** A setting that stays undefined unless it is given. */
export function optional<T>(
  env: string,
  value: string,
  about: string,
  read: (text: string) => T,
): Setting<T> & { readonly default: undefined } {
  return { env, value, default: undefined, about, read }
}

/** The type of a setting's value. */
export type SettingValue<S> = S extends Setting<infer T> ? (S extends { default: string } ? T : T | undefined) : never

/** Settings that a source or a sink declares for itself, by the names under which it finds their values. */
export type OwnSettings = Readonly<Record<string, Setting<unknown>>>

/** The values of `OwnSettings`, by the same names. */
export type OwnValues<Own extends OwnSettings> = { readonly [Name in keyof Own]: SettingValue<Own[Name]> }

/**
 * The values of settings.
 * @param byVariable every value that was read, by its environment variable
 * @throws Error when one was not read: the configuration was made for another pipeline
 */
export function ownValues<Own extends OwnSettings>(
  settings: Own | undefined,
  byVariable: Readonly<Record<string, unknown>>,
): OwnValues<Own> {
  const values = Object.entries(settings ?? {}).map(([name, { env }]) => {
    if (!Object.hasOwn(byVariable, env)) throw new Error(`the setting ${env} of the pipeline was not read`)
    return [name, byVariable[env]]
  })
  return Object.fromEntries(values) as OwnValues<Own>
}
