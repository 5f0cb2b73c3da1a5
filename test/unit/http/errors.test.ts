import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { takeQuota } from '../../../src/http/api/quota.ts'
import { HttpError, tooMany } from '../../../src/http/engine/http-error.ts'
import { DEFAULT_HTTP_LIMITS } from '../../../src/http/engine/limits.ts'
import { tooSlow } from '../../../src/http/engine/request-body.ts'
import { ERROR_MEANINGS, errorResponse } from '../../../src/http/route/errors.ts'
import { BackpressureError, UnavailableError } from '../../../src/run/errors.ts'
import { acme, fullLimit } from '../../support/http.ts'

test('a 429 names its limit for metrics, and no other status does', async () => {
  const quota = await takeQuota(fullLimit, acme, 1).catch((error: unknown) => error)
  const failures = [
    ...[new BackpressureError('full'), new BackpressureError('jobs', 10, 'jobs'), tooMany('slow down', 1, 'rate')],
    ...[quota, new UnavailableError('down'), new HttpError('not_found', 'nothing'), new Error('bug')],
  ]
  assert.deepEqual(
    failures.map((error) => [errorResponse(error).response.status, errorResponse(error).limit]),
    [
      ...[[429, 'intake'] as const, [429, 'jobs'] as const, [429, 'rate'] as const, [429, 'quota'] as const],
      ...[[500, undefined] as const, [404, undefined] as const, [500, undefined] as const],
    ],
  )
})

test('the documented minimum speed of a body is the enforced one', () => {
  const message = tooSlow(DEFAULT_HTTP_LIMITS).message
  assert.equal(ERROR_MEANINGS[408], `The${message.slice(3)} while there was room for it`)
  const { bodyStallBytes, bodyStallMs } = DEFAULT_HTTP_LIMITS
  const rule = `less than ${bodyStallBytes / 1_024} KiB of the body arrived in ${bodyStallMs / 1_000} seconds`
  const page = readFileSync(new URL('../../../schemas/README.md', import.meta.url), 'utf8')
  assert.ok(page.includes(`| 408 | ${rule} `), rule)
})
