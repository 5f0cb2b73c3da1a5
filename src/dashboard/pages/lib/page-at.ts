export interface Found<T> {
  readonly entry: T
  /** Parameters of the path, decoded. */
  readonly parameters: Readonly<Record<string, string>>
}

/**
 * The entry that matches a path. The router cannot be used: it decodes `%25` but leaves `%3A` and `%2F` encoded, which loses
 * information.
 * @param pathname encoded, as in the address bar
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
