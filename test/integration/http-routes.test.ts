import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ErrorBody } from '../../schemas/api/error.ts'
import { STATUS_LINES } from '../../src/http/engine/response.ts'
import { ERROR_MEANINGS } from '../../src/http/route/errors.ts'
import { API_KEY, fullLimit, RawConnection, startHttp, testSources } from '../support/http.ts'

test('other paths are 404 and other methods 405 with allow, before the key is checked', async (t) => {
  const { url } = await startHttp(t)
  const ask = async (method: string, path: string) => {
    const answer = await fetch(url + path, { method })
    if (method !== 'HEAD') assert.equal(typeof ((await answer.json()) as { detail: string }).detail, 'string')
    assert.ok(answer.headers.get('x-request-id'))
    return [answer.status, answer.headers.get('allow')]
  }
  for (const path of ['/', '/v1', '/v1/ingest/', '/v1/ingest/x', '/v2/ingest', '/V1/INGEST', '/healthz/', '/%2e']) {
    for (const method of ['GET', 'POST', 'DELETE', 'HEAD', 'OPTIONS']) {
      assert.deepEqual(await ask(method, path), [404, null], `${method} ${path}`)
    }
  }
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'HEAD']) {
    assert.deepEqual(await ask(method, '/v1/ingest'), [405, 'POST, OPTIONS'], method)
  }
  for (const method of ['POST', 'PUT', 'DELETE', 'PATCH']) {
    assert.deepEqual(await ask(method, '/healthz'), [405, 'GET, HEAD, OPTIONS'], method)
  }
})

test('a path parameter that is not UTF-8 is 400 on every route', async (t) => {
  const { url } = await startHttp(t)
  const headers = { 'x-api-key': API_KEY }
  for (const [method, path, name] of [
    ['GET', '/v1/ingest/batch/%ff', 'job_id'],
    ['POST', '/v1/ingest/batch/%ff/cancel', 'job_id'],
    ['GET', '/v1/bulk/%zz', 'job_id'],
    ['GET', '/v1/events/%ED%A0%80', 'event_id'],
  ] as const) {
    const answer = await fetch(url + path, { method, headers })
    assert.deepEqual(
      [answer.status, await answer.json()],
      [400, { detail: `${name} is not percent-encoded UTF-8`, code: 'malformed_url' }],
      path,
    )
  }
})

test('each cause has a code of its own, and every code that the API answers is in its document', async (t) => {
  const { url } = await startHttp(t)
  const ask = async (method: string, path: string, body?: string | Uint8Array<ArrayBuffer>, headers = {}) => {
    const answer = await fetch(url + path, {
      ...{ method, headers: { 'x-api-key': API_KEY, ...headers } },
      ...(body !== undefined && { body }),
    })
    const { code } = (await answer.json()) as ErrorBody
    return `${answer.status} ${code}`
  }
  const post = (path: string, body: string | Uint8Array<ArrayBuffer>, headers = {}) => ask('POST', path, body, headers)
  const many = JSON.stringify({ events: Array(101).fill({ ip: '1.1.1.1' }) })
  const found = [
    await post('/v1/ingest', '{"events":['),
    await post('/v1/ingest', new Uint8Array([0x22, 0xff, 0x22])),
    await post('/v1/ingest', ''),
    await post('/v1/ingest', '{"events":[]}'),
    await post('/v1/ingest', '{"events":[{}]}'),
    await post('/v1/ingest', many),
    await post('/v1/ingest', ' '.repeat(1_048_577)),
    await post('/v1/ingest', 'x', { 'content-encoding': 'gzip' }),
    await post('/v1/ingest', 'x', { 'content-encoding': 'br' }),
    await post('/v1/bulk', '{"ips":[]}'),
    await post('/v1/bulk', JSON.stringify({ ips: Array(513).fill('1.1.1.1') })),
    await post('/v1/ingest', '{}', { 'x-api-key': '' }),
    await post('/v1/ingest', '{}', { 'x-api-key': `ipid_${'0'.repeat(64)}` }),
    await ask('GET', '/nowhere'),
    await ask('GET', '/v1/bulk/none'),
    await ask('GET', '/v1/ingest'),
  ]
  assert.deepEqual(found, [
    ...['400 malformed_json', '400 not_utf8', '400 empty_body', '400 no_events', '422 invalid_request'],
    ...['413 too_many_events', '413 body_too_large', '400 broken_encoding', '415 unsupported_encoding'],
    ...['400 no_addresses', '413 too_many_addresses', '401 missing_key', '401 unknown_key'],
    ...['404 unknown_path', '404 unknown_job', '405 method_not_allowed'],
  ])
  const document = await (await fetch(`${url}/openapi.json`)).text()
  for (const code of found) assert.ok(document.includes(`\`${code.slice(4)}\``), code)
})

