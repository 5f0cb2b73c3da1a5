import { Type } from 'typebox'
import type { Route } from '../../route/route.ts'

/** `GET /openapi.json`. @param build makes the document; called once, at the first request */
export function openapiRoute(build: () => unknown): Route {
  let body: string | undefined
  return {
    method: 'GET',
    path: '/openapi.json',
    access: 'open',
    operation: {
      id: 'openapi',
      summary: 'This document',
      responses: { 200: { description: 'An OpenAPI 3.1 document', schema: Type.Object({}) } },
      errors: [],
    },
    handle() {
      body ??= JSON.stringify(build())
      return { status: 200, body }
    },
  }
}
