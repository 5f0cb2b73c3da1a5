import { Type } from 'typebox'
import { JSON_TYPE } from '../../engine/response.ts'
import { type FixedContent, fixedContent, sendFixed } from '../../route/fixed-content.ts'
import type { Route } from '../../route/route.ts'

/** `GET /openapi.json`. @param build makes the document; called once, at the first request */
export function openapiRoute(build: () => unknown): Route {
  let content: Promise<FixedContent> | undefined
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
    async handle({ request }) {
      content ??= fixedContent(JSON_TYPE, Buffer.from(JSON.stringify(build())))
      return sendFixed(await content, request)
    },
  }
}
