import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Type } from 'typebox'
import { ALERT_TYPES } from '../../../../schemas/alert.ts'
import { digestLine, digestMessage, jobMessage, messageOf, testMessage } from '../../../../src/alerts/messages.ts'
import { Components } from '../../../../src/http/api/openapi-components.ts'
import { openApiDocuments } from '../../../support/openapi.ts'

const { api, tools } = openApiDocuments()

type Json = Record<string, unknown>

/** Every object of a document, with its path. */
function* objectsOf(node: unknown, path = '#'): Generator<[path: string, object: Json]> {
  if (typeof node !== 'object' || node === null) return
  if (!Array.isArray(node)) yield [path, node as Json]
  for (const [key, value] of Object.entries(node)) {
    yield* objectsOf(value, `${path}/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`)
  }
}

/** A validator of the schemas of a document. */
function validatorOf(document: unknown) {
  const ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema({ $id: 'document', ...(document as object) })
  return (path: string, value: unknown) => {
    const validate = ajv.compile({ $ref: `document${path}` })
    validate(value)
    return validate.errors?.map(({ instancePath, message }) => `${instancePath} ${message}`) ?? []
  }
}

test('every example fits its schema', () => {
  let examples = 0
  for (const document of [api, tools]) {
    const errorsOf = validatorOf(document)
    for (const [path, object] of objectsOf(document)) {
      if (!('example' in object) || !('schema' in object)) continue
      const { contentSchema } = object.schema as Json
      examples++
      if (contentSchema === undefined) assert.deepEqual(errorsOf(`${path}/schema`, object.example), [], path)
      const lines = contentSchema === undefined ? [] : (object.example as string).trimEnd().split('\n')
      for (const line of lines) assert.deepEqual(errorsOf(`${path}/schema/contentSchema`, JSON.parse(line)), [], path)
    }
  }
  assert.ok(examples > 40, String(examples))
})

test('every response and body of the API that is JSON or lines has an example', () => {
  const without = [...objectsOf(api)].filter(([path, object]) => {
    const [, type] = /\/content\/([^/]+)$/.exec(path) ?? []
    return type !== undefined && object.example === undefined
  })
  assert.deepEqual(
    without.map(([path]) => path).filter((path) => !path.startsWith('#/paths/~1openapi.json')),
    [],
  )
})

test('every reference leads somewhere, and every component is used', () => {
  for (const document of [api, tools]) {
    const found = new Set<string>()
    for (const [, { $ref }] of objectsOf(document)) if (typeof $ref === 'string') found.add($ref)
    for (const reference of found) {
      const steps = reference.slice(2).split('/')
      assert.ok(
        steps.reduce<Json | undefined>((node, step) => node?.[step] as Json | undefined, document),
        reference,
      )
    }
    const { securitySchemes: _, ...components } = document.components as Record<string, Json>
    for (const [kind, named] of Object.entries(components)) {
      for (const name of Object.keys(named)) assert.ok(found.has(`#/components/${kind}/${name}`), name)
    }
  }
})

test('the API has its own paths, and those of tools are apart', () => {
  const paths = (document: Json) => Object.keys(document.paths as object)
  const core = ['lookup', 'bulk', 'ingest', 'ingest/batch', 'events/{event_id}', 'companies'].map(
    (path) => `/v1/${path}`,
  )
  for (const path of [...core, '/healthz', '/readyz', '/openapi.json']) assert.ok(paths(api).includes(path), path)
  assert.ok(paths(api).every((path) => /^\/(v1\/|\w+(\.json)?$)/.test(path)))
  assert.ok(paths(tools).length > 100)
  assert.ok(paths(tools).every((path) => /^\/(s|\.well-known)\//.test(path)))
  for (const name of ['Event', 'EventResult', 'Job', 'Company', 'Lookup', 'Error']) {
    assert.ok(name in (api.components as { schemas: object }).schemas, name)
  }
})

test('operations have ids of their own, and their tags are described', () => {
  for (const document of [api, tools]) {
    const tags = (document.tags as { name: string; description: string }[]).map(({ name, description }) => {
      assert.match(description, /^[A-Z].{10,}/, name)
      return name
    })
    const ids: unknown[] = []
    for (const [path, { operationId, tags: own }] of objectsOf(document)) {
      if (typeof operationId !== 'string') continue
      ids.push(operationId)
      assert.ok(
        (own as string[]).every((tag) => tags.includes(tag)),
        path,
      )
    }
    assert.equal(new Set(ids).size, ids.length)
    assert.equal(new Set(tags).size, tags.length)
  }
})

const AT = Date.UTC(2026, 10, 22, 9, 30)
const CONTEXT = {
  ...{ tenantId: 'demo', alertId: 'alert_1', alertName: 'Hot' },
  ...{ segment: 'Keen', dashboardUrl: 'https://ipid.example' },
}

test('the bodies of webhooks are as the document says, and have nothing else', () => {
  const errorsOf = validatorOf(closed(api))
  const example = testMessage(CONTEXT, AT)
  const { activity: _, company, ...data } = example.data
  const testOfJob = testMessage(CONTEXT, AT, 'job.ended')
  const ended = jobMessage('job.ended', testOfJob.data.job!, CONTEXT, AT)
  const messages = [
    ...[example, testOfJob, ended],
    digestMessage({ lines: [digestLine(ended)], total: 1, reason: 'limit' }, CONTEXT, AT, 'jobs'),
    ...ALERT_TYPES.filter((type) => type !== 'job.ended').map((type) =>
      messageOf(
        type,
        {
          ...{ company: withoutBusinessName(company!), atMs: AT },
          ...(type === 'company.returned' && { previousDay: '2026-10-01' }),
          ...(type === 'company.corrected' && { correction: { kind: 'merged', name_before: 'A', merged_into: 'B' } }),
        },
        CONTEXT,
      ),
    ),
    digestMessage({ lines: [digestLine(example)], total: 1, reason: 'weekly' }, CONTEXT, AT),
  ]
  assert.equal(data.segment, 'Keen')
  assert.deepEqual([...new Set(messages.map(({ type }) => type))].sort(), Object.keys(api.webhooks as object).sort())
  for (const message of messages) {
    const path = `#/webhooks/${message.type}/post/requestBody/content/application~1json/schema`
    assert.deepEqual(errorsOf(path, JSON.parse(JSON.stringify(message))), [], message.type)
  }
})

function withoutBusinessName<T extends { readonly business_name: string }>({ business_name: _, ...rest }: T) {
  return rest
}

/** The document with schemas that allow no other members. */
function closed(document: unknown): unknown {
  return JSON.parse(JSON.stringify(document), (_, value) =>
    value?.type === 'object' && value.properties !== undefined && value.additionalProperties === undefined
      ? { ...value, additionalProperties: false }
      : value,
  )
}

test('two different schemas of one name are refused', () => {
  const components = new Components({ headers: {}, responses: {}, schemas: {} })
  const reference = components.schema(Type.Array(Type.Object({ a: Type.String() }, { title: 'Thing' })))
  assert.deepEqual(reference, { type: 'array', items: { $ref: '#/components/schemas/Thing' } })
  components.schema(Type.Object({ a: Type.String() }, { title: 'Thing' }))
  assert.throws(() => components.schema(Type.Object({}, { title: 'Thing' })), /two schemas are called Thing/)
  assert.deepEqual(components.schema(Type.Object({ title: Type.String() })), {
    ...{ type: 'object', required: ['title'], properties: { title: { type: 'string' } } },
  })
})
