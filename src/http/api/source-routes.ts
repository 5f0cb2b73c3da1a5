import type { SourceEntry, SourceTools } from '../../pipeline/declaration/source.ts'
import { StartupError } from '../../run/errors.ts'
import type { Route } from '../route/route.ts'

/** The routes of a pipeline's sources, in their order. */
export function openSources(
  sources: readonly SourceEntry[],
  toolsFor: (source: SourceEntry) => SourceTools,
): readonly Route[] {
  return sources.flatMap((source) => {
    const { routes, openRoutes = [] } = source.from
    if (routes.length + openRoutes.length === 0) return []
    const tools = toolsFor(source)
    return [
      ...routes.map(({ open, ...facts }) => ({ ...facts, access: 'key' as const, handle: open(tools) })),
      ...openRoutes.map(({ open, ...facts }) => ({ ...facts, access: 'open' as const, handle: open(tools.settings) })),
    ]
  })
}

/**
 * Asserts that no source has the route of an operation of the API.
 * @throws StartupError with method and path
 */
export function assertRoutesApart(sources: readonly Route[], own: readonly Route[]): void {
  const taken = new Set(own.map(conflictKeyOf))
  const conflict = sources.find((route) => taken.has(conflictKeyOf(route)))
  if (conflict === undefined) return
  throw new StartupError(
    `a source of the pipeline has the route ${conflict.method} ${conflict.path}, which the API already has`,
  )
}

/** Two paths that differ only in the names of their parameters conflict. */
function conflictKeyOf({ method, path }: Route): string {
  return `${method} ${path.replace(/:\w+/g, ':')}`
}
