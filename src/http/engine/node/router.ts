import type { EngineRoute } from '../engine.ts'

/** A route with its parameters. */
export interface Found {
  readonly route: EngineRoute
  /** As in `ArrivedRequest`. */
  readonly parameters: readonly string[]
  readonly query: string
}

/** Finds the route of a request by its method and target (RFC 9112 section 3.2). */
export type FindRoute = (method: string, target: string) => Found | undefined

interface Pattern {
  readonly route: EngineRoute
  readonly segments: readonly string[]
}

/** A route that names the method wins over one for `any`, a path over a pattern, a pattern over `/*`. */
export function createRouter(routes: readonly EngineRoute[]): FindRoute {
  const paths = new Map<string, EngineRoute>()
  const patterns: Pattern[] = []
  const rest = new Map<string, EngineRoute>()
  for (const route of routes) {
    const { method, path } = route
    if (path === '/*') rest.set(method, route)
    else if (path.includes(':')) patterns.push({ route, segments: path.split('/') })
    else paths.set(`${method} ${path}`, route)
  }
  const findPath = (method: string, path: string, query: string): Found | undefined => {
    const route = paths.get(`${method} ${path}`)
    return route === undefined ? findPattern(patterns, method, path, query) : { route, parameters: [], query }
  }
  return (method, target) => {
    const { path, query } = split(target)
    const found = findPath(method, path, query) ?? findPath('any', path, query)
    if (found !== undefined) return found
    const route = rest.get(method) ?? rest.get('any')
    return route === undefined ? undefined : { route, parameters: [], query }
  }
}

function findPattern(patterns: readonly Pattern[], method: string, path: string, query: string): Found | undefined {
  if (patterns.length === 0) return undefined
  const segments = path.split('/')
  for (const { route, segments: wanted } of patterns) {
    if (route.method !== method || wanted.length !== segments.length) continue
    const parameters = segments.filter((_, i) => wanted[i]!.startsWith(':'))
    const fits = wanted.every((segment, i) => segment === segments[i] || segment.startsWith(':'))
    if (fits && !parameters.includes('')) return { route, parameters, query }
  }
  return undefined
}

/** Servers must accept targets in absolute form, which clients of proxies send. */
const ORIGIN = /^https?:\/\/[^/?]*/i

function split(target: string): { path: string; query: string } {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '')
  const mark = local.indexOf('?')
  return mark < 0 ? { path: local, query: '' } : { path: local.slice(0, mark), query: local.slice(mark + 1) }
}
