import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { json as readJson } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

/*
 * HubSpot, made from its documentation: https://developers.hubspot.com/docs/api-reference (companies, properties, owners, error handling,
 * usage guidelines). It refuses what HubSpot refuses: unknown properties, large batches, long searches, missing scopes.
 */

export const TOKEN = 'pat-eu1-0123456789-abcdef'
const SCOPES = {
  'crm.objects.companies.read': /^POST \/crm\/v3\/objects\/companies\/(?:batch\/read|search)/,
  'crm.objects.companies.write': /^POST \/crm\/v3\/objects\/companies\/batch\/(?:update|upsert)/,
  'crm.schemas.companies.read': /^GET \/crm\/v3\/properties/,
  'crm.schemas.companies.write': /^POST \/crm\/v3\/properties/,
  'crm.objects.owners.read': /^GET \/crm\/v3\/owners/,
} as const
type Scope = keyof typeof SCOPES

interface Version {
  value: string
  timestamp: string
  sourceType: string
}

export interface HubSpotRecord {
  id: string
  createdAt: string
  updatedAt: string
  archived: boolean
  /** Newest first. */
  history: Record<string, Version[]>
  /** Whether a search finds it yet. */
  indexed: boolean
}

interface Property {
  name: string
  type: string
  fieldType: string
  label: string
  groupName: string
  hasUniqueValue?: boolean
}

type Done = 'lost' | undefined

export interface Asked {
  readonly call: string
  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  readonly body: any
}

interface Answer {
  readonly status: number
  readonly body: unknown
  readonly headers?: Record<string, string>
}

const DEFAULTS: Property[] = ['name', 'domain', 'hs_additional_domains', 'hubspot_owner_id', 'lifecyclestage'].map(
  (name) => ({
    ...{ name, type: 'string', fieldType: 'text', label: name, groupName: 'companyinformation' },
  }),
)

class Refused extends Error {
  readonly answer: Answer
  constructor(status: number, category: string, message: string, more: object = {}) {
    super(message)
    this.answer = { status, body: { status: 'error', message, correlationId: 'c', category, ...more } }
  }
}

export class TestHubSpot {
  url = ''
  token = TOKEN
  readonly scopes = new Set<Scope>(Object.keys(SCOPES) as Scope[])
  readonly groups: { name: string; label: string }[] = [{ name: 'companyinformation', label: 'Company information' }]
  readonly properties: Property[] = [...DEFAULTS]
  readonly owners: { id: string; email: string }[] = []
  readonly records: HubSpotRecord[] = []
  readonly asked: Asked[] = []
  /** Whether searches find records at once. HubSpot takes some moments. */
  indexes = true
  /** Answers a request in place of HubSpot; it has no effect then. */
  answer: (asked: Asked) => Answer | undefined | Promise<Answer | undefined> = () => undefined
  /** Called after a request had its effect. `lost`: its answer does not arrive. */
  done: (asked: Asked) => Done | Promise<Done> = () => undefined
  nowMs = Date.UTC(2026, 10, 20)
  #ids = 100