test('HEAD is GET without the body, OPTIONS names the methods, and the connection stays in step', async (t) => {
  const { port } = await startHttp(t)
  const connection = await RawConnection.open(t, port)
  await connection.write('HEAD /healthz HTTP/1.1\r\nhost: t\r\n\r\n')
  const head = await connection.until(/\r\n\r\n$/)
  assert.match(head, /^HTTP\/1\.1 200 OK[\s\S]*content-length: 15\r\n[\s\S]*\r\n\r\n$/)
  await connection.write('OPTIONS /v1/ingest HTTP/1.1\r\nhost: t\r\n\r\n')
  const options = (await connection.until(/204 No Content[\s\S]*\r\n\r\n$/)).slice(head.length)
  assert.match(options, /allow: POST, OPTIONS\r\n/)
  assert.doesNotMatch(options, /content-length/i)
  await connection.write('HEAD /nowhere HTTP/1.1\r\nhost: t\r\n\r\n')
  await connection.until(/404 Not Found[\s\S]*\r\n\r\n$/)
  await connection.write('GET /healthz HTTP/1.1\r\nhost: t\r\n\r\n')
  await connection.until(/\{"status":"ok"\}$/)
})

test("the caller's request id comes back if it is 1 to 128 printable characters, else a new one", async (t) => {
  const { url } = await startHttp(t)
  const ask = async (id: string) => (await fetch(`${url}/healthz`, { headers: { 'x-request-id': id } })).headers
  for (const id of ['a', 'x'.repeat(128), 'a b/c;d="e"~']) assert.equal((await ask(id)).get('x-request-id'), id)
  const ids = new Set<string>()
  for (const id of ['', 'x'.repeat(129), 'é', 'a\tb']) {
    const given = (await ask(id)).get('x-request-id')!
    assert.match(given, /^[0-9a-z]{18}$/, JSON.stringify(id))
    ids.add(given)
  }
  assert.equal(ids.size, 4)
})

test('readyz names each failing part, also when a check hangs or throws', async (t) => {
  let problems: () => Promise<string[]> = async () => []
  const { url } = await startHttp(t, { readiness: { problems: () => problems() } })
  const ask = async () => {
    const answer = await fetch(`${url}/readyz`)
    return [answer.status, JSON.stringify(await answer.json())]
  }
  assert.deepEqual(await ask(), [200, '{"status":"ready"}'])
  problems = async () => ['redis does not answer', 'no enrichment data']
  assert.deepEqual(await ask(), [
    503,
    '{"detail":"not ready: redis does not answer; no enrichment data","code":"not_ready"}',
  ])
  problems = () => new Promise(() => {})
  assert.deepEqual(await ask(), [503, '{"detail":"not ready: the check takes too long","code":"not_ready"}'])
  problems = async () => {
    throw new Error('secret')
  }
  assert.deepEqual(await ask(), [503, '{"detail":"not ready: the check failed","code":"not_ready"}'])
})

test('the OpenAPI document describes every route, from the schemas that requests are checked by', async (t) => {
  const { url } = await startHttp(t)
  const answer = await fetch(`${url}/openapi.json`)
  assert.equal(answer.headers.get('content-type'), 'application/json; charset=utf-8')
  // biome-ignore lint/suspicious/noExplicitAny: a document of unknown shape
  const document = (await answer.json()) as any
  assert.match(document.openapi, /^3\.1\./)
  for (const path of ['/healthz', '/openapi.json', '/readyz', '/v1/ingest']) assert.ok(document.paths[path], path)
  const ingest = document.paths['/v1/ingest'].post
  assert.deepEqual(ingest.security, [{ apiKey: [] }])
  assert.deepEqual(document.paths['/healthz'].get.security, [])
  assert.deepEqual(ingest.requestBody.content['application/json'].schema, {
    $ref: '#/components/schemas/IngestRequest',
  })
  const { events } = document.components.schemas.IngestRequest.properties
  assert.deepEqual(events, { type: 'array', minItems: 1, maxItems: 100, items: { $ref: '#/components/schemas/Event' } })
  const fields = document.components.schemas.Event
  assert.deepEqual(fields.required, ['ip'])
  assert.equal(fields.properties.timestamp.format, 'date-time')
  assert.equal(fields.properties.event_id.maxLength, 256)
  assert.deepEqual(Object.keys(ingest.responses), [
    '200',
    '400',
    '401',
    '405',
    '408',
    '413',
    '415',
    '422',
    '429',
    '500',
  ])
  const example = ingest.requestBody.content['application/json'].example
  const served = await fetch(`${url}/v1/ingest`, {
    method: 'POST',
    headers: { 'x-api-key': API_KEY },
    body: JSON.stringify(example),
  })
  assert.equal(served.status, 200, 'the example works')
})

