import { Type } from 'typebox'
import type { Route } from '../../route/route.ts'

const Health = Type.Object({ status: Type.Literal('ok') }, { title: 'Health' })
const BODY = JSON.stringify({ status: 'ok' })

/** `GET /healthz`: the process is up. */
export function healthzRoute(): Route {
  return {
    method: 'GET',
    path: '/healthz',
    access: 'open',
    operation: {
      id: 'health',
      summary: 'Whether the process is up',
      responses: { 200: { description: 'The process is up', schema: Health, example: { status: 'ok' } } },
      errors: [],
    },
    handle: () => ({ status: 200, body: BODY }),
  }
}
