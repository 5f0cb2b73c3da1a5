import { API_ERRORS, ErrorBody } from '../../../schemas/api/error.ts'
import { KEY_START, TEST_KEY_START } from '../../../schemas/key-text.ts'
import type { ErrorStatus } from '../engine/http-error.ts'
import { NDJSON_TYPE } from '../engine/response.ts'
import { ERROR_MEANINGS } from '../route/errors.ts'
import type { Content, Operation, OperationResponse } from '../route/operation.ts'
import type { Route } from '../route/route.ts'
import { Components } from './openapi-components.ts'
import { WEBHOOKS, type Webhook } from './webhooks.ts'

/** The documents: `api` has the product's own paths, `tools` those of sources. */
export type DocumentPart = 'api' | 'tools'

/** Builds an OpenAPI 3.1 document of the routes from the schemas that validate requests. */
export function buildOpenApi(routes: readonly Route[], part: DocumentPart = 'api'): Record<string, unknown> {
  const components = new Components({ headers: HEADERS, responses: ERROR_RESPONSES, schemas: { Error: ErrorBody } })
  const paths: Record<string, Record<string, unknown>> = {}
  const tags = new Map<string, string>()
  for (const route of routes) {
    if (!route.operation || partOf(route) !== part) continue
    const path = route.path.replace(/:(\w+)/g, '{$1}')
    const tag = part === 'api' ? tagOf(route) : toolOf(route, route.operation)
    tags.set(tag.name, tag.description)
    paths[path] ??= {}
    paths[path][route.method.toLowerCase()] = operationObject(route, route.operation, tag.name, components)
  }
  const hooks = part === 'api' && { webhooks: webhooksObject(components) }
  return {
    openapi: '3.1.0',
    info: { ...INFO[part], version: '1' },
    // An instance does not know the names under which people reach it.
    servers: [{ url: '/', description: 'The server of this document' }],
    tags: sorted(part, tags),
    paths,
    ...hooks,
    components: { securitySchemes: SECURITY[part], ...components.used({ paths, ...hooks }) },
  }
}

const INFO = {
  api: {
    title: 'ipid',
    summary: 'Finds the organisation behind an IP address, and turns visitor events into accounts',
    description:
      'Bodies are UTF-8 JSON with any content-type; content-encoding gzip is supported, and limits hold for the decoded size. ' +
      'Times in answers are RFC 3339 in UTC, lists continue with `cursor`, and every error has a `code`. ' +
      'A path without an operation here is answered 404; those that other tools send to, with the key of a source, are in ' +
      '[a document of their own](/docs/openapi-tools.json). ' +
      'A request that is not HTTP/1.1 is answered 400, 431 (header too large) or 505, or its connection is closed. ' +
      'Unless the operator turned them off, answers hold data of RouteViews (https://www.routeviews.org), NRO ' +
      '(https://www.nro.net) and IP Geolocation by DB-IP (https://db-ip.com), CC BY 4.0: a page that shows them must credit them.',
  },
  tools: {
    title: 'ipid: paths of other tools',
    summary: 'Paths that the libraries of other tools send events to, with the key of a source',
    description:
      'Each tool defines its own requests and answers, and its libraries send and read them. `./ipid source create` makes a key and ' +
      'prints what to paste. Programs of your own use [the API](/openapi.json).',
  },
}

