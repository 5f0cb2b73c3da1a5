import { PAGE_KIND } from '../key.ts'
import type { StoredSource } from '../stores.ts'

/**
 * Ids of the sources for pages from before there were browser keys. Rows of their events do not say that the key is in public
 * pages (column `browser_key`).
 */
export function unmarkedPageSources(sources: readonly StoredSource[]): string[] {
  return sources
    .filter(({ source }) => source.kind === PAGE_KIND && source.browser_key === undefined)
    .map(({ prefix }) => prefix)
}
