import assert from 'node:assert/strict'
import { test } from 'node:test'
import { API_KEY, startHttp } from '../support/http.ts'
import { openApiDocuments } from '../support/openapi.ts'

/* Every bound of the API's document is one that the server holds. */

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly format?: string
  readonly pattern?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: unknown
}

interface Operation {
  readonly operationId: string
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: Schema }[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

const { api } = openApiDocuments()
const { paths, components } = api as unknown as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const resolved = (schema: Schema): Schema =>
  schema.$ref === undefined ? schema : components.schemas[schema.$ref.split('/').at(-1)!]!

/** Values of a schema that are just beyond one of its bounds, with the bound. */
function* beyond(of: Schema, isText: boolean): Generator<[bound: string, value: unknown]> {
  const schema = resolved(of)
  const { type, minLength, maxLength, minimum, maximum, minItems, maxItems, items, properties = {} } = schema
  if (schema.enum !== undefined) yield ['enum', 'neither']
  if (schema.pattern !== undefined) yield ['pattern', '§']
  if (schema.format !== undefined) yield ['format', 'nowhere']
  if (schema.anyOf?.every(({ format }) => format !== undefined)) yield ['formats', 'nowhere']
  if (minLength !== undefined) yield ['minLength', 'x'.repeat(minLength - 1)]
  if (maxLength !== undefined) yield ['maxLength', 'x'.repeat(maxLength + 1)]
  if (minimum !== undefined) yield ['minimum', minimum - 2]
  if (maximum !== undefined) yield ['maximum', maximum + 2]
  if (type === 'integer') yield ['integer', 1.5]
  if (type === 'integer' || type === 'number' || type === 'boolean') yield ['type', 'maybe']
  if (type === 'string' && !isText) yield ['type', 7]
  if (type === 'array') {
    const valid = exampleOf(items!)
    // Filters take the same text twice for one.
    const isFree = typeof valid === 'string' && items!.enum === undefined
    const many = (count: number) => Array.from({ length: count }, (_, i) => (isFree ? `${valid}${i}` : valid))
    if (minItems !== undefined) yield ['minItems', many(minItems - 1)]
    if (maxItems !== undefined) yield ['maxItems', many(maxItems + 1)]
    for (const [bound, value] of beyond(items!, isText)) yield [`items: ${bound}`, [value]]
  }
  for (const [name, property] of Object.entries(properties)) {
    for (const [bound, value] of beyond(property, isText)) {
      yield [`${name}: ${bound}`, { ...(exampleOf(schema) as object), [name]: value }]
    }
  }
  for (const name of schema.required ?? []) {
    const { [name]: _, ...rest } = exampleOf(schema) as Record<string, unknown>
    yield [`${name}: required`, rest]
  }
  if (schema.additionalProperties === false) yield ['additional', { ...(exampleOf(schema) as object), colour: 1 }]
}

/** The smallest valid value. */
function exampleOf(of: Schema): unknown {
  const schema = resolved(of)
  if (schema.enum !== undefined) return schema.enum[0]
  if (schema.type === 'object') {
    const names = schema.required ?? []
    return Object.fromEntries(
      names.map((name) => [name, name === 'ip' ? '192.0.2.1' : exampleOf(schema.properties![name]!)]),
    )
  }
  if (schema.type === 'array') return Array(schema.minItems ?? 0).fill(exampleOf(schema.items!))
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  return '192.0.2.1'
}

const BODIES: Readonly<Record<string, readonly [type: string, body: string]>> = {
  uploadBatch: ['text/csv', 'ip\n192.0.2.1\n'],
  importCompanies: ['text/csv', 'domain,status\nacme.example,customer\n'],
  bulk: ['application/json', '{"ips":["192.0.2.1"]}'],
}
/** Statuses of faults in a request. */
const REFUSED = [400, 413, 422]

test('a value beyond any bound of the document is refused, and the request without it is not', async (t) => {
  const { url } = await startHttp(t)
  let sent = 0
  const wrong: string[] = []
  for (const [path, methods] of Object.entries(paths).filter(([path]) => path.startsWith('/v1/'))) {
    for (const [method, { operationId, parameters = [], requestBody }] of Object.entries(methods)) {
      const json = requestBody?.content['application/json']?.schema
      const [type, body] = BODIES[operationId] ?? ['application/json', json && JSON.stringify(exampleOf(json))]
      const send = async (query: readonly (readonly [string, unknown])[], of = body, segment = 'x', more = {}) => {
        const text = new URLSearchParams(query.map(([name, value]): [string, string] => [name, String(value)]))
        const address = `${url}${path.replace(/\{\w+\}/, encodeURIComponent(segment))}?${text}`
        const headers = { ...more, 'x-api-key': API_KEY, ...(of !== undefined && { 'content-type': type }) }
        const answer = await fetch(address, {
          method: method.toUpperCase(),
          headers,
          ...(of !== undefined && { body: of }),
        })
        await answer.arrayBuffer()
        sent++
        return answer.status
      }
      const needed = method === 'get' && path === '/v1/lookup' ? [['ip', '192.0.2.1'] as const] : []
      assert.ok(!REFUSED.includes(await send(needed)), `${operationId} as it should be`)
      for (const { name, in: place, schema } of parameters) {
        // A body has a say before the query.
        const ofBody = json !== undefined && name !== 'mode' ? '{}' : body
        for (const [bound, value] of beyond(schema, true)) {
          const what = `${operationId} ${name}: ${bound} ${JSON.stringify(value).slice(0, 60)}`
          if (place === 'path') {
            if (bound === 'maxLength') assert.ok(REFUSED.includes(await send([], body, String(value))), what)
            continue
          }
          if (place === 'header') {
            const status = await send(needed, body, 'x', { [name]: String(value) })
            if (!REFUSED.includes(status)) wrong.push(`${what}: ${status}`)
            continue
          }
          const others = needed.filter(([other]) => other !== name)
          const values = Array.isArray(value) ? value : [value]
          const status = await send([...others, ...values.map((one) => [name, one] as const)], ofBody)
          if (!REFUSED.includes(status)) wrong.push(`${what}: ${status}`)
        }
      }
      for (const [bound, value] of json === undefined ? [] : beyond(json, false)) {
        const status = await send([], JSON.stringify(value))
        if (!REFUSED.includes(status)) wrong.push(`${operationId} ${bound}: ${status}`)
      }
    }
  }
  assert.deepEqual(wrong, [])
  assert.ok(sent > 250, String(sent))
})

test('a value at each bound of a body is taken', async (t) => {
  const { url } = await startHttp(t)
  const taken = async (path: string, body: object) => {
    const answer = await fetch(url + path, {
      ...{ method: 'POST', headers: { 'x-api-key': API_KEY }, body: JSON.stringify(body) },
    })
    assert.equal(answer.status, 200, `${path} ${await answer.text()}`)
  }
  const bounds = (name: string) => Object.entries(components.schemas[name]!.properties!)
  const atBounds = ([name, schema]: [string, Schema]) => [
    ...(schema.minLength !== undefined ? [{ [name]: 'x'.repeat(schema.minLength) }] : []),
    ...(schema.maxLength !== undefined ? [{ [name]: '😀'.repeat(schema.maxLength) }] : []),
    ...(schema.minimum !== undefined ? [{ [name]: schema.minimum }] : []),
    ...(schema.maximum !== undefined ? [{ [name]: schema.maximum }] : []),
    ...(schema.items?.enum ?? []).map((value) => ({ [name]: [value] })),
  ]
  const ip = '192.0.2.1'
  for (const event of bounds('Event').flatMap(atBounds)) await taken('/v1/ingest', { events: [{ ip, ...event }] })
  for (const choice of bounds('LookupRequest').flatMap(atBounds)) await taken('/v1/lookup', { ip, ...choice })
  await taken('/v1/ingest', { events: Array(100).fill({ ip }) })
  await taken('/v1/bulk', { ips: Array(512).fill(ip) })
  await taken('/v1/lookup', { ip: '2001:db8::7', fields: Array(100).fill('asn'), redact: [], providers: {} })
})
