import type { Exchange } from '../engine/exchange.ts'
import { HttpError } from '../engine/http-error.ts'
import type { HttpResponse } from '../engine/response.ts'
import type { Target } from '../engine/server.ts'
import type { OpenRoute, Route } from '../route/route.ts'

type Respond = (route: Route, exchange: Exchange) => HttpResponse | Promise<HttpResponse>

/** The routes, what answers their paths to other methods, and what answers all other paths. */
export function targetsOf(routes: readonly Route[], respond: Respond): Target[] {
  const endpointOf = (route: Route) => {
    const { path, bodyMaxBytes, streamsBody, beginsTogether } = route
    return {
      path,
      bodyMaxBytes,
      streamsBody,
      beginsTogether,
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
    add(
      path,
      openRoute(path, () => ({ status: 204, body: '', headers: { allow } })),
      'OPTIONS',
    )
    const wrongMethod = openRoute(path, () => {
      throw new HttpError(405, `this path takes ${allow}`, { headers: { allow } })
    })
    add(path, wrongMethod, ...(get ? [] : ['HEAD' as const]), 'any')
  }
  const notFound = openRoute('(none)', () => {
    throw new HttpError(404, 'there is no such path')
  })
  add('/*', notFound, 'HEAD', 'any')
  return targets
}

function openRoute(path: string, handle: () => HttpResponse): OpenRoute {
  return { method: 'GET', path, access: 'open', handle }
}
