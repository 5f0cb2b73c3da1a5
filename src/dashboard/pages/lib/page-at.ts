/** What was found at a path. */
export interface Found<T> {
  readonly entry: T
  /** Of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * The entry whose path fits. The router's own way leaves `%3A`, `%2F` and the like encoded, and decodes `%25`, so that nobody
 * can tell any more what was meant.
 * @param pathname as it is in the address bar, encoded
 */
export function pageAt<T extends { readonly path: string }>(
  entries: readonly T[],
  pathname: string,
): Found<T> | undefined {
  const segments = pathname.replace(/(?<=.)\/$/, '').split('/')
  for (const entry of entries) {
    const wanted = entry.path.split('/')
    if (wanted.length !== segments.length) continue
    const parameters: Record<string, string> = {}
    const fits = wanted.every((name, i) => {
      const value = decoded(segments[i]!)
      if (!name.startsWith(':')) return name === value
      if (value === undefined || value === '') return false
      parameters[name.slice(1)] = value
      return true
    })
    if (fits) return { entry, parameters }
  }
  return undefined
}

function decoded(segment: string): string | undefined {
  try {
    return decodeURIComponent(segment)
  } catch {
    return undefined
  }
}
