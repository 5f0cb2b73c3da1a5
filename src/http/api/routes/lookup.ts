import type { TProperties } from 'typebox'
import { LOOKUP_LIMITS, LookupChoices, LookupRequest, LookupResponse } from '../../../../schemas/api/lookup.ts'
import { tenantLookups } from '../../../enrichment/judge.ts'
import type { LookupService } from '../../../lookup/lookup.ts'
import { resultForm, resultJson } from '../../../lookup/result.ts'
import { type Address, parseAddress } from '../../../pipeline/event/address.ts'
import { compileValidator, NO_ADDRESS } from '../../../pipeline/event/validator.ts'
import { andThen } from '../../../run/and-then.ts'
import type { LimitDecision, Limiter } from '../../../tenants/limits/limits.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import type { HttpResponse } from '../../engine/response.ts'
import { assertObject } from '../../route/body-shape.ts'
import type { Operation, Parameter } from '../../route/operation.ts'
import { assertParameters, parseQuery } from '../../route/query.ts'
import type { Route } from '../../route/route.ts'
import { assertSchema, schemaError } from '../../route/schema.ts'
import { assertProviders, mergeRequest, plainRequest } from '../lookup-request.ts'
import { assertAllowed, QUOTA_HEADERS, quotaHeaders, quotaJson } from '../quota.ts'

export interface LookupParts {
  readonly lookups: LookupService
  readonly quota: Limiter
}

/** `POST /v1/lookup`, and `GET` with query parameters alone: looks up one address. Stores nothing. */
export function lookupRoutes({ lookups, quota }: LookupParts): Route[] {
  const validate = compileValidator(LookupRequest)
  const fullRequest = (text: string, queryText: string): LookupRequest => {
    const query = parseQuery(queryText)
    const request = mergeRequest(text, query)
    assertParameters(operation, query)
    assertObject(request, '{"ip": "203.0.113.7"}', { array: '; /v1/bulk takes several addresses', string: '' })
    assertSchema(validate, request)
    return request
  }
  const answer = (text: string, exchange: Exchange, caller: Caller): HttpResponse | Promise<HttpResponse> => {
    const { query } = exchange.request
    const request = plainRequest(text, query) ?? fullRequest(text, query)
    const address = parseAddress(request.ip)
    if (address === undefined) throw schemaError([{ path: 'ip', message: NO_ADDRESS }])
    assertProviders(request, lookups)
    return andThen(quota.take(caller, 1), (decision) => lookUp(request, address, caller, decision))
  }
  const lookUp = (request: LookupRequest, address: Address, { tenant }: Caller, decision: LimitDecision) => {
    assertAllowed(decision)
    const form = resultForm(tenant.id, request)
    return andThen(tenantLookups(lookups, tenant).lookup(address, form.options), (lookup): HttpResponse => {
      const body = resultJson(request.ip, lookup, form, `,"quota":${quotaJson(decision)}`)
      return { status: 200, headers: quotaHeaders(decision), body }
    })
  }
  return [
    {
      method: 'POST',
      path: '/v1/lookup',
      access: 'key',
      takesTestKeys: true,
      bodyMaxBytes: LOOKUP_LIMITS.bodyMaxBytes,
      operation,
      handle(exchange: Exchange, caller: Caller): HttpResponse | Promise<HttpResponse> {
        return andThen(exchange.text(), (text) => answer(text, exchange, caller))
      },
    },
    {
      method: 'GET',
      path: '/v1/lookup',
      access: 'key',
      takesTestKeys: true,
      operation: queryOperation,
      handle: (exchange: Exchange, caller: Caller) => answer('{}', exchange, caller),
    },
  ]
}

/** The fields of a request as query parameters, for the OpenAPI document. */
export function queryParameters(properties: TProperties): Parameter[] {
  const { providers, ...flat } = properties
  const all: TProperties = providers === undefined ? flat : { ...flat, ...dotted() }
  return Object.entries(all).map(([name, schema]) => ({
    name,
    in: 'query',
    required: false,
    description: 'Replaces the field of the body, unless the body has it; lists are repeated or comma-separated',
    schema,
  }))
}

function dotted(): TProperties {
  const { allow, deny } = LookupChoices.properties.providers.properties
  return { 'providers.allow': allow, 'providers.deny': deny }
}

const operation: Operation = {
  id: 'lookup',
  summary: 'Looks up an IP address',
  description:
    'Fields may be sent in the body or as query parameters; with query parameters the body may be empty. Attributes that ' +
    'no provider knows are omitted. A valid request counts 1 toward the daily quota; one that would exceed it is answered 429. ' +
    'A body has at most 1 MiB. Nothing is kept.',
  parameters: queryParameters(LookupRequest.properties),
  body: {
    optional: true,
    schema: LookupRequest,
    example: { ip: '203.0.113.7', fields: ['business_name', 'classification'], quality_min: 40 },
  },
  responses: {
    200: {
      description: 'The known attributes of the address',
      schema: LookupResponse,
      headers: QUOTA_HEADERS,
      example: {
        ip: '203.0.113.7',
        tenant_id: 'demo',
        quality: 10,
        status: 'insufficient_quality',
        data: { classification: 'reserved' },
        quota: {
          daily_limit: 1_000,
          daily_used: 1,
          daily_remaining: 999,
          reset_at: '2026-11-22T00:00:00+00:00',
        },
      },
    },
  },
  errors: [422],
}

const { body: _, ...withoutBody } = operation
const queryOperation: Operation = {
  ...withoutBody,
  parameters: queryParameters(LookupRequest.properties).map((one) => ({ ...one, required: one.name === 'ip' })),
  id: 'lookupByQuery',
  summary: 'Looks up an IP address, in one line',
  description:
    'As `POST /v1/lookup` with query parameters only, for browsers and shells: `?ip=203.0.113.7&fields=asn`.',
}
