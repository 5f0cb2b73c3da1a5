const KEPT_MS = 12 * 3_600_000
const CHARS_MAX = 4_000

/**
 * Reads a stored address. Accepts only pages of this origin, and only for 12 hours.
 * @param stored value from the storage; null: none
 */
export function returnPathOf(stored: string | null, origin: string, nowMs: number): string | undefined {
  let kept: { readonly path?: unknown; readonly atMs?: unknown } | null
  try {
    kept = JSON.parse(stored ?? 'null')
  } catch {
    return undefined
  }
  const { path, atMs } = kept ?? {}
  if (typeof path !== 'string' || typeof atMs !== 'number' || path.length > CHARS_MAX) return undefined
  if (!(atMs <= nowMs && nowMs - atMs < KEPT_MS) || !path.startsWith('/') || !URL.canParse(path, origin))
    return undefined
  const url = new URL(path, origin)
  // `/.//host` is a path of this origin that a browser would read as another host.
  if (url.origin !== origin || url.pathname.startsWith('//')) return undefined
  return `${url.pathname}${url.search}${url.hash}`
}