  static async start(t: Pick<TestContext, 'after'>): Promise<TestHubSpot> {
    const hubspot = new TestHubSpot()
    const server = createServer((request, response) => void hubspot.#serve(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    t.after(() => {
      server.closeAllConnections()
      server.close()
    })
    hubspot.url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    return hubspot
  }

  /** A person's work in HubSpot. */
  add(values: Record<string, string>): HubSpotRecord {
    const at = this.#now()
    const record: HubSpotRecord = {
      id: String(this.#ids++),
      createdAt: at,
      updatedAt: at,
      archived: false,
      history: {},
      indexed: true,
    }
    this.records.push(record)
    this.set(record, values)
    return record
  }

  set(record: HubSpotRecord, values: Record<string, string>, sourceType = 'CRM_UI'): void {
    for (const [name, value] of Object.entries(values)) {
      record.history[name] = [{ value, timestamp: this.#now(), sourceType }, ...(record.history[name] ?? [])]
    }
    record.updatedAt = this.#now()
  }

  /** Current values of a record. */
  values({ history }: HubSpotRecord): Record<string, string> {
    return Object.fromEntries(Object.entries(history).map(([name, [last]]) => [name, last!.value]))
  }

  /** Values of all records that are not archived. */
  all(): Record<string, string>[] {
    return this.records.filter(({ archived }) => !archived).map((record) => this.values(record))
  }

  /** Calls of a kind so far. */
  calls(call: string): Asked[] {
    return this.asked.filter((one) => one.call.includes(call))
  }

  #now(): string {
    return new Date(this.nowMs++).toISOString()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const call = `${request.method} ${request.url}`
    const body = request.method === 'POST' ? await readJson(request) : undefined
    const asked: Asked = { call, body }
    this.asked.push(asked)
    const replaced = await this.answer(asked)
    const { status, body: text, headers } = replaced ?? this.#answer(asked, request.headers)
    if (replaced === undefined && (await this.done(asked)) === 'lost') {
      response.destroy()
      return
    }
    response.writeHead(status, { 'content-type': 'application/json;charset=utf-8', ...headers })
    response.end(JSON.stringify(text))
  }

  #answer({ call, body }: Asked, headers: IncomingMessage['headers']): Answer {
    try {
      if (headers.authorization !== `Bearer ${this.token}`)
        throw new Refused(401, 'INVALID_AUTHENTICATION', 'Authentication credentials not found.')
      const [scope] = Object.entries(SCOPES).find(([, calls]) => calls.test(call)) ?? []
      if (scope !== undefined && !this.scopes.has(scope as Scope)) {
        const errors = [
          {
            message: 'One or more of the following scopes are required.',
            context: { requiredGranularScopes: [scope] },
          },
        ]
        throw new Refused(
          403,
          'MISSING_SCOPES',
          "This app hasn't been granted all required scopes to make this call.",
          { errors },
        )
      }
      if (body !== undefined && !/^application\/json/.test(headers['content-type'] ?? ''))
        throw new Refused(415, 'VALIDATION_ERROR', 'Unsupported Media Type')
      return this.#route(new URL(call.slice(call.indexOf(' ') + 1), 'http://h'), call.startsWith('POST'), body)
    } catch (error) {
      if (error instanceof Refused) return error.answer
      throw error
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  #route({ pathname, searchParams }: URL, isPost: boolean, body: any): Answer {
    switch (`${isPost ? 'POST' : 'GET'} ${pathname}`) {
      case 'GET /crm/v3/owners':
        return this.#page(this.owners, Number(searchParams.get('limit') ?? 100), searchParams.get('after'), 500)
      case 'GET /crm/v3/properties/companies':
        return { status: 200, body: { results: this.properties } }
      case 'GET /crm/v3/properties/companies/groups':
        return {
          status: 200,
          body: { results: this.groups.map((group) => ({ ...group, archived: false, displayOrder: -1 })) },
        }
      case 'POST /crm/v3/properties/companies/groups':
        if (this.groups.some(({ name }) => name === body.name))
          throw new Refused(409, 'CONFLICT', `A property group named ${body.name} already exists`)
        this.groups.push(body)
        return { status: 201, body }
      case 'POST /crm/v3/properties/companies/batch/create':
        return this.#createProperties(body)
      case 'POST /crm/v3/objects/companies/batch/read':
        return this.#read(body, searchParams.get('archived') === 'true')
      case 'POST /crm/v3/objects/companies/search':
        return this.#search(body)
      case 'POST /crm/v3/objects/companies/batch/update':
        return this.#write(body, false)
      case 'POST /crm/v3/objects/companies/batch/upsert':
        return this.#write(body, true)
      default:
        throw new Refused(404, 'OBJECT_NOT_FOUND', `no route ${pathname}`)
    }
  }

  #page(all: readonly object[], limit: number, after: string | null, most: number): Answer {
    if (limit > most) throw new Refused(400, 'VALIDATION_ERROR', `limit must be at most ${most}`)
    const from = Number(after ?? 0)
    const results = all.slice(from, from + limit)
    const next = from + limit < all.length ? { paging: { next: { after: String(from + limit) } } } : {}
    return { status: 200, body: { total: all.length, results, ...next } }
  }

  #createProperties({ inputs }: { inputs: Property[] }): Answer {
    const errors: object[] = []
    for (const { name, label, type, fieldType, groupName, hasUniqueValue, ...rest } of inputs) {
      const isForm = /^[a-z][a-z0-9_]*$/.test(name) && label && ['string', 'number', 'datetime'].includes(type)
      const fields = { string: ['text', 'textarea'], number: ['number'], datetime: ['date'] }[type] ?? []
      if (!isForm || !fields.includes(fieldType) || Object.keys(rest).some((other) => other !== 'description'))
        throw new Refused(400, 'VALIDATION_ERROR', `Invalid input JSON: ${name}`)
      if (!this.groups.some((group) => group.name === groupName))
        throw new Refused(400, 'VALIDATION_ERROR', `The group ${groupName} doesn't exist`)
      if (this.properties.some((property) => property.name === name))
        errors.push({
          status: 'error',
          category: 'CONFLICT',
          message: `A property named '${name}' already exists`,
          context: { name: [name] },
        })
      else this.properties.push({ name, label, type, fieldType, groupName, ...(hasUniqueValue && { hasUniqueValue }) })
    }
    const body = { status: 'COMPLETE', results: [], ...(errors.length > 0 && { errors, numErrors: errors.length }) }
    return { status: errors.length > 0 ? 207 : 201, body }
  }

  #shown(record: HubSpotRecord, names: readonly string[], history: readonly string[] = []) {
    const { id, createdAt, updatedAt, archived } = record
    const values = this.values(record)
    const properties = Object.fromEntries(names.map((name) => [name, values[name] || null]))
    const propertiesWithHistory = Object.fromEntries(history.map((name) => [name, record.history[name] ?? []]))
    return { id, createdAt, updatedAt, archived, properties, ...(history.length > 0 && { propertiesWithHistory }) }
  }

  #unique(idProperty: string): void {
    if (this.properties.find(({ name }) => name === idProperty)?.hasUniqueValue !== true)
      throw new Refused(400, 'VALIDATION_ERROR', `${idProperty} is not a unique property`)
  }

  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  #read({ idProperty, inputs, properties, propertiesWithHistory }: any, archived: boolean): Answer {
    if (!Array.isArray(properties) || !Array.isArray(propertiesWithHistory))
      throw new Refused(
        400,
        'VALIDATION_ERROR',
        'Invalid input JSON: properties and propertiesWithHistory are required',
      )
    const most = propertiesWithHistory.length > 0 ? 50 : 100
    if (inputs.length > most) throw new Refused(400, 'VALIDATION_ERROR', `The maximum batch size is ${most}`)
    this.#known([...properties, ...propertiesWithHistory])
    if (idProperty !== undefined) this.#unique(idProperty)
    const missing: string[] = []
    const results = inputs.flatMap(({ id }: { id: string }) => {
      const found = this.records.find(
        (record) =>
          record.archived === archived &&
          (idProperty === undefined ? record.id : this.values(record)[idProperty]) === id,
      )
      if (found !== undefined) return [this.#shown(found, properties, propertiesWithHistory)]
      missing.push(id)
      return []
    })
    if (missing.length === 0) return { status: 200, body: { status: 'COMPLETE', results } }
    const message = 'Could not get some COMPANY objects, they may be deleted or not exist. Check that ids are valid.'
    const errors = [{ status: 'error', category: 'OBJECT_NOT_FOUND', message, context: { ids: missing } }]
    return { status: 207, body: { status: 'COMPLETE', results, numErrors: missing.length, errors } }
  }

  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  #search(body: any): Answer {
    if (JSON.stringify(body).length > 3_000) throw new Refused(400, 'VALIDATION_ERROR', 'The request is too long')
    if (body.filterGroups.length > 5) throw new Refused(400, 'VALIDATION_ERROR', 'too many filterGroups')
    // biome-ignore lint/suspicious/noExplicitAny: any JSON
    const filters = body.filterGroups.map(({ filters: [filter] }: any) => filter)
    for (const { propertyName, operator, value, values } of filters) {
      if (operator !== 'IN' || !['domain', 'hs_additional_domains'].includes(propertyName) || value !== undefined)
        throw new Refused(400, 'VALIDATION_ERROR', 'this server knows domains IN values')
      if (values.some((text: string) => text !== text.toLowerCase()))
        throw new Refused(400, 'VALIDATION_ERROR', 'values of IN must be lowercase')
    }
    this.#known(body.properties)
    // A property with several values has them in one text.
    const isFound = (record: HubSpotRecord) =>
      filters.some(({ propertyName, values }: { propertyName: string; values: string[] }) =>
        (this.values(record)[propertyName] ?? '').split(';').some((text) => values.includes(text)),
      )
    const found = this.records.filter((record) => !record.archived && record.indexed && isFound(record))
    return this.#page(
      found.map((record) => this.#shown(record, body.properties)),
      body.limit,
      body.after,
      200,
    )
  }

  #known(names: readonly string[]): void {
    const unknown = names.find((name) => !this.properties.some((property) => property.name === name))
    if (unknown !== undefined) throw new Refused(400, 'VALIDATION_ERROR', `Property "${unknown}" does not exist`)
  }

  // biome-ignore lint/suspicious/noExplicitAny: any JSON
  #write({ inputs }: any, isUpsert: boolean): Answer {
    if (inputs.length > 100) throw new Refused(400, 'VALIDATION_ERROR', 'The maximum batch size is 100')
    const ids = inputs.map(({ id }: { id: string }) => id)
    if (new Set(ids).size < ids.length) throw new Refused(400, 'VALIDATION_ERROR', 'Duplicate ids in batch')
    for (const { properties } of inputs) this.#known(Object.keys(properties))
    const results: object[] = []
    const errors: object[] = []
    for (const { id, idProperty, properties, objectWriteTraceId: trace } of inputs) {
      const fault = this.#faultOf(id, idProperty, properties, isUpsert)
      if (fault !== undefined) {
        // Without a trace id, one fault refuses the whole batch.
        if (trace === undefined) throw fault
        const { category, message } = fault.answer.body as { category: string; message: string }
        errors.push({ status: 'error', category, message, context: { objectWriteTraceId: [trace] } })
        continue
      }
      let record = this.records.find(
        (one) => !one.archived && (isUpsert ? this.values(one)[idProperty] : one.id) === id,
      )
      const isNew = record === undefined
      if (record === undefined) {
        record = this.add({})
        record.indexed = this.indexes
        this.set(record, { [idProperty]: id }, 'INTEGRATION')
      }
      this.set(record, properties, 'INTEGRATION')
      const shown = this.#shown(record, ['name', 'domain', ...Object.keys(properties)])
      results.push({ ...shown, objectWriteTraceId: trace, ...(isUpsert && { new: isNew }) })
    }
    const body = { status: 'COMPLETE', results, ...(errors.length > 0 && { errors, numErrors: errors.length }) }
    return { status: errors.length > 0 ? 207 : 200, body }
  }

  #faultOf(
    id: string,
    idProperty: string | undefined,
    properties: Record<string, string>,
    isUpsert: boolean,
  ): Refused | undefined {
    if (isUpsert) this.#unique(idProperty ?? '')
    else if (!this.records.some((record) => !record.archived && record.id === id))
      return new Refused(404, 'OBJECT_NOT_FOUND', `Object not found. objectId ${id}`)
    for (const [name, value] of Object.entries(properties)) {
      const { type, hasUniqueValue } = this.properties.find((property) => property.name === name)!
      const invalid = `Property values were not valid: ${value} is not a valid ${name}`
      if (typeof value !== 'string') return new Refused(400, 'VALIDATION_ERROR', invalid)
      if (type === 'number' && !/^-?\d+(\.\d+)?$/.test(value)) return new Refused(400, 'VALIDATION_ERROR', invalid)
      if (type === 'datetime' && Number.isNaN(Date.parse(value))) return new Refused(400, 'VALIDATION_ERROR', invalid)
      if (name === 'domain' && !/^[a-z0-9-]+(\.[a-z0-9-]+)+$/.test(value))
        return new Refused(400, 'VALIDATION_ERROR', invalid)
      const other =
        hasUniqueValue && this.records.find((record) => record.id !== id && this.values(record)[name] === value)
      if (other)
        return new Refused(400, 'VALIDATION_ERROR', `Cannot set ${name} on ${id}. ${other.id} already has that value.`)
    }
    return undefined
  }
}