test('the OpenAPI document describes each path of each kind of source, with its key', async (t) => {
  const { url } = await startHttp(t)
  const [api, document] = (await Promise.all(
    ['/openapi.json', '/docs/openapi-tools.json'].map(async (path) => (await fetch(url + path)).json()),
    // biome-ignore lint/suspicious/noExplicitAny: documents of unknown shape
  )) as any[]
  const ids: string[] = []
  for (const { path, method, access, operation: described } of testSources()) {
    const of = path.startsWith('/v1/') ? api : document
    const operation = of.paths[path.replace(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]
    if (described === undefined) {
      assert.equal((await fetch(url + path)).status, 404, `${path} is not described, as other paths that do not exist`)
      continue
    }
    assert.ok(operation, `${method} ${path}`)
    ids.push(operation.operationId)
    if (!path.startsWith('/s/')) continue
    assert.match(operation.summary, /^\S.{10,90}$/, path)
    const inPath = [...path.matchAll(/:(\w+)/g)].map(([, name]) => name)
    assert.deepEqual(
      operation.parameters?.map(({ name, in: place }: { name: string; in: string }) => [name, place]) ?? [],
      inPath.map((name) => [name, 'path']),
      path,
    )
    const isKeyed = access === 'key' && inPath.length === 0
    const schemes = isKeyed ? ['sourceKey', 'sourceKeyAsUser', 'sourceKeyAsToken'] : []
    assert.deepEqual(operation.security.flatMap(Object.keys), schemes, path)
    for (const scheme of schemes) assert.ok(document.components.securitySchemes[scheme], scheme)
    assert.equal(operation.requestBody !== undefined, method === 'POST', path)
    assert.ok('200' in operation.responses || '204' in operation.responses, path)
  }
  assert.equal(new Set(ids).size, ids.length)
  assert.match(document.paths['/s/segment/v1/batch'].post.summary, /^Segment: /)
  assert.ok('204' in document.paths['/s/web/{source_key}'].post.responses)
})

test('every limit and every possible status is in the document', async (t) => {
  const { url } = await startHttp(t, { limiter: fullLimit })
  // biome-ignore lint/suspicious/noExplicitAny: documents of unknown shape
  const read = async (path: string) => (await (await fetch(url + path)).json()) as any
  const document = await read('/openapi.json')
  const tools = await read('/docs/openapi-tools.json')
  const paths = Object.entries<Record<string, { responses: object }>>({ ...document.paths, ...tools.paths })
  for (const [path, methods] of paths) {
    const address = url + path.replace(/\{\w+\}/g, 'x')
    for (const [method, { responses }] of Object.entries(methods)) {
      const call = async (headers: Record<string, string>, as = method) =>
        (await fetch(address, { method: as.toUpperCase(), headers, ...(as === 'post' && { body: '{}' }) })).status
      const occurred = [await call({ 'x-api-key': API_KEY }), await call({}), await call({}, 'put')]
      for (const status of occurred) assert.ok(String(status) in responses, `${method} ${path}: ${status}`)
      assert.ok(
        ['400', '405', '429', '500'].every((status) => status in responses),
        path,
      )
    }
  }
  const lookup = document.paths['/v1/lookup'].post
  const { schemas } = document.components
  const { deadline_ms, quality_min } = schemas.LookupRequest.properties
  assert.deepEqual([deadline_ms.minimum, deadline_ms.maximum], [1, 10_000])
  assert.deepEqual([quality_min.minimum, quality_min.maximum], [0, 100])
  for (const status of ['408', '413', '415', '422']) assert.ok(status in lookup.responses, status)
  const batch = document.paths['/v1/ingest/batch'].post
  assert.match(batch.description, /1,000,000 lines, 100 MiB.*1 MiB per line.*10 jobs/)
  const lines = batch.requestBody.content['application/x-ndjson'].schema
  assert.deepEqual([lines.type, lines.contentSchema], ['string', { $ref: '#/components/schemas/Event' }])
  const event = schemas.Event.properties
  assert.deepEqual([event.account_id.maxLength, event.platform.maxLength, event.event_type.maxLength], [256, 256, 256])
  assert.match(event.timestamp.description, /1900 to 2299/)
  const { responses } = document.components
  assert.match(responses.Error413.description, /lines/)
  assert.match(responses.Error429.description, /daily lookup quota/)
  assert.match(document.info.description, /404[\s\S]*431[\s\S]*505/)
})

test('every error status has a meaning and a status line', () => {
  for (const status of Object.keys(ERROR_MEANINGS))
    assert.match(STATUS_LINES[Number(status)]!, new RegExp(`^${status} `))
})