const SECURITY = {
  api: {
    apiKey: {
      type: 'apiKey',
      in: 'header',
      name: 'X-API-Key',
      description:
        `${KEY_START} and 64 hexadecimal characters. A test key begins with ${TEST_KEY_START}: it takes /v1/ingest, /v1/lookup and /v1/bulk with mode=sync, is ` +
        'answered like any other, with the header ipid-test: true, and nothing that comes with it is stored',
    },
  },
  tools: {
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
}

/** Whether a path belongs to the protocol of a tool. Its keys are those of sources. */
function partOf(route: Route): DocumentPart {
  const isOfSource = route.access === 'key' && route.sourceKind !== undefined
  return isOfSource || /^\/(?:s|\.well-known)\//.test(route.path) ? 'tools' : 'api'
}

interface Tag {
  readonly name: string
  readonly description: string
}

/** The groups of operations, in the order that pages show them. */
const TAGS: readonly (Tag & { readonly paths: RegExp })[] = [
  {
    name: 'Events',
    description: 'Send events as they happen, and see their fate',
    paths: /^\/v1\/(?:ingest$|events\b)/,
  },
  {
    name: 'Jobs',
    description: 'Send up to a million events in a file, and follow the job',
    paths: /^\/v1\/ingest\/batch\b/,
  },
  {
    name: 'Lookups',
    description: 'The known attributes of an address. Nothing is stored',
    paths: /^\/v1\/(?:lookup|bulk)\b/,
  },
  { name: 'Companies', description: 'The companies that were seen', paths: /^\/v1\/(?:companies|unknown-networks)\b/ },
  { name: 'Service', description: 'Health, and this document', paths: /^\/(?:healthz|readyz|openapi\.json)$/ },
  { name: 'Others', description: 'Paths of sources with an API key', paths: /^/ },
]
const HOOKS: Tag = { name: 'Webhooks', description: 'Messages to the destinations of alerts' }

function tagOf({ path }: Route): Tag {
  return TAGS.find(({ paths }) => paths.test(path))!
}

/** The tool is the beginning of the summary, see `sourceOperation`. */
function toolOf({ path }: Route, { summary }: Operation): Tag {
  const name = summary.split(': ', 1)[0]!
  const [, base = ''] = /^(\/s\/\w+)/.exec(path) ?? []
  return { name, description: base === '' ? `Paths of ${name}` : `Paths below \`${base}\`` }
}

function sorted(part: DocumentPart, used: ReadonlyMap<string, string>): Tag[] {
  if (part === 'tools') return [...used].map(([name, description]) => ({ name, description }))
  const own = TAGS.filter(({ name }) => used.has(name)).map(({ name, description }) => ({ name, description }))
  return [...own, HOOKS]
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

const ERROR_RESPONSES = Object.fromEntries(
  Object.entries(ERROR_MEANINGS).map(([status, meaning]) => [`Error${status}`, errorResponse(status, meaning)]),
)

function operationObject(
  route: Route,
  operation: Operation,
  tag: string,
  components: Components,
): Record<string, unknown> {
  const keyed = route.access === 'key'
  const responses = Object.entries(operation.responses).map(([status, response]) => [
    status,
    responseObject(response, keyed, status === '204', components),
  ])
  const errors = [...new Set([...commonErrors(route), ...operation.errors])]
    .sort()
    .map((status) => [status, route.refuse ? ownError(status) : { $ref: `#/components/responses/Error${status}` }])
  return {
    operationId: operation.id,
    tags: [tag],
    summary: operation.summary,
    description: operation.description ?? `${operation.summary}.`,
    security: securityOf(route),
    parameters: operation.parameters?.map((parameter) => ({
      ...parameter,
      schema: components.schema(parameter.schema),
    })),
    requestBody: operation.body && {
      required: !operation.body.optional,
      content: contentObject(operation.body, components),
    },
    responses: Object.fromEntries([...responses, ...errors]),
  }
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

function responseObject(
  response: OperationResponse,
  keyed: boolean,
  isBare: boolean,
  components: Components,
): Record<string, unknown> {
  const own = Object.entries(response.headers ?? {}).map(([name, about]) => [name, header(about, 'string')])
  return {
    description: response.description,
    headers: { ...headerRefs(['X-Request-Id', ...(keyed ? RATE_HEADERS : [])]), ...Object.fromEntries(own) },
    ...(!isBare && { content: contentObject(response, components) }),
  }
}

function contentObject(content: Content & { readonly also?: Content }, components: Components) {
  return { ...mediaType(content, components), ...(content.also && mediaType(content.also, components)) }
}

function mediaType({ type = 'application/json', schema, example }: Content, components: Components) {
  if (type !== NDJSON_TYPE) return { [type]: { schema: components.schema(schema), example } }
  const lines = {
    type: 'string',
    description: 'Lines of JSON, each as in `contentSchema`',
    contentMediaType: NDJSON_TYPE,
    contentSchema: components.schema(schema),
  }
  return { [type]: { schema: lines, ...(example !== undefined && { example: `${JSON.stringify(example)}\n` }) } }
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

function webhooksObject(components: Components): Record<string, unknown> {
  return Object.fromEntries(WEBHOOKS.map((hook) => [hook.type, { post: webhookObject(hook, components) }]))
}

const SIGNED: readonly (readonly [name: string, description: string, schema: object])[] = [
  ['webhook-id', 'The same in each attempt: drop an id that you have seen', { type: 'string' }],
  ['webhook-timestamp', 'When this attempt was sent, seconds since 1970', { type: 'integer' }],
  [
    'webhook-signature',
    '`v1,` and base64 of the HMAC-SHA-256 of `ID.TIMESTAMP.BODY`, with the secret of the alert: see https://www.standardwebhooks.com',
    { type: 'string' },
  ],
]

function webhookObject({ type, summary, description, schema, example }: Webhook, components: Components) {
  return {
    operationId: `on_${type.replace(/\W/g, '_')}`,
    tags: [HOOKS.name],
    summary,
    description,
    security: [],
    parameters: SIGNED.map(([name, about, of]) => ({
      ...{ name, in: 'header', required: true, description: about, schema: of },
    })),
    requestBody: { required: true, content: mediaType({ schema, example }, components) },
    responses: {
      '2XX': { description: 'Received. The answer must come within 15 seconds' },
      410: { description: 'No longer wanted: the alert is paused' },
      429: { description: 'Tried again later, after the seconds of retry-after' },
      default: { description: 'Tried again: after 5 s, 5 min, 30 min, 2, 5, 10, 14, 20 and 24 hours' },
    },
  }
}
