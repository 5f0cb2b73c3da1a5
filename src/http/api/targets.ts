import type { Exchange } from '../engine/exchange.ts'
import { HttpError } from '../engine/http-error.ts'
import type { HttpResponse } from '../engine/response.ts'
import type { Target } from '../engine/server.ts'
import { explainAs } from '../route/errors.ts'
import type { OpenRoute, Route } from '../route/route.ts'

type Respond = (route: Route, exchange: Exchange) => HttpResponse | Promise<HttpResponse>

/** The routes, a 405 answer for other methods on their paths, and a 404 answer for all other paths. */
export function targetsOf(routes: readonly Route[], respond: Respond): Target[] {
  const endpointOf = (route: Route) => {
    const { path, bodyMaxBytes, streamsBody, detectsGzip, beginsTogether, keepsPeer, refuse } = route
    return {
      path,
      bodyMaxBytes,
      streamsBody,
      detectsGzip,
      beginsTogether,
      keepsPeer,
      explain: refuse && explainAs(refuse),
      respond: (exchange: Exchange) => respond(route, exchange),
    }
  }
  const targets: Target[] = []
  const add = (path: string, route: Route, ...methods: Target['method'][]) => {
    const endpoint = endpointOf(route)
    for (const method of methods) targets.push({ method, path, endpoint })
  }
  for (const path of new Set(routes.map((route) => route.path))) {
    const get = routes.find((route) => route.path === path && route.method === 'GET')
    const post = routes.find((route) => route.path === path && route.method === 'POST')
    const allow = [...(get ? ['GET', 'HEAD'] : []), ...(post ? ['POST'] : []), 'OPTIONS'].join(', ')
    if (get) add(path, get, 'GET', 'HEAD')
    if (post) add(path, post, 'POST')
    const refuse = (post ?? get)?.refuse
    const cors = (post ?? get)?.cors ?? false
    const options = openRoute(path, ({ request: { head } }) => {
      const headers = { allow, ...(cors && preflightHeaders(allow, head.corsHeaders)) }
      return { status: 204, body: '', headers }
    })
    add(path, { ...options, refuse, cors }, 'OPTIONS')
    const refuseMethod = openRoute(path, () => {
      throw new HttpError(405, `this path takes ${allow}`, { headers: { allow } })
    })
    const wrongMethod = { ...refuseMethod, refuse, cors }
    add(path, wrongMethod, ...(get ? [] : ['HEAD' as const]), 'any')
  }
  const notFound = openRoute('(none)', () => {
    throw new HttpError(404, 'this path does not exist')
  })
  add('/*', notFound, 'HEAD', 'any')
  return targets
}

/** Allows any header for a day: libraries send headers of their own, and only those of a key mean anything here. */
function preflightHeaders(methods: string, asked: string): Record<string, string> {
  return {
    'access-control-allow-methods': methods,
    ...(asked !== '' && { 'access-control-allow-headers': asked, vary: 'access-control-request-headers' }),
    'access-control-max-age': '86400',
  }
}

function openRoute(path: string, handle: OpenRoute['handle']): OpenRoute {
  return { method: 'GET', path, access: 'open', handle }
}
