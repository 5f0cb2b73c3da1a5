import type { TSchema } from 'typebox'
import { API_ERRORS, ErrorBody } from '../../../schemas/api/error.ts'
import type { ErrorStatus } from '../engine/http-error.ts'
import { ERROR_MEANINGS } from '../route/errors.ts'
import type { Content, Operation, OperationResponse } from '../route/operation.ts'
import type { Route } from '../route/route.ts'

/** Builds the OpenAPI 3.1 document of the routes from the schemas that validate requests. */
export function buildOpenApi(routes: readonly Route[]): Record<string, unknown> {
  const paths: Record<string, Record<string, unknown>> = {}
  for (const route of routes) {
    if (!route.operation) continue
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operationObject(route, route.operation)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'ipid',
      version: '1',
      description:
        'Finds the organisation behind an IP address and turns visitor events into accounts. Bodies are UTF-8 JSON with ' +
        'any content-type; content-encoding gzip is supported, and limits hold for the decoded size. ' +
        'Any other path is answered 404. A request that is not HTTP/1.1 is answered 400, 431 (header too large) or 505, ' +
        'or its connection is closed. ' +
        'Unless the operator turned them off, answers hold data of RouteViews (https://www.routeviews.org), NRO ' +
        '(https://www.nro.net) and IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0: a page that shows them must credit them.',
    },
    tags: TAGS.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description:
            'ipid_ and 64 hexadecimal characters. A test key begins with ipid_test_: it takes /v1/ingest, /v1/lookup and /v1/bulk (mode=sync), is answered like any other, with the header ipid-test: true, and nothing that comes with it is stored',
        },
        sourceKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-Source-Key',
          description:
            'A server key, src_ and 40 hexadecimal characters, or a browser key, pub_ and 40 hexadecimal characters',
        },
        sourceKeyAsUser: { type: 'http', scheme: 'basic', description: 'A source key as user' },
        sourceKeyAsToken: { type: 'http', scheme: 'bearer', description: 'A source key' },
      },
      schemas: { Error: publicSchema(ErrorBody) },
      headers: HEADERS,
      responses: Object.fromEntries(
        Object.entries(ERROR_MEANINGS).map(([status, meaning]) => [`Error${status}`, errorResponse(status, meaning)]),
      ),
    },
  }
}

const HEADERS = {
  'X-Request-Id': header("The caller's, if it sent one of 1 to 128 printable characters", 'string'),
  'RateLimit-Policy': header(
    'Requests that are allowed in w seconds: the burst, and the time in which an empty bucket fills. 500;w=5 is 100 a second',
    'string',
  ),
  'RateLimit-Limit': header("Size of the tenant's token bucket: its burst", 'integer'),
  'RateLimit-Remaining': header('Tokens left', 'integer'),
  'RateLimit-Reset': header('Seconds until the bucket is full again', 'integer'),
  'Retry-After': header('Seconds to wait before the next try', 'integer'),
  Allow: header('The methods that the path has', 'string'),
}
type HeaderName = keyof typeof HEADERS

const RATE_HEADERS: readonly HeaderName[] = [
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
]

function header(description: string, type: string) {
  return { description, schema: { type } }
}

function headerRefs(names: readonly HeaderName[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function operationObject(route: Route, operation: Operation): Record<string, unknown> {
  const keyed = route.access === 'key'
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    responseObject(response, keyed, status === '204'),
  ])
  const errors = [...new Set([...commonErrors(route), ...operation.errors])]
    .sort()
    .map((status) => [status, route.refuse ? ownError(status) : { $ref: `#/components/responses/Error${status}` }])
  return {
    operationId: operation.id,
    tags: [tagOf(route)],
    summary: operation.summary,
    description: operation.description,
    security: securityOf(route),
    parameters: operation.parameters?.map((parameter) => ({ ...parameter, schema: publicSchema(parameter.schema) })),
    requestBody: operation.body && { required: !operation.body.optional, content: bodyContent(operation.body) },
    responses: Object.fromEntries([...responses, ...errors]),
  }
}

