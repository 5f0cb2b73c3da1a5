/** Variables of a process. */
export type Variables = Readonly<Record<string, string | undefined>>

/** Where programs are, and how times and texts are written. */
const KEPT = ['PATH', 'LANG', 'LC_ALL', 'TZ']

/** What a store's process gets of our environment: other variables may be secrets, and the process must not be able to give them away. */
export function minimalEnvironment(env: Variables, alsoKept: readonly string[] = []): Record<string, string> {
  const kept: Record<string, string> = {}
  for (const name of [...KEPT, ...alsoKept]) {
    const value = env[name]
    if (value !== undefined) kept[name] = value
  }
  return kept
}
