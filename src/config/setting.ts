/** How one setting is named, read, defaulted and explained. */
export interface Setting<T> {
  /** The environment variable; the flag is the same in lower case with dashes. */
  readonly env: string
  /** What stands for the value in help texts. */
  readonly value: string
  /** The text that is read when neither flag nor variable is given; undefined: the setting stays undefined. */
  readonly default: string | undefined
  /** One phrase for people, with the unit. */
  readonly about: string
  /** Throws `InputError` that says what is wanted. */
  readonly read: (text: string) => T
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