/** The groups of operations, in the order that pages show them. */
const TAGS = [
  { name: 'Events', description: 'Send events, and see their fate', paths: /^\/v1\/(?:ingest|events)\b/ },
  { name: 'Lookups', description: 'What is known of an address', paths: /^\/v1\/(?:lookup|bulk)\b/ },
  { name: 'Companies', description: 'The companies that were seen', paths: /^\/v1\/companies\b/ },
  { name: 'Service', description: 'Health, and this document', paths: /^\/(?:healthz|readyz|openapi\.json)$/ },
  { name: 'Sources', description: "Paths that other tools send to, with a source's key", paths: /^/ },
] as const

function tagOf({ path }: Route): string {
  return TAGS.find(({ paths }) => paths.test(path))!.name
}

/** Any one of the schemes. A source key in the path is a parameter; the tools' own places in bodies and queries are not listed. */
function securityOf(route: Route): Record<string, []>[] {
  if (route.access === 'open') return []
  if (route.sourceKind === undefined) return route.keyOf === undefined ? [{ apiKey: [] }] : []
  return route.path.includes(':') ? [] : [{ sourceKey: [] }, { sourceKeyAsUser: [] }, { sourceKeyAsToken: [] }]
}

/** Errors that any route of a kind may answer: see the order of checks in schemas/README.md. */
function commonErrors({ access, bodyMaxBytes }: Route): ErrorStatus[] {
  return [
    ...([400, 405, 429, 500] as const),
    ...(access === 'key' ? ([401] as const) : []),
    ...(bodyMaxBytes === undefined ? [] : ([408, 413, 415] as const)),
  ]
}

function responseObject(response: OperationResponse, keyed: boolean, isBare: boolean): Record<string, unknown> {
  const own = Object.entries(response.headers ?? {}).map(([name, about]) => [name, header(about, 'string')])
  return {
    description: response.description,
    headers: { ...headerRefs(['X-Request-Id', ...(keyed ? RATE_HEADERS : [])]), ...Object.fromEntries(own) },
    ...(!isBare && { content: { ...contentObject(response), ...(response.also && contentObject(response.also)) } }),
  }
}

function bodyContent(body: NonNullable<Operation['body']>): Record<string, unknown> {
  return { ...contentObject(body), ...(body.also && contentObject(body.also)) }
}

function contentObject({ type, schema, example }: Content): Record<string, unknown> {
  return { [type ?? 'application/json']: { schema: publicSchema(schema), example } }
}

function errorResponse(status: string, meaning: string): Record<string, unknown> {
  const extra: HeaderName[] =
    status === '405' ? ['Allow'] : ['429', '500', '503'].includes(status) ? ['Retry-After'] : []
  const causes = Object.entries(API_ERRORS).filter(([, [of]]) => String(of) === status)
  const code = causes[0]?.[0]
  const example =
    status === '422'
      ? {
          detail: 'events[3].ip is required',
          code,
          errors: [{ path: 'events[3].ip', message: 'is required' }],
        }
      : { detail: meaning, code }
  return {
    description: [`${meaning}.`, ...causes.map(([name, [, about]]) => `- \`${name}\`: ${about}`)].join('\n'),
    headers: headerRefs(['X-Request-Id', ...extra]),
    content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' }, example } },
  }
}

/** An error in the form of a tool, whose libraries read no other. */
function ownError(status: ErrorStatus): Record<string, unknown> {
  const description = `${ERROR_MEANINGS[status]}. In the form of the tool`
  return { description, headers: headerRefs(['X-Request-Id']), content: { '*/*': {} } }
}

/** Our own formats under the names that tools know. */
const PUBLIC_FORMATS: Readonly<Record<string, string>> = { rfc3339: 'date-time' }

function publicSchema(schema: TSchema): unknown {
  return JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === 'format' && typeof value === 'string' && value in PUBLIC_FORMATS ? PUBLIC_FORMATS[value] : value,
  )
}
