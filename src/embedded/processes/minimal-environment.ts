/** Variables of a process. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Search path of programs, and locale. */
const KEPT = ['PATH', 'LANG', 'LC_ALL', 'TZ']

/** The environment of a store's process. It excludes other variables, which may be secrets that the process could leak. */
export function minimalEnvironment(env: Variables, alsoKept: readonly string[] = []): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of [...KEPT, ...alsoKept]) {
    const value = env[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}
