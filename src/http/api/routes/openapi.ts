import { Type } from 'typebox'
import type { Exchange } from '../../engine/exchange.ts'
import { JSON_TYPE } from '../../engine/response.ts'
import { type FixedContent, fixedContent, sendFixed } from '../../route/fixed-content.ts'
import type { Operation } from '../../route/operation.ts'
import type { Route } from '../../route/route.ts'
import type { DocumentPart } from '../openapi.ts'

/**
 * `GET /openapi.json`, and `GET /docs/openapi-tools.json` with the paths of tools.
 * @param build makes a document; called once for each, at the first request
 */
export function openapiRoutes(build: (part: DocumentPart) => unknown): Route[] {
  return [
    { ...documentRoute(() => build('api')), path: '/openapi.json', operation },
    { ...documentRoute(() => build('tools')), path: '/docs/openapi-tools.json' },
  ]
}

function documentRoute(build: () => unknown) {
  let content: Promise<FixedContent> | undefined
  return {
    method: 'GET' as const,
    access: 'open' as const,
    async handle({ request }: Exchange) {
      content ??= fixedContent(JSON_TYPE, Buffer.from(JSON.stringify(build())))
      return sendFixed(await content, request)
    },
  }
}

const operation: Operation = {
  id: 'openapi',
  summary: 'This document',
  responses: { 200: { description: 'An OpenAPI 3.1 document', schema: Type.Object({}) } },
  errors: [],
}
