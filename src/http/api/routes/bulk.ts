import { hash } from 'node:crypto'
import {
  BULK_LIMITS,
  BulkAccepted,
  BulkAnswer,
  type BulkMode,
  BulkRequest,
  BulkResult,
} from '../../../../schemas/api/bulk.ts'
import type { LookupChoices } from '../../../../schemas/api/lookup.ts'
import { tenantLookups } from '../../../enrichment/judge.ts'
import type { BulkJobs, BulkWork } from '../../../lookup/bulk.ts'
import { countAddresses, lookupLines } from '../../../lookup/lines.ts'
import { resultForm } from '../../../lookup/result.ts'
import { compileValidator } from '../../../pipeline/event/validator.ts'
import { cutText } from '../../../run/cut-text.ts'
import type { LimitDecision } from '../../../tenants/limits/limits.ts'
import type { Caller } from '../../../tenants/tenancy.ts'
import type { Exchange } from '../../engine/exchange.ts'
import { HttpError } from '../../engine/http-error.ts'
import { type HttpResponse, NDJSON_TYPE } from '../../engine/response.ts'
import { qualityOf } from '../../route/accept.ts'
import { assertObject } from '../../route/body-shape.ts'
import {
  assertRepeat,
  IDEMPOTENCY_PARAMETER,
  idempotencyKeyOf,
  keyInUse,
  REPLAYED,
  REPLAYED_HEADER,
} from '../../route/idempotency.ts'
import { assertLabel } from '../../route/label.ts'
import type { Operation } from '../../route/operation.ts'
import { assertParameters, parseQuery, type Query } from '../../route/query.ts'
import type { Route } from '../../route/route.ts'
import { assertSchema, schemaError } from '../../route/schema.ts'
import { assertProviders, mergeRequest } from '../lookup-request.ts'
import { testKeyError } from '../no-caller.ts'
import { QUOTA_HEADERS, quotaHeaders, quotaJson, takeQuota } from '../quota.ts'
import { type LookupParts, queryParameters } from './lookup.ts'

interface BulkParts extends LookupParts {
  readonly bulkJobs: BulkJobs
}

/** `POST /v1/bulk`: looks up many addresses, and streams the results or queues a job. */
export function bulkRoute(parts: BulkParts): Route {
  const validate = compileValidator(BulkRequest)
  return {
    method: 'POST',
    path: '/v1/bulk',
    access: 'key',
    takesTestKeys: true,
    bodyMaxBytes: BULK_LIMITS.bodyMaxBytes,
    operation,
    async handle(exchange: Exchange, caller: Caller): Promise<HttpResponse> {
      const query = parseQuery(exchange.request.query)
      const request = mergeRequest(await exchange.text(), query)
      assertParameters(operation, query)
      assertObject(request, '{"ips": ["203.0.113.7"]}', { array: `, as jq '{ips: .}' makes it` })
      assertCount(request)
      assertSchema(validate, request)
      assertProviders(request, parts.lookups)
      const { ips, mode = readMode(query), label, fields, redact, providers, deadline_ms, quality_min } = request
      const choices = { fields, redact, providers, deadline_ms, quality_min }
      if (label !== undefined) assertLabel(label)
      const key = idempotencyKeyOf(exchange.request.head)
      if (mode === 'async') {
        // A job would be kept for a day.
        if (caller.isTest) throw testKeyError('use mode=sync')
        return queueJob(caller, { ips, choices, label, key }, parts)
      }
      if (label !== undefined) throw schemaError([{ path: 'label', message: 'is for mode=async' }])
      return respondNow(caller, ips, choices, prefersJson(exchange.request.head.accept), parts)
    },
  }
}

async function respondNow(
  caller: Caller,
  ips: readonly string[],
  choices: LookupChoices,
  asJson: boolean,
  { lookups, quota }: BulkParts,
): Promise<HttpResponse> {
  const decision = await takeQuota(quota, caller, countAddresses(ips))
  const lines = lookupLines(ips, resultForm(caller.tenant.id, choices), tenantLookups(lookups, caller.tenant))
  const headers = { ...quotaHeaders(decision), vary: 'accept' }
  if (asJson) return { status: 200, headers, body: oneJson(lines, decision) }
  return { status: 200, type: NDJSON_TYPE, headers, body: joined(lines) }
}

async function* joined(groups: AsyncIterable<readonly string[]>): AsyncGenerator<string, void, void> {
  for await (const lines of groups) yield `${lines.join('\n')}\n`
}

async function* oneJson(groups: AsyncIterable<readonly string[]>, decision: LimitDecision): AsyncGenerator<string> {
  let before = '{"results":['
  for await (const lines of groups) {
    yield before + lines.join(',')
    before = ','
  }
  yield `],"quota":${quotaJson(decision)}}`
}

