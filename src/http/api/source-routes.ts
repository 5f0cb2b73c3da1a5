import type { SourceEntry, SourceTools } from '../../pipeline/declaration/source.ts'
import { StartupError } from '../../run/errors.ts'
import type { Route } from '../route/route.ts'

/** The routes by which the sources of a pipeline take events, in their order. */
export function openSources(
  sources: readonly SourceEntry[],
  toolsFor: (source: SourceEntry) => SourceTools,
): readonly Route[] {
  return sources.flatMap((source) => {
    if (source.from.routes.length === 0) return []
    const tools = toolsFor(source)
    return source.from.routes.map(({ open, ...facts }) => ({ ...facts, access: 'key' as const, handle: open(tools) }))
  })
}

/**
 * A source must not take the place of an operation of the API.
 * @throws StartupError that names method and path
 */
export function assertRoutesApart(sources: readonly Route[], own: readonly Route[]): void {
  const places = new Set(own.map(placeOf))
  const taken = sources.find((route) => places.has(placeOf(route)))
  if (taken === undefined) return
  throw new StartupError(
    `a source of the pipeline has the route ${taken.method} ${taken.path}, which the API has already`,
  )
}

/** Parameters of two paths meet, whatever they are called. */
function placeOf({ method, path }: Route): string {
  return `${method} ${path.replace(/:\w+/g, ':')}`
}