/** Lines are the default: only a client that likes JSON better gets it. */
function prefersJson(accept: string): boolean {
  return qualityOf('application/json', accept) > qualityOf(NDJSON_TYPE, accept)
}

interface AsyncRequest extends Pick<BulkWork, 'ips' | 'choices'> {
  readonly label: string | undefined
  /** See `idempotencyKeyOf`. */
  readonly key: string | undefined
}

/** Reserves before it takes quota, so that a refused job costs no quota. A repeat of a request with its idempotency key costs none. */
async function queueJob(caller: Caller, request: AsyncRequest, { quota, bulkJobs }: BulkParts): Promise<HttpResponse> {
  const { ips, choices, label, key } = request
  const tenantId = caller.tenant.id
  const fingerprint = key === undefined ? undefined : hash('sha256', JSON.stringify([ips, choices, label]))
  const repeated = key === undefined ? undefined : await bulkJobs.repeated(tenantId, key)
  if (repeated === 'receiving') throw keyInUse()
  if (repeated !== undefined) {
    assertRepeat(fingerprint!, repeated.fingerprint)
    return accepted(repeated.jobId, await takeQuota(quota, caller, 0), REPLAYED)
  }
  const reservation = await bulkJobs.reserve(tenantId, key)
  try {
    const decision = await takeQuota(quota, caller, countAddresses(ips))
    // Texts that are no addresses cost no quota, and must not fill Redis.
    const kept = ips.map((ip) => cutText(ip, BULK_LIMITS.ipMaxChars))
    await reservation.queue({ tenantId, ips: kept, choices }, { label, fingerprint })
    return accepted(reservation.jobId, decision)
  } catch (error) {
    await reservation.release().catch(() => {})
    throw error
  }
}

function accepted(jobId: string, decision: LimitDecision, more: Record<string, string> = {}): HttpResponse {
  const headers = { ...quotaHeaders(decision), location: `/v1/bulk/${jobId}`, ...more }
  return { status: 202, headers, body: JSON.stringify({ job_id: jobId, status: 'queued' }) }
}

/** Checks the number of addresses before their schema. */
function assertCount(request: unknown): void {
  const ips = typeof request === 'object' && request !== null && 'ips' in request ? request.ips : undefined
  if (!Array.isArray(ips)) return
  if (ips.length === 0) throw new HttpError('no_addresses', 'ips is empty')
  if (ips.length > BULK_LIMITS.ipsMax) {
    throw new HttpError('too_many_addresses', `ips has ${ips.length} entries, more than ${BULK_LIMITS.ipsMax}`)
  }
}

/** The mode alone leaves an empty body empty, so it is not merged like the options. */
function readMode(query: Query): BulkMode {
  const [mode = 'sync', ...more] = query.get('mode') ?? []
  if (more.length === 0 && (mode === 'sync' || mode === 'async')) return mode
  throw schemaError([{ path: 'mode', message: 'must be sync or async' }])
}

const operation: Operation = {
  id: 'bulk',
  summary: 'Looks up to 512 IP addresses up',
  description:
    'mode=sync streams one line of JSON for each address, in their order, as fast as it is read, or one JSON text where accept ' +
    'prefers application/json. mode=async queues a job, ' +
    'whose results are kept for 24 hours. The options hold for each address. Every valid address counts 1 toward the daily ' +
    'quota; a request that would exceed it is refused as a whole, 429. An Idempotency-Key is for mode=async. A body has at most 1 MiB. The number of queued and running jobs of a tenant is limited, and so are the bytes of its results that are kept: 429.',
  parameters: [...queryParameters(BulkRequest.properties), IDEMPOTENCY_PARAMETER],
  body: { schema: BulkRequest, example: { ips: ['203.0.113.7', '2001:db8::7', 'no address'] } },
  responses: {
    200: {
      description: 'mode=sync: one result per line, or all in one JSON text',
      type: NDJSON_TYPE,
      schema: BulkResult,
      headers: QUOTA_HEADERS,
      example: {
        ip: '203.0.113.7',
        tenant_id: 'demo',
        quality: 10,
        status: 'ok',
        data: { classification: 'reserved' },
      },
      also: {
        schema: BulkAnswer,
        example: {
          results: [{ ip: 'no address', status: 'invalid_ip' }],
          quota: { daily_limit: 1_000, daily_used: 1, daily_remaining: 999, reset_at: '2026-11-22T00:00:00+00:00' },
        },
      },
    },
    202: {
      description: 'mode=async: the job is queued',
      schema: BulkAccepted,
      headers: { ...QUOTA_HEADERS, Location: 'Path of the job', ...REPLAYED_HEADER },
      example: { job_id: '0d9f5a52-6e0b-4d07-9a3e-1b1f4f6f9c11', status: 'queued' },
    },
  },
  errors: [409, 422],
}
